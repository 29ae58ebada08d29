// ring.hpp: what the host asks of the ring of free cells (ring.cu). Calls enqueue work, and return. Rules 5, 6.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "heap/cuda/ring_view.hpp"

namespace holdfast::heap::cuda {

/// The ring of the cells whose bit in `live` is 0, in address order. `scratch` has collect_scratch_bytes(cells) bytes.
void collect_free_cells(const std::uint32_t* live, const CellRing& ring, RingState* state, void* scratch,
                        std::size_t scratch_bytes, cudaStream_t stream);
std::size_t collect_scratch_bytes(std::uint64_t cells);
/// A ring in which nothing is free, and nothing is retired.
void begin_empty_ring(RingState* state, cudaStream_t stream);
/// Copies the free cells of a ring without retired ones into a larger one, and adds the cells from the old end on.
void extend_ring(const CellRing& from, const CellRing& to, RingState* state, cudaStream_t stream);

}  // namespace holdfast::heap::cuda
