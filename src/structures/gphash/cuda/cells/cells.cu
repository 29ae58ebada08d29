// cells.cu: a table's free cells between batches, and its slots emptied. Rule 5.
#include "gpu/launch.cuh"
#include "structures/gphash/cuda/cells/cells.hpp"
#include "structures/gphash/cuda/cells/slot_kernels.cuh"
#include "structures/gphash/cuda/epochs.cuh"
#include "structures/gphash/cuda/kit.hpp"
#include "structures/gphash/protocol/slot.hpp"

namespace holdfast::gphash::cuda {

namespace {

__global__ void settle_kernel(DeviceState* state) { settle(state); }

__global__ void __launch_bounds__(kThreads)
    clear_kernel(gphash::Slot* first, std::uint64_t size, const __grid_constant__ Layout layout) {
  const CudaMemory memory(nullptr, nullptr);
  for (std::uint64_t i = first_of_thread(); i < size; i += all_threads()) {
    gphash::Slot* const slot = layout.after(first, i);
    if (!layout.key_decides()) memory.store(&slot->word, 0);
    memory.store(&slot->key, 0);
  }
  memory.fence();
}

__global__ void __launch_bounds__(kThreads)
    mark_free_kernel(const __grid_constant__ CellRing ring, const DeviceState* state, std::uint32_t* live,
                     ScanReport* report) {
  const std::uint64_t free = state->tail - state->head;
  for (std::uint64_t i = first_of_thread(); i < free; i += all_threads()) {
    mark_live(live, ring.cells[(state->head + i) % ring.capacity], report);
  }
}

}  // namespace

void settle_cells(DeviceState* state, cudaStream_t stream) {
  settle_kernel<<<1, 1, 0, stream>>>(state);
  check_launch("settling free cells");
}

void clear_slots(gphash::Slot* first, std::uint64_t size, const Layout& layout, cudaStream_t stream) {
  clear_kernel<<<blocks_for(clear_kernel, size), kThreads, 0, stream>>>(first, size, layout);
  check_launch("emptying slots");
}

void mark_free_cells(const CellRing& ring, const DeviceState* state, std::uint32_t* live, ScanReport* report,
                     cudaStream_t stream) {
  mark_free_kernel<<<blocks_for(mark_free_kernel, ring.capacity), kThreads, 0, stream>>>(ring, state, live, report);
  check_launch("marking free cells");
}

}  // namespace holdfast::gphash::cuda
