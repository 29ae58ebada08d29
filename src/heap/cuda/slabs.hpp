// slabs.hpp: what the host asks of the slabs' kernels (slabs.cu). Calls enqueue work, and return.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "heap/cuda/ring_view.hpp"
#include "heap/cuda/slab_view.hpp"

namespace holdfast::heap::cuda {

/// Copies the pool's directory, for slabs from `from` on.
void read_directory(const SlabView& slabs, const View& heap, std::uint64_t from, cudaStream_t stream);
/// Begins anew: classes are what the directory says, and used cells those whose bit is set.
void begin_slabs(const SlabView& slabs, cudaStream_t stream);
/// The cells that rested in the ring and are no longer read are free.
void free_rested(const SlabView& slabs, const CellRing& ring, RingState* state, cudaStream_t stream);
/// Counts cells and free slabs; slabs that are wholly free become free for any class.
void count_slabs(const SlabView& slabs, cudaStream_t stream);
/// No cell is wanted any more.
void forget_demand(const SlabView& slabs, cudaStream_t stream);
/// Lists cells for the demands of `slabs.state`, as far as there are any, and enters fresh slabs in the directory, durably.
/// The slabs have been counted, and what was listed before is released. `updates`: rows may take from the reserve.
void reserve_cells(const SlabView& slabs, const View& heap, bool updates, cudaStream_t stream);
/// What a batch did not take of its cells is free again.
void release_cells(const SlabView& slabs, std::uint64_t most, cudaStream_t stream);
/// Adds to `wrong`, in GPU memory, the number of words of cells with which `live` does not agree.
void compare_cells(const SlabView& slabs, const std::uint32_t* live, std::uint64_t* wrong, cudaStream_t stream);

}  // namespace holdfast::heap::cuda
