// value_load.cu: loads of the value cache (cache_maps.cu): copying the cells that are hot, beside whatever runs.
#include "structures/gphash/cuda/caches/cache_load.cuh"
#include "structures/gphash/cuda/caches/value_cache.hpp"
#include "structures/gphash/cuda/caches/values.cuh"
#include "structures/gphash/cuda/gather.cuh"

namespace holdfast::gphash::cuda {

namespace {

using RuntimeView = View<gphash::RuntimeShape>;

// For a policy that records nothing: cells that are free are not worth a copy.
__global__ void __launch_bounds__(kThreads)
    not_free_kernel(const __grid_constant__ ValueView values, const __grid_constant__ CellRing ring,
                    const DeviceState* state) {
  const std::uint64_t end = state->retired_end;
  for (std::uint64_t i = state->head + first_of_thread(); i < end; i += all_threads()) {
    const std::uint64_t cell = ring.cells[i % ring.capacity];
    if (cell < ring.capacity) values.heat[cell] = 0;
  }
}

/// The cells [first, last): the hot ones that have no copy get one.
__global__ void __launch_bounds__(kThreads)
    fill_kernel(const __grid_constant__ RuntimeView view, const __grid_constant__ ValueView values,
                const __grid_constant__ gphash::Rows copies, std::uint64_t first, std::uint64_t last) {
  const WarpTile tile;
  const CudaMemory memory(nullptr, nullptr);
  const Gather<gphash::RuntimeShape> gather(tile, memory, view, copies);
  for (std::uint64_t base = first + first_of_warp() * kWarp; base < last; base += all_warps() * kWarp) {
    const std::uint64_t cell = base + tile.lane();
    const bool wants = cell < last && wants_copy(memory, values, cell);
    if (tile.ballot(wants) == 0) continue;
    const std::uint64_t position = begin_copy(tile, memory, values, cell, wants);
    Wanted wanted;
    wanted.row = position;
    if (position != kNoPosition) wanted.word = cell + 1;
    gather(wanted);
    if (position != kNoPosition) end_copy(memory, values, cell, position);
  }
}

}  // namespace

void ValueCache::begin_load(const CellRing& ring, ChangeOrder& order, DeviceState* state) {
  maps_.begin_load(order, state, [&](cudaStream_t stream) {
    not_free_kernel<<<kSideBlocks, kThreads, 0, stream>>>(view_, ring, state);
  });
}

void ValueCache::step(const Layout& layout, ChangeOrder& order, DeviceState* state, bool paced) {
  if (!maps_.is_loading()) return;
  const CacheMaps::Range cells = maps_.begin_step(order, state, paced);
  gphash::Rows copies;
  copies.out = view_.copies;
  copies.value_bytes = static_cast<std::uint32_t>(cell_bytes_);
  fill_kernel<<<kLoadBlocks, kThreads, 0, maps_.stream()>>>(layout, view_, copies, cells.first, cells.last);
  maps_.end_step(cells);
}

}  // namespace holdfast::gphash::cuda
