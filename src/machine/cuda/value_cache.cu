// value_cache.cu: room in GPU memory for copies of values: for all cells of the heap, or for a part of them with maps to find
// them by. As the heap grows, so does the room, as far as the budget and GPU memory go; where memory runs out there is no cache.
#include "machine/cuda/value_cache.hpp"

#include <algorithm>
#include <utility>

#include "machine/cuda/launch.cuh"
#include "machine/cuda/values.cuh"
#include "machine/machine.hpp"

namespace holdfast::machine::cuda {

namespace {

using RuntimeView = View<index::RuntimeShape>;

constexpr std::uint64_t kMostPositions = 0x7fff'fffe;  // that F has numbers for
constexpr std::uint64_t kRowsPerPosition = 64;         // searched between two loads, where nobody says otherwise
constexpr std::uint64_t kFewestRows = 1 << 22;

/// Reads the heap itself, whose extents no single copy of the runtime's may span.
__global__ void __launch_bounds__(kThreads)
    copy_heap_kernel(const std::uint64_t* heap, std::uint64_t* copies, std::uint64_t words) {
  const CudaMemory memory(nullptr, nullptr);
  for (std::uint64_t i = 2 * first_of_thread(); i < words; i += 2 * all_threads()) {
    if (i + 1 < words) {
      memory.store_values(copies + i, memory.load_values(heap + i));
    } else {
      memory.store_value(copies + i, memory.load_value(heap + i));
    }
  }
}

__global__ void begin_ring_kernel(const __grid_constant__ ValueView values) {
  values.state->head = values.state->tail = 0;
  values.state->returned = 0;
}
/// Nobody works on the table: the positions that no cell has are free.
__global__ void __launch_bounds__(kThreads) fill_ring_kernel(const __grid_constant__ ValueView values) {
  for (std::uint64_t i = first_of_thread(); i < values.positions; i += all_threads()) {
    const std::uint64_t cell = values.cells[i];
    if (cell != kNoPosition && values.map[cell] == MappedPosition::at(static_cast<std::uint32_t>(i)).word) continue;
    values.cells[i] = kNoPosition;
    values.ring[ticket(values.state->tail)] = static_cast<std::uint32_t>(i);
  }
}
__global__ void end_ring_kernel(const __grid_constant__ ValueView values) {
  PositionState& state = *values.state;
  state.limbo_end = state.tail;
  for (std::uint64_t& before : state.limbo_before) before = state.tail;
  state.reserve = max(state.reserve, values.positions / 16);
  state.now = max(state.now, 1u);
}

__global__ void __launch_bounds__(kThreads)
    forget_kernel(const __grid_constant__ ValueView values, const std::uint32_t* cells, const std::uint32_t* size) {
  const CudaMemory memory(nullptr, nullptr);
  for (std::uint64_t i = first_of_thread(); i < *size; i += all_threads()) {
    forget_copy(memory, values, cells[i]);
    values.heat[cells[i]] = 0;
  }
}

/// A warp a cell.
__global__ void __launch_bounds__(kThreads)
    compare_values_kernel(const __grid_constant__ RuntimeView view, const __grid_constant__ ValueView values,
                          const std::uint32_t* live, ScanReport* report) {
  const WarpTile tile;
  const CudaMemory memory(nullptr, nullptr);
  for (std::uint64_t cell = first_of_warp(); cell < view.cells; cell += all_warps()) {
    if (((live[cell / 32] >> (cell % 32)) & 1) == 0) continue;
    const std::uint64_t position = copy_of_cell(memory, values, cell);
    if (position == kNoPosition) continue;
    const auto* const copy = reinterpret_cast<const std::uint64_t*>(values.copies + position * view.cell_bytes);
    const auto* const own = reinterpret_cast<const std::uint64_t*>(view.cell(cell));
    bool differs = false;
    for (unsigned i = tile.lane(); i < (view.value_bytes + 7) / 8; i += kWarp) {
      const unsigned left = view.value_bytes - 8 * i;
      const std::uint64_t counts = left < 8 ? (std::uint64_t{1} << (8 * left)) - 1 : ~std::uint64_t{0};
      differs |= ((memory.load_value(copy + i) ^ memory.load_value(own + i)) & counts) != 0;
    }
    if (tile.ballot(differs) != 0 && tile.lane() == 0)
      atomicAdd(reinterpret_cast<unsigned long long*>(&report->wrong_values), 1ull);
  }
}

std::uint64_t free_memory() {
  std::size_t free = 0, all = 0;
  cuda::check(cudaMemGetInfo(&free, &all), "asking for free GPU memory");
  return free;
}

/// An array with the elements of `from`, and zeroes behind them.
template <class T>
DeviceBuffer<T> longer(const DeviceBuffer<T>& from, std::size_t size, int fill, cudaStream_t stream) {
  DeviceBuffer<T> to(size);
  const std::size_t kept = std::min(size, from.size());
  cuda::check(cudaMemcpyAsync(to.data(), from.data(), kept * sizeof(T), cudaMemcpyDeviceToDevice, stream),
              "making the value cache larger");
  cuda::check(cudaMemsetAsync(to.data() + kept, fill, (size - kept) * sizeof(T), stream),
              "making the value cache larger");
  cuda::check(cudaStreamSynchronize(stream), "making the value cache larger");
  return to;
}

}  // namespace

void forget_copies(const ValueView& values, const std::uint32_t* cells, const std::uint32_t* size, std::uint64_t most,
                   cudaStream_t stream) {
  forget_kernel<<<blocks_for(forget_kernel, most), kThreads, 0, stream>>>(values, cells, size);
  check_launch("freeing copies of values");
}

ValueCache::ValueCache(const MachineOptions& options)
    : ratio_(options.cache.ratio),
      policy_(options.cache.policy),
      budget_(options.cache.memory),
      load_every_(options.cache.load_every),
      state_(1) {
  cuda::check(cudaMemset(state_.data(), 0, sizeof(PositionState)), "making the value cache");
  if (ratio_ > 0 && budget_ != kHalfOfFree) require_free("value_memory", budget_, free_memory());
}

void ValueCache::cover(const Layout& layout, bool filled, cudaStream_t stream) {
  cell_bytes_ = layout.cell_bytes;
  if (ratio_ == 0 || layout.in_slot() || layout.cells == 0 || layout.cells == covered_) return;
  if (budget_ == kHalfOfFree) budget_ = free_memory() / 2;
  const ValueView before = view_;
  try {
    if (!make_resident(layout, filled, stream)) {
      if (before.map != nullptr) {
        extend(layout, stream);
      } else {
        make_maps(layout, stream);
      }
    }
    covered_ = layout.cells;
  } catch (const DeviceError&) {  // GPU memory went to others: no copies then. An error that lasts is met again
    drop();
  }
}

void ValueCache::drop() {
  view_ = {};
  copies_ = {};
  for (DeviceBuffer<std::uint32_t>* const array : {&map_, &heat_, &ring_, &returned_}) *array = {};
  cells_ = {};
  covered_ = 0;
  loading_ = false;
}

/// True: every cell has its copy. Where GPU memory has no room for those that are there and the new ones at once, all are loaded
/// anew.
bool ValueCache::make_resident(const Layout& layout, bool filled, cudaStream_t stream) {
  const std::uint64_t bytes = layout.cells * cell_bytes_;
  if (ratio_ < 1 || bytes > budget_ || (covered_ != 0 && !view_.resident())) return false;
  if (bytes > free_memory() && covered_ != 0) {
    drop();
    filled = true;
  }
  if (bytes > free_memory()) return false;
  DeviceBuffer<std::byte> copies(bytes);
  const auto copy = [&](std::uint64_t from, std::uint64_t to) {
    const std::uint64_t first = from * cell_bytes_, words = (to - from) * cell_bytes_ / 8;
    if (words == 0) return;
    copy_heap_kernel<<<blocks_for(copy_heap_kernel, words / 2 + 1), kThreads, 0, stream>>>(
        reinterpret_cast<const std::uint64_t*>(layout.heap + first),
        reinterpret_cast<std::uint64_t*>(copies.data() + first), words);
    check_launch("loading the value cache");
  };
  if (covered_ != 0) {
    cuda::check(
        cudaMemcpyAsync(copies.data(), copies_.data(), covered_ * cell_bytes_, cudaMemcpyDeviceToDevice, stream),
        "making the value cache larger");
  } else if (filled) {
    copy(0, layout.cells);
  }
  cuda::check(cudaStreamSynchronize(stream), "loading the value cache");
  copies_ = std::move(copies);
  view_ = {};
  view_.copies = copies_.data();
  view_.positions = layout.cells;
  view_.state = state_.data();
  view_.policy = policy_;
  return true;
}

/// How many positions the options allow, if the budget alone counts.
std::uint64_t ValueCache::positions_for(std::uint64_t cells) const {
  const std::uint64_t maps = cells * 8 + kScores * 4, each = cell_bytes_ + 16;
  const std::uint64_t fit = budget_ > maps ? (budget_ - maps) / each : 0;
  return std::min({static_cast<std::uint64_t>(ratio_ * static_cast<double>(cells)), fit, kMostPositions});
}

void ValueCache::make_maps(const Layout& layout, cudaStream_t stream) {
  drop();
  const std::uint64_t positions = positions_for(layout.cells);
  if (positions == 0) return;
  copies_ = DeviceBuffer<std::byte>(positions * cell_bytes_);
  map_ = DeviceBuffer<std::uint32_t>(layout.cells);
  heat_ = DeviceBuffer<std::uint32_t>(layout.cells);
  cells_ = DeviceBuffer<std::uint64_t>(positions);
  ring_ = DeviceBuffer<std::uint32_t>(positions);
  returned_ = DeviceBuffer<std::uint32_t>(positions);
  bins_ = DeviceBuffer<std::uint32_t>(kScores);
  covered_ = layout.cells;
  look_anew();
  forget_all(stream);
}

void ValueCache::look_anew() {
  view_ = {copies_.data(),   map_.data(),   cells_.data(), heat_.data(), ring_.data(),
           returned_.data(), cells_.size(), state_.data(), policy_};
  if (!own_pace_) return;
  load_every_ = std::max(kFewestRows, kRowsPerPosition * view_.positions);
}

/// No cell has a copy, and nothing was searched for.
void ValueCache::forget_all(cudaStream_t stream) {
  const char* const doing = "emptying the value cache";
  cuda::check(cudaMemsetAsync(map_.data(), 0, 4 * covered_, stream), doing);
  cuda::check(cudaMemsetAsync(heat_.data(), 0, 4 * covered_, stream), doing);
  cuda::check(cudaMemsetAsync(cells_.data(), 0xff, 8 * view_.positions, stream), doing);
  begin_ring_kernel<<<1, 1, 0, stream>>>(view_);
  fill_ring_kernel<<<blocks_for(fill_ring_kernel, view_.positions), kThreads, 0, stream>>>(view_);
  end_ring_kernel<<<1, 1, 0, stream>>>(view_);
  check_launch(doing);
  cuda::check(cudaStreamSynchronize(stream), doing);
  loading_ = false;
  searched_ = 0;
}

/// More cells, and more positions where the budget and GPU memory allow; the copies stay.
void ValueCache::extend(const Layout& layout, cudaStream_t stream) {
  map_ = longer(map_, layout.cells, 0, stream);
  heat_ = longer(heat_, layout.cells, 0, stream);
  const std::uint64_t positions = positions_for(layout.cells);
  if (positions > view_.positions && positions * (cell_bytes_ + 16) < free_memory()) {
    copies_ = longer(copies_, positions * cell_bytes_, 0, stream);
    cells_ = longer(cells_, positions, 0xff, stream);
    ring_ = DeviceBuffer<std::uint32_t>(positions);
    returned_ = DeviceBuffer<std::uint32_t>(positions);
  }
  look_anew();
  begin_ring_kernel<<<1, 1, 0, stream>>>(view_);
  fill_ring_kernel<<<blocks_for(fill_ring_kernel, view_.positions), kThreads, 0, stream>>>(view_);
  end_ring_kernel<<<1, 1, 0, stream>>>(view_);
  check_launch("making the value cache larger");
  cuda::check(cudaStreamSynchronize(stream), "making the value cache larger");
}

void ValueCache::clear(cudaStream_t stream) {
  if (view_.map != nullptr) forget_all(stream);
}

void ValueCache::compare(const std::uint32_t* live, const Layout& layout, ScanReport* report,
                         cudaStream_t stream) const {
  if (!view_.any()) return;
  const unsigned blocks = blocks_for(compare_values_kernel, layout.cells * kWarp);
  compare_values_kernel<<<blocks, kThreads, 0, stream>>>(layout, view_, live, report);
  check_launch("comparing the value cache");
}

std::uint64_t ValueCache::bytes() const {
  if (!view_.any()) return 0;
  return copies_.size() + 4 * (map_.size() + heat_.size() + ring_.size() + returned_.size()) + 8 * cells_.size();
}

}  // namespace holdfast::machine::cuda
