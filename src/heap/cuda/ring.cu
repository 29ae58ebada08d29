// ring.cu: the ring of free cells: rebuilt from what is live, extended.
#include "heap/cuda/ring.hpp"

#include <cub/device/device_select.cuh>
#include <thrust/iterator/counting_iterator.h>

#include "gpu/launch.cuh"
#include "heap/cuda/ring.cuh"

namespace holdfast::heap::cuda {

using namespace gpu;

namespace {

__global__ void begin_empty_kernel(RingState* state) { begin_ring(*state, 0); }

/// Takes the number of free cells from retired_end.
__global__ void begin_ring_kernel(RingState* state) { begin_ring(*state, state->retired_end); }

__global__ void __launch_bounds__(kThreads)
    extend_kernel(const __grid_constant__ CellRing from, const __grid_constant__ CellRing to, const RingState* state) {
  const std::uint64_t kept = state->tail - state->head;
  const std::uint64_t added = to.capacity - from.capacity;
  for (std::uint64_t i = first_of_thread(); i < kept + added; i += all_threads()) {
    to.cells[i] = i < kept ? from.cells[(state->head + i) % from.capacity] : from.capacity + i - kept;
  }
}

__global__ void extended_kernel(RingState* state, std::uint64_t added) {
  begin_ring(*state, state->tail - state->head + added);
}

struct IsFree {
  const std::uint32_t* live;
  __host__ __device__ bool operator()(std::uint64_t cell) const { return ((live[cell / 32] >> (cell % 32)) & 1) == 0; }
};

}  // namespace

std::size_t collect_scratch_bytes(std::uint64_t cells) {
  std::size_t bytes = 0;
  check(cub::DeviceSelect::If(nullptr, bytes, thrust::counting_iterator<std::uint64_t>(0),
                              static_cast<std::uint64_t*>(nullptr), static_cast<std::uint64_t*>(nullptr), cells,
                              IsFree{}),
        "planning the ring of free cells");
  return bytes;
}

void collect_free_cells(const std::uint32_t* live, const CellRing& ring, RingState* state, void* scratch,
                        std::size_t scratch_bytes, cudaStream_t stream) {
  check(cub::DeviceSelect::If(scratch, scratch_bytes, thrust::counting_iterator<std::uint64_t>(0), ring.cells,
                              &state->retired_end, ring.capacity, IsFree{live}, stream),
        "collecting free cells");
  begin_ring_kernel<<<1, 1, 0, stream>>>(state);
  check_launch("collecting free cells");
}

void begin_empty_ring(RingState* state, cudaStream_t stream) {
  begin_empty_kernel<<<1, 1, 0, stream>>>(state);
  check_launch("freeing cells");
}

void extend_ring(const CellRing& from, const CellRing& to, RingState* state, cudaStream_t stream) {
  extend_kernel<<<blocks_for(extend_kernel, to.capacity), kThreads, 0, stream>>>(from, to, state);
  extended_kernel<<<1, 1, 0, stream>>>(state, to.capacity - from.capacity);
  check_launch("adding free cells");
}

}  // namespace holdfast::heap::cuda
