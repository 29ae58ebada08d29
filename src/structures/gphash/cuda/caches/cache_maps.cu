// cache_maps.cu: space for the maps of a cache, and what a load does before it copies: which parts are hot, and eviction of the rest.
//
// A load counts how many parts have which score, takes the least score whose parts still fit, evicts what scores less, and
// copies what is missing, in address order, step by step (value_load.cu, bucket_load.cu):
//
//   score      lfu: how often the part was searched for; lru: how recently; random: a hash of its number
//   evict      alternating with changing batches; a position is retired until no reader is at it, so it is filled by a later step
//   fill       a range of the parts in a grid so small that it takes a small share of the link
//
// Of the parts that score one less, a share is hot too, as many as there is space for. Each step alternates with changing
// batches for a moment, in which positions without readers become free, and then copies beside them.
#include "structures/gphash/cuda/caches/cache_maps.hpp"

#include <algorithm>

#include "core/both.hpp"
#include "gpu/launch.cuh"
#include "structures/gphash/cuda/caches/cache_load.cuh"
#include "structures/gphash/cuda/epochs.cuh"
#include "structures/gphash/cuda/kit.hpp"

namespace holdfast::gphash::cuda {

namespace {

constexpr std::uint64_t kRowsPerPosition = 64;  // searched between two loads, by default
constexpr std::uint64_t kFewestRows = 1 << 22;
constexpr std::uint64_t kRowsPerPart = 8;  // that searches answer for each part that a load looks at
constexpr std::uint64_t kLeastParts = 1 << 16, kMostParts = 1 << 20;  // of one step

__global__ void __launch_bounds__(kThreads) first_parts_kernel(const __grid_constant__ MapView maps) {
  for (std::uint64_t i = first_of_thread(); i < maps.positions; i += all_threads()) {
    maps.map[i] = gphash::Mapped<std::uint32_t>::at(static_cast<std::uint32_t>(i)).word;
    maps.owners[i] = i;
  }
}

__global__ void begin_ring_kernel(const __grid_constant__ MapView maps) {
  maps.state->head = maps.state->tail = 0;
  maps.state->returned = 0;
}
/// No kernel works on the table: the positions that no part has are free.
__global__ void __launch_bounds__(kThreads) fill_ring_kernel(const __grid_constant__ MapView maps) {
  for (std::uint64_t i = first_of_thread(); i < maps.positions; i += all_threads()) {
    const std::uint64_t part = maps.owners[i];
    const auto number = static_cast<std::uint32_t>(i);
    if (part != kNoPosition && maps.map[part] == gphash::Mapped<std::uint32_t>::at(number).word) continue;
    maps.owners[i] = kNoPosition;
    maps.ring[ticket(maps.state->tail)] = number;
  }
}
__global__ void end_ring_kernel(const __grid_constant__ MapView maps, bool spares) {
  PositionState& state = *maps.state;
  state.retired_end = state.tail;
  for (std::uint64_t& before : state.retired_before) before = state.tail;
  state.reserve = spares ? max(state.reserve, maps.positions / 16) : 0;
  state.now = max(state.now, 1u);
}

// For a policy that records nothing: all parts.
__global__ void __launch_bounds__(kThreads) any_kernel(const __grid_constant__ MapView maps, std::uint64_t parts) {
  for (std::uint64_t part = first_of_thread(); part < parts; part += all_threads()) maps.heat[part] = 1;
}

/// Parts without a score count only if they have a copy, which they keep if there is space.
__global__ void __launch_bounds__(kThreads)
    score_kernel(const __grid_constant__ MapView maps, std::uint64_t parts, std::uint32_t* bins) {
  const CudaMemory memory(nullptr, nullptr);
  __shared__ std::uint32_t mine[kScores];
  for (unsigned i = threadIdx.x; i < kScores; i += kThreads) mine[i] = 0;
  __syncthreads();
  for (std::uint64_t part = first_of_thread(); part < parts; part += all_threads()) {
    const std::uint32_t score = score_of(maps, part);
    if (score != 0 || gphash::mapped(memory, maps.map + part).cached()) atomicAdd(&mine[score], 1u);
  }
  __syncthreads();
  for (unsigned i = threadIdx.x; i < kScores; i += kThreads) {
    if (mine[i] != 0) atomicAdd(&bins[i], mine[i]);
  }
}

/// Searches from now on are younger than all before.
__global__ void begin_maps_kernel(const __grid_constant__ MapView maps) { ++maps.state->now; }

/// Changes that found no position ask for a larger reserve; it shrinks where none did.
__global__ void choose_kernel(const __grid_constant__ MapView maps, const std::uint32_t* bins, bool spares) {
  PositionState& state = *maps.state;
  const std::uint64_t least = spares ? maps.positions / 16 : 0, most = spares ? maps.positions / 2 : 0;
  state.reserve = min(most, max(least, state.starved != 0 ? state.reserve + state.starved : state.reserve / 8 * 7));
  state.starved = 0;
  HOLDFAST_ASSERT(state.reserve <= maps.positions);
  const std::uint64_t space = maps.positions - state.reserve;
  std::uint64_t sum = 0;
  unsigned from = kScores;
  while (from > 0 && sum + bins[from - 1] <= space) sum += bins[--from];
  state.from = from;
  state.share = from == 0 ? 0 : static_cast<std::uint32_t>(((space - sum) << 16) / bins[from - 1]);
}

/// One block. What the step before took in vain is retired, and what was retired long enough is free.
__global__ void __launch_bounds__(kThreads)
    settle_maps_kernel(const __grid_constant__ MapView maps, DeviceState* state) {
  HOLDFAST_ASSERT(maps.state->returned <= maps.positions);
  for (std::uint64_t i = threadIdx.x; i < maps.state->returned; i += kThreads) retire(maps, maps.returned[i]);
  __syncthreads();
  if (threadIdx.x != 0) return;
  maps.state->returned = 0;
  settle(state);
}

__global__ void __launch_bounds__(kThreads) evict_kernel(const __grid_constant__ MapView maps) {
  const CudaMemory memory(nullptr, nullptr);
  for (std::uint64_t i = first_of_thread(); i < maps.positions; i += all_threads()) {
    const std::uint64_t part = maps.owners[i];
    if (part == kNoPosition) continue;
    const auto position = static_cast<std::uint32_t>(i);
    const auto here = gphash::Mapped<std::uint32_t>::at(position);
    if (gphash::mapped(memory, maps.map + part).word == here.word) {
      if (is_hot(maps, part, score_of(maps, part))) continue;
      if (memory.swap(maps.map + part, here.word, gphash::Mapped<std::uint32_t>{}.word)) retire(maps, position);
    }
    maps.owners[i] = kNoPosition;  // a change has taken the part, or it is cold
  }
}

/// An array with the elements of `from`, and `fill` behind them.
template <class T>
DeviceBuffer<T> longer(const DeviceBuffer<T>& from, std::size_t size, int fill, cudaStream_t stream) {
  const char* const doing = "making a cache larger";
  DeviceBuffer<T> to(size);
  const std::size_t kept = std::min(size, from.size());
  cuda::check(cudaMemcpyAsync(to.data(), from.data(), kept * sizeof(T), cudaMemcpyDeviceToDevice, stream), doing);
  cuda::check(cudaMemsetAsync(to.data() + kept, fill, (size - kept) * sizeof(T), stream), doing);
  cuda::check(cudaStreamSynchronize(stream), doing);
  return to;
}

}  // namespace

std::uint64_t free_memory() {
  std::size_t free = 0, all = 0;
  cuda::check(cudaMemGetInfo(&free, &all), "asking for free GPU memory");
  return free;
}

CacheMaps::CacheMaps(CachePolicy policy, std::uint64_t load_every, bool spares)
    : policy_(policy), spares_(spares), load_every_(load_every), state_(1) {
  cuda::check(cudaMemset(state_.data(), 0, sizeof(PositionState)), "making a cache");
}

std::uint64_t CacheMaps::bytes_for(std::uint64_t parts) { return parts * 8 + kScores * 4; }

std::uint64_t CacheMaps::bytes() const {
  return 4 * (map_.size() + heat_.size() + ring_.size() + returned_.size()) + 8 * owners_.size();
}

void CacheMaps::make(std::uint64_t parts, std::uint64_t positions, bool filled, cudaStream_t stream) {
  drop();
  HOLDFAST_ASSERT(positions != 0 && positions <= parts);
  map_ = DeviceBuffer<std::uint32_t>(parts);
  heat_ = DeviceBuffer<std::uint32_t>(parts);
  owners_ = DeviceBuffer<std::uint64_t>(positions);
  ring_ = DeviceBuffer<std::uint32_t>(positions);
  returned_ = DeviceBuffer<std::uint32_t>(positions);
  bins_ = DeviceBuffer<std::uint32_t>(kScores);
  set_view();
  forget_all(stream);
  if (!filled) return;
  first_parts_kernel<<<blocks_for(first_parts_kernel, positions), kThreads, 0, stream>>>(view_);
  look_anew(stream);
}

void CacheMaps::extend(std::uint64_t parts, std::uint64_t positions, cudaStream_t stream) {
  HOLDFAST_ASSERT(parts >= map_.size() && positions >= view_.positions);
  map_ = longer(map_, parts, 0, stream);
  heat_ = longer(heat_, parts, 0, stream);
  if (positions > view_.positions) {
    owners_ = longer(owners_, positions, 0xff, stream);
    ring_ = DeviceBuffer<std::uint32_t>(positions);
    returned_ = DeviceBuffer<std::uint32_t>(positions);
  }
  set_view();
  look_anew(stream);
}

void CacheMaps::set_view() {
  view_ = {map_.data(),   owners_.data(),   heat_.data(),
           ring_.data(),  returned_.data(), owners_.size(),
           state_.data(), policy_,          {}};
}

/// The ring begins with the positions that nothing has.
void CacheMaps::look_anew(cudaStream_t stream) {
  const char* const doing = "making a cache";
  begin_ring_kernel<<<1, 1, 0, stream>>>(view_);
  fill_ring_kernel<<<blocks_for(fill_ring_kernel, view_.positions), kThreads, 0, stream>>>(view_);
  end_ring_kernel<<<1, 1, 0, stream>>>(view_, spares_);
  check_launch(doing);
  cuda::check(cudaStreamSynchronize(stream), doing);
  if (own_pace_) load_every_ = std::max(kFewestRows, kRowsPerPosition * view_.positions);
}

void CacheMaps::forget_all(cudaStream_t stream) {
  if (view_.map == nullptr) return;
  const char* const doing = "emptying a cache";
  cuda::check(cudaMemsetAsync(map_.data(), 0, 4 * map_.size(), stream), doing);
  cuda::check(cudaMemsetAsync(heat_.data(), 0, 4 * heat_.size(), stream), doing);
  cuda::check(cudaMemsetAsync(owners_.data(), 0xff, 8 * owners_.size(), stream), doing);
  look_anew(stream);
  loading_ = false;
  searched_ = 0;
}

void CacheMaps::drop() {
  view_ = {};
  for (DeviceBuffer<std::uint32_t>* const array : {&map_, &heat_, &ring_, &returned_, &bins_}) *array = {};
  owners_ = {};
  loading_ = false;
}

bool CacheMaps::is_due(std::uint64_t rows) {
  if (view_.map == nullptr) return false;
  searched_ += rows;
  if (!loading_) return searched_ >= load_every_;
  return searched_ >= kLeastParts * kRowsPerPart && stepped_.passed();
}

void CacheMaps::begin_load(ChangeOrder& order, DeviceState* state,
                           const std::function<void(cudaStream_t)>& spare_free) {
  if (view_.map == nullptr) return;
  const char* const doing = "loading a cache";
  order.follow(stream_);
  if (policy_ == CachePolicy::random) {
    any_kernel<<<kSideBlocks, kThreads, 0, stream_>>>(view_, parts());
    if (spare_free) spare_free(stream_);
  }
  begin_maps_kernel<<<1, 1, 0, stream_>>>(view_);
  cuda::check(cudaMemsetAsync(bins_.data(), 0, kScores * 4, stream_), doing);
  score_kernel<<<kSideBlocks, kThreads, 0, stream_>>>(view_, parts(), bins_.data());
  choose_kernel<<<1, 1, 0, stream_>>>(view_, bins_.data(), spares_);
  settle_maps_kernel<<<1, kThreads, 0, stream_>>>(view_, state);
  evict_kernel<<<2 * kSideBlocks, kThreads, 0, stream_>>>(view_);
  check_launch(doing);
  order.note(stream_);
  loading_ = true;
  ++loads_;
  next_ = searched_ = 0;
}

CacheMaps::Range CacheMaps::begin_step(ChangeOrder& order, DeviceState* state, bool paced) {
  const std::uint64_t parts_of_step =
      paced ? std::clamp(searched_ / kRowsPerPart, kLeastParts, kMostParts) : kMostParts;
  order.follow(stream_);
  settle_maps_kernel<<<1, kThreads, 0, stream_>>>(view_, state);
  check_launch("loading a cache");
  order.note(stream_);
  return {next_, std::min(next_ + parts_of_step, parts())};
}

void CacheMaps::end_step(const Range& range) {
  check_launch("loading a cache");
  HOLDFAST_ASSERT(range.first == next_ && range.last <= parts());
  stepped_.record(stream_);
  next_ = range.last;
  searched_ = 0;
  loading_ = next_ < parts();
}

}  // namespace holdfast::gphash::cuda
