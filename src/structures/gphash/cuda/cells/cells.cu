// cells.cu: the ring of free cells between batches: settled, rebuilt from what is live, extended. Rule 5.
#include <cub/device/device_select.cuh>
#include <thrust/iterator/counting_iterator.h>

#include "gpu/launch.cuh"
#include "structures/gphash/cuda/cells/cells.hpp"
#include "structures/gphash/cuda/cells/slot_kernels.cuh"
#include "structures/gphash/cuda/epochs.cuh"
#include "structures/gphash/cuda/kit.hpp"
#include "structures/gphash/protocol/slot.hpp"

namespace holdfast::machine::cuda {

namespace {

__global__ void settle_kernel(DeviceState* state) { settle(state); }

/// The first `free` places of the ring hold free cells, and none is retired.
__device__ void begin_ring(DeviceState* state, std::uint64_t free) {
  state->head = 0;
  state->tail = free;
  state->retired_end = free;
  for (std::uint64_t& before : state->retired_before) before = free;
}

__global__ void begin_empty_kernel(DeviceState* state) { begin_ring(state, 0); }

/// Takes the number of free cells from retired_end.
__global__ void begin_ring_kernel(DeviceState* state) { begin_ring(state, state->retired_end); }

__global__ void __launch_bounds__(kThreads)
    extend_kernel(const __grid_constant__ CellRing from, const __grid_constant__ CellRing to,
                  const DeviceState* state) {
  const std::uint64_t kept = state->tail - state->head;
  const std::uint64_t added = to.capacity - from.capacity;
  for (std::uint64_t i = first_of_thread(); i < kept + added; i += all_threads()) {
    to.cells[i] = i < kept ? from.cells[(state->head + i) % from.capacity] : from.capacity + i - kept;
  }
}

__global__ void extended_kernel(DeviceState* state, std::uint64_t added) {
  begin_ring(state, state->tail - state->head + added);
}

__global__ void __launch_bounds__(kThreads)
    clear_kernel(index::Slot* first, std::uint64_t size, const __grid_constant__ Layout layout) {
  const CudaMemory memory(nullptr, nullptr);
  for (std::uint64_t i = first_of_thread(); i < size; i += all_threads()) {
    index::Slot* const slot = layout.after(first, i);
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

struct IsFree {
  const std::uint32_t* live;
  __host__ __device__ bool operator()(std::uint64_t cell) const { return ((live[cell / 32] >> (cell % 32)) & 1) == 0; }
};

}  // namespace

void settle_cells(DeviceState* state, cudaStream_t stream) {
  settle_kernel<<<1, 1, 0, stream>>>(state);
  check_launch("settling free cells");
}

void clear_slots(index::Slot* first, std::uint64_t size, const Layout& layout, cudaStream_t stream) {
  clear_kernel<<<blocks_for(clear_kernel, size), kThreads, 0, stream>>>(first, size, layout);
  check_launch("emptying slots");
}

std::size_t collect_scratch_bytes(std::uint64_t cells) {
  std::size_t bytes = 0;
  check(cub::DeviceSelect::If(nullptr, bytes, thrust::counting_iterator<std::uint64_t>(0),
                              static_cast<std::uint64_t*>(nullptr), static_cast<std::uint64_t*>(nullptr), cells,
                              IsFree{}),
        "planning the ring of free cells");
  return bytes;
}

void collect_free_cells(const std::uint32_t* live, const CellRing& ring, DeviceState* state, void* scratch,
                        std::size_t scratch_bytes, cudaStream_t stream) {
  check(cub::DeviceSelect::If(scratch, scratch_bytes, thrust::counting_iterator<std::uint64_t>(0), ring.cells,
                              &state->retired_end, ring.capacity, IsFree{live}, stream),
        "collecting free cells");
  begin_ring_kernel<<<1, 1, 0, stream>>>(state);
  check_launch("collecting free cells");
}

void begin_empty_ring(DeviceState* state, cudaStream_t stream) {
  begin_empty_kernel<<<1, 1, 0, stream>>>(state);
  check_launch("freeing cells");
}

void mark_free_cells(const CellRing& ring, const DeviceState* state, std::uint32_t* live, ScanReport* report,
                     cudaStream_t stream) {
  mark_free_kernel<<<blocks_for(mark_free_kernel, ring.capacity), kThreads, 0, stream>>>(ring, state, live, report);
  check_launch("marking free cells");
}

void extend_ring(const CellRing& from, const CellRing& to, DeviceState* state, cudaStream_t stream) {
  extend_kernel<<<blocks_for(extend_kernel, to.capacity), kThreads, 0, stream>>>(from, to, state);
  extended_kernel<<<1, 1, 0, stream>>>(state, to.capacity - from.capacity);
  check_launch("adding free cells");
}

}  // namespace holdfast::machine::cuda
