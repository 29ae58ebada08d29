// value_cache.cu: space in GPU memory for copies of values: for all cells of the heap, or for a part of them with maps to find
// them by. As the heap grows, so does the space, as far as the budget and GPU memory go; where memory runs out there is no cache.
#include "structures/gphash/cuda/caches/value_cache.hpp"

#include <algorithm>
#include <utility>

#include "gpu/launch.cuh"
#include "structures/gphash/cuda/caches/values.cuh"
#include "structures/gphash/cuda/kit.hpp"
#include "structures/gphash/machine.hpp"

namespace holdfast::gphash::cuda {

namespace {

using RuntimeView = View<gphash::RuntimeShape>;

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

}  // namespace

void forget_copies(const ValueView& values, const std::uint32_t* cells, const std::uint32_t* size, std::uint64_t most,
                   cudaStream_t stream) {
  forget_kernel<<<blocks_for(forget_kernel, most), kThreads, 0, stream>>>(values, cells, size);
  check_launch("freeing copies of values");
}

ValueCache::ValueCache(const MachineOptions& options)
    : ratio_(options.cache.ratio),
      budget_(options.cache.memory),
      maps_(options.cache.policy, options.cache.load_every, true) {
  if (ratio_ > 0 && budget_ != kHalfOfFree) require_free("value_memory", budget_, free_memory());
}

void ValueCache::cover(const Layout& layout, bool filled, bool knows, cudaStream_t stream) {
  cell_bytes_ = layout.cell_bytes;
  directory_.set_key_words(knows ? layout.key_words() : 0);
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
  directory_.drop();
  maps_.drop();
  covered_ = 0;
}

namespace {

/// Fills larger copies: `kept` bytes of those before, and zeros behind them, which a copy of all of them later reads too.
void take_over(const DeviceBuffer<std::byte>& to, const DeviceBuffer<std::byte>& from, std::size_t kept,
               cudaStream_t stream) {
  const char* const doing = "making the value cache larger";
  if (kept != 0) cuda::check(cudaMemcpyAsync(to.data(), from.data(), kept, cudaMemcpyDeviceToDevice, stream), doing);
  cuda::check(cudaMemsetAsync(to.data() + kept, 0, to.size() - kept, stream), doing);
}

}  // namespace

/// True: every cell has its copy. Where GPU memory has no space for those that are there and the new ones at once, all are loaded
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
  if (covered_ == 0 && filled) {
    copy(0, layout.cells);
  } else {
    take_over(copies, copies_, covered_ * cell_bytes_, stream);
  }
  cuda::check(cudaStreamSynchronize(stream), "loading the value cache");
  copies_ = std::move(copies);
  view_ = {};
  view_.copies = copies_.data();
  view_.positions = layout.cells;
  view_.state = maps_.state();
  view_.policy = maps_.policy();
  return true;
}

/// How many positions the options allow, if the budget alone counts.
std::uint64_t ValueCache::positions_for(std::uint64_t cells) const {
  const std::uint64_t maps = CacheMaps::bytes_for(cells);
  const std::uint64_t each = cell_bytes_ + CacheMaps::kBytesPerPosition + directory_.bytes_per_position();
  const std::uint64_t fit = budget_ > maps ? (budget_ - maps) / each : 0;
  return std::min({static_cast<std::uint64_t>(ratio_ * static_cast<double>(cells)), fit, kMostPositions});
}

void ValueCache::make_maps(const Layout& layout, cudaStream_t stream) {
  drop();
  const std::uint64_t positions = positions_for(layout.cells);
  if (positions == 0) return;
  copies_ = DeviceBuffer<std::byte>(positions * cell_bytes_);
  take_over(copies_, {}, 0, stream);
  maps_.make(layout.cells, positions, false, stream);
  look_anew(stream);
}

void ValueCache::look_anew(cudaStream_t stream) {
  directory_.cover(maps_.view().positions, stream);
  maps_.set_directory(directory_.view());
  static_cast<MapView&>(view_) = maps_.view();
  view_.copies = copies_.data();
}

/// More cells, and more positions where the budget and GPU memory allow; the copies stay.
void ValueCache::extend(const Layout& layout, cudaStream_t stream) {
  std::uint64_t positions = positions_for(layout.cells);
  if (positions > view_.positions && positions * (cell_bytes_ + CacheMaps::kBytesPerPosition) < free_memory()) {
    DeviceBuffer<std::byte> copies(positions * cell_bytes_);
    take_over(copies, copies_, copies_.size(), stream);
    cuda::check(cudaStreamSynchronize(stream), "making the value cache larger");
    copies_ = std::move(copies);
  } else {
    positions = view_.positions;
  }
  maps_.extend(layout.cells, positions, stream);
  look_anew(stream);
}

void ValueCache::clear(cudaStream_t stream) {
  maps_.forget_all(stream);
  directory_.clear(stream);
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
  return copies_.size() + maps_.bytes() + directory_.bytes();
}

}  // namespace holdfast::gphash::cuda
