// value_load.cu: loads of the value cache: which cells are hot, and copying them beside whatever runs.
//
// A load counts how many cells have which score, takes the least score whose cells still fit, lets go of what scores less, and
// copies what is missing, in address order, step by step:
//
//   score      lfu: how often the cell was searched for; lru: how recently; random: a hash of its number
//   evict      in turn with changing batches; a position rests until no reader is at it, so it is filled by a later step
//   fill       a stretch of the heap in a grid so small that it takes a small share of the link
//
// Of the cells that score one less, a fixed part is hot too, as many as there is room for. Each step takes its turn with changing
// batches for a moment, in which positions that nobody reads any more become free, and then copies beside them: index/cache_map.hpp.
#include <algorithm>

#include "core/hash.hpp"
#include "machine/cuda/epochs.cuh"
#include "machine/cuda/kernels.hpp"
#include "machine/cuda/value_cache.hpp"
#include "machine/cuda/values.cuh"

namespace holdfast::machine::cuda {

namespace {

using RuntimeView = View<index::RuntimeShape>;

constexpr unsigned kLoadBlocks = 8;        // 2,048 values in flight
constexpr unsigned kSideBlocks = 64;       // of what a load does in GPU memory
constexpr std::uint64_t kRowsPerCell = 8;  // that searches answer for each cell that a load looks at
constexpr std::uint64_t kLeastCells = 1 << 16, kMostCells = 1 << 20;  // of one step

__device__ std::uint32_t score_of(const ValueView& values, std::uint64_t cell) {
  const std::uint32_t heat = values.heat[cell];
  if (heat == 0) return 0;
  if (values.policy == CachePolicy::lfu) return min(heat, kScores - 1);
  if (values.policy == CachePolicy::lru) return kScores - 1 - min(values.state->now - heat, kScores - 2);
  return 1 + static_cast<std::uint32_t>(hash_key(cell, 1) % (kScores - 1));
}

__device__ bool is_hot(std::uint64_t cell, std::uint32_t score, std::uint32_t from, std::uint32_t share) {
  return score >= from || (score + 1 == from && (hash_key(cell, 2) & 0xffff) < share);
}

// For a policy that records nothing: all cells, but for those that are free.
__global__ void __launch_bounds__(kThreads) any_kernel(const __grid_constant__ ValueView values, std::uint64_t cells) {
  for (std::uint64_t cell = first_of_thread(); cell < cells; cell += all_threads()) values.heat[cell] = 1;
}
__global__ void __launch_bounds__(kThreads)
    not_free_kernel(const __grid_constant__ ValueView values, const __grid_constant__ CellRing ring,
                    const DeviceState* state) {
  const std::uint64_t end = state->limbo_end;
  for (std::uint64_t i = state->head + first_of_thread(); i < end; i += all_threads()) {
    const std::uint64_t cell = ring.cells[i % ring.capacity];
    if (cell < ring.capacity) values.heat[cell] = 0;
  }
}

/// Cells without a score count only if they have a copy, which they keep if there is room.
__global__ void __launch_bounds__(kThreads)
    score_kernel(const __grid_constant__ ValueView values, std::uint64_t cells, std::uint32_t* bins) {
  const CudaMemory memory(nullptr, nullptr);
  __shared__ std::uint32_t mine[kScores];
  for (unsigned i = threadIdx.x; i < kScores; i += kThreads) mine[i] = 0;
  __syncthreads();
  for (std::uint64_t cell = first_of_thread(); cell < cells; cell += all_threads()) {
    const std::uint32_t score = score_of(values, cell);
    if (score != 0 || index::mapped(memory, values.map + cell).cached()) atomicAdd(&mine[score], 1u);
  }
  __syncthreads();
  for (unsigned i = threadIdx.x; i < kScores; i += kThreads) {
    if (mine[i] != 0) atomicAdd(&bins[i], mine[i]);
  }
}

/// Searches from now on are younger than all before.
__global__ void begin_kernel(const __grid_constant__ ValueView values) { ++values.state->now; }

/// Changes that found no position ask for a larger reserve; it shrinks where none did.
__global__ void choose_kernel(const __grid_constant__ ValueView values, const std::uint32_t* bins) {
  PositionState& state = *values.state;
  const std::uint64_t least = values.positions / 16, most = values.positions / 2;
  state.reserve = min(most, max(least, state.starved != 0 ? state.reserve + state.starved : state.reserve / 8 * 7));
  state.starved = 0;
  const std::uint64_t room = values.positions - state.reserve;
  std::uint64_t sum = 0;
  unsigned from = kScores;
  while (from > 0 && sum + bins[from - 1] <= room) sum += bins[--from];
  state.from = from;
  state.share = from == 0 ? 0 : static_cast<std::uint32_t>(((room - sum) << 16) / bins[from - 1]);
}

/// One block. What the step before took in vain rests, and what has rested long enough is free.
__global__ void __launch_bounds__(kThreads)
    settle_kernel(const __grid_constant__ ValueView values, DeviceState* state) {
  for (std::uint64_t i = threadIdx.x; i < values.state->returned; i += kThreads) rest(values, values.returned[i]);
  __syncthreads();
  if (threadIdx.x != 0) return;
  values.state->returned = 0;
  settle(state);
}

__global__ void __launch_bounds__(kThreads) evict_kernel(const __grid_constant__ ValueView values) {
  const CudaMemory memory(nullptr, nullptr);
  const std::uint32_t from = values.state->from, share = values.state->share;
  for (std::uint64_t i = first_of_thread(); i < values.positions; i += all_threads()) {
    const std::uint64_t cell = values.cells[i];
    if (cell == kNoPosition) continue;
    const auto position = static_cast<std::uint32_t>(i);
    const MappedPosition here = MappedPosition::at(position);
    if (index::mapped(memory, values.map + cell).word == here.word) {
      if (is_hot(cell, score_of(values, cell), from, share)) continue;
      if (memory.swap(values.map + cell, here.word, MappedPosition{}.word)) rest(values, position);
    }
    values.cells[i] = kNoPosition;  // a change has taken the cell, or it is cold
  }
}

/// Positions for the lanes that want one, as far as there are. All lanes of the warp call.
__device__ std::uint64_t take_to_load(const WarpTile& tile, const ValueView& values, bool wants) {
  const unsigned wanting = tile.ballot(wants);
  std::uint64_t at = 0, size = 0;
  if (tile.lane() == 0) {
    DeviceWord head(values.state->head);
    std::uint64_t seen = head.load(::cuda::memory_order_relaxed);
    for (;;) {
      const std::uint64_t tail = DeviceWord(values.state->tail).load(::cuda::memory_order_acquire);
      const std::uint64_t taken = seen + values.state->reserve;
      size = taken < tail ? min(static_cast<std::uint64_t>(count_bits(wanting)), tail - taken) : 0;
      at = seen;
      if (size == 0 || head.compare_exchange_weak(seen, seen + size, ::cuda::memory_order_relaxed)) break;
    }
  }
  at = tile.from_lane(at, 0);
  size = tile.from_lane(size, 0);
  const unsigned place = count_bits(wanting & lanes(tile.lane()));
  if (!wants || place >= size) return kNoPosition;
  return values.ring[(at + place) % values.positions];
}

/// The cells [first, last): the hot ones that have no copy get one; what was counted is halved.
__global__ void __launch_bounds__(kThreads)
    fill_kernel(const __grid_constant__ RuntimeView view, const __grid_constant__ ValueView values,
                const __grid_constant__ index::Rows copies, std::uint64_t first, std::uint64_t last) {
  const WarpTile tile;
  const CudaMemory memory(nullptr, nullptr);
  const Gather<index::RuntimeShape> gather(tile, memory, view, copies);
  const std::uint32_t from = values.state->from, share = values.state->share;
  for (std::uint64_t base = first + first_of_warp() * kWarp; base < last; base += all_warps() * kWarp) {
    const std::uint64_t cell = base + tile.lane();
    bool wants = false;
    if (cell < last) {
      const std::uint32_t score = score_of(values, cell);
      wants = score != 0 && is_hot(cell, score, from, share) &&
              index::mapped(memory, values.map + cell).word == index::kNotCached;
      if (values.policy == CachePolicy::lfu && score != 0) values.heat[cell] /= 2;
    }
    if (tile.ballot(wants) == 0) continue;
    std::uint64_t position = take_to_load(tile, values, wants);
    const auto number = static_cast<std::uint32_t>(position);
    bool won = position != kNoPosition;
    if (won && !index::begin_load(memory, values.map + cell, number)) {
      values.returned[atomicAdd(&values.state->returned, 1u)] = number;
      won = false;
    }
    Wanted wanted;
    wanted.row = position;
    if (won) wanted.word = cell + 1;
    gather(wanted);
    if (!won) continue;
    values.cells[position] = cell;
    if (!index::end_load(memory, values.map + cell, number))
      values.returned[atomicAdd(&values.state->returned, 1u)] = number;
  }
}

}  // namespace

bool ValueCache::is_due(std::uint64_t rows) {
  if (view_.map == nullptr) return false;
  searched_ += rows;
  if (!loading_) return searched_ >= load_every_;
  return searched_ >= kLeastCells * kRowsPerCell && stepped_.passed();
}

void ValueCache::begin_load(const Layout& layout, const CellRing& ring, Event& last_change, DeviceState* state) {
  if (view_.map == nullptr) return;
  const char* const doing = "loading the value cache";
  last_change.hold(stream_);
  if (policy_ == CachePolicy::random) {
    any_kernel<<<kSideBlocks, kThreads, 0, stream_>>>(view_, layout.cells);
    not_free_kernel<<<kSideBlocks, kThreads, 0, stream_>>>(view_, ring, state);
  }
  begin_kernel<<<1, 1, 0, stream_>>>(view_);
  cuda::check(cudaMemsetAsync(bins_.data(), 0, kScores * 4, stream_), doing);
  score_kernel<<<kSideBlocks, kThreads, 0, stream_>>>(view_, layout.cells, bins_.data());
  choose_kernel<<<1, 1, 0, stream_>>>(view_, bins_.data());
  settle_kernel<<<1, kThreads, 0, stream_>>>(view_, state);
  evict_kernel<<<2 * kSideBlocks, kThreads, 0, stream_>>>(view_);
  check_launch(doing);
  last_change.record(stream_);
  loading_ = true;
  ++loads_;
  next_ = searched_ = 0;
}

void ValueCache::step(const Layout& layout, Event& last_change, DeviceState* state, bool paced) {
  if (!loading_) return;
  const char* const doing = "loading the value cache";
  const std::uint64_t cells = paced ? std::clamp(searched_ / kRowsPerCell, kLeastCells, kMostCells) : kMostCells;
  const std::uint64_t end = std::min(next_ + cells, layout.cells);
  last_change.hold(stream_);
  settle_kernel<<<1, kThreads, 0, stream_>>>(view_, state);
  check_launch(doing);
  last_change.record(stream_);
  index::Rows copies;
  copies.out = view_.copies;
  copies.value_bytes = static_cast<std::uint32_t>(cell_bytes_);
  fill_kernel<<<kLoadBlocks, kThreads, 0, stream_>>>(layout, view_, copies, next_, end);
  check_launch(doing);
  stepped_.record(stream_);
  next_ = end;
  searched_ = 0;
  loading_ = next_ < layout.cells;
}

}  // namespace holdfast::machine::cuda
