// slabs.cuh: what kernels do with cells of slabs (slab_view.hpp), and the memory policy of the slab directory.
#pragma once

#include <cstdint>

#include "gpu/host_memory.cuh"
#include "gpu/words.cuh"
#include "heap/cuda/slab_view.hpp"

namespace holdfast::heap::cuda {

/// Writes the directory in host memory.
struct DirectoryMemory : gpu::HostMemory {
  __host__ __device__ static constexpr bool keeps(Step) { return true; }
};
static_assert(SlabMemory<DirectoryMemory>);

__device__ inline void add_left(SlabState* state, std::int64_t bytes) {
  if (bytes != 0)
    atomicAdd(reinterpret_cast<unsigned long long*>(&state->left), static_cast<unsigned long long>(bytes));
}

/// Marks a cell free, and counts it for its slab.
__device__ inline void free_cell(const SlabView& slabs, std::uint64_t bit) {
  atomicAnd(&slabs.used[bit / 32], ~(1u << (bit % 32)));
  atomicAdd(&slabs.free[bit / kSlabCells], 1u);
}

/// Returns where a granted cell begins, or kNoCell if there is none for such a row. Cells of the reserve are for updates (rule 6).
__device__ inline std::uint64_t take_granted(const SlabView& slabs, unsigned size_class, bool adds_key) {
  ClassCells& of = slabs.state->of[size_class];
  const std::uint32_t limit = adds_key ? of.open : of.granted;
  // The look ahead keeps `next` from running away.
  if (gpu::DeviceHalf(of.next).load(::cuda::memory_order_relaxed) >= limit) return kNoCell;
  const std::uint32_t at = gpu::DeviceHalf(of.next).fetch_add(1, ::cuda::memory_order_relaxed);
  if (at >= of.granted) return kNoCell;
  const std::uint64_t begin = slabs.list[of.first + at];
  if (at < limit) return begin;
  free_cell(slabs, SlabView::bit_of(begin, size_class));
  return kNoCell;
}

}  // namespace holdfast::heap::cuda
