// pair_memory.cuh: the memory policy of kernels that change a table of variable-length pairs, and of those that scan one.
#pragma once

#include "heap/cuda/slabs.cuh"
#include "structures/gphash/cuda/jobs.hpp"
#include "structures/gphash/cuda/memory.cuh"

namespace holdfast::gphash::cuda {

class PairMemory : public CudaMemory {
 public:
  __device__ PairMemory(DeviceState* state, const CacheView* cache, const CellRing& resting, const SlabView& slabs)
      : CudaMemory(state, cache, resting), slabs_(slabs) {}

  /// The word for a pair of `bytes` bytes in a fresh cell, or 0.
  template <class Shape>
  __device__ std::uint64_t take_pair(const View<Shape>&, std::uint32_t bytes, bool adds_key) const {
    const unsigned size_class = heap::class_of(bytes);
    const std::uint64_t begin = take_granted(slabs_, size_class, adds_key);
    if (begin == heap::kNoCell) return 0;
    const auto pair = heap::CellWord::of(begin, size_class, bytes);
    add_left(slabs_.state, pair.left());
    return pair.word;
  }
  /// One that no slot ever named.
  __device__ void return_pair(std::uint64_t word) const {
    add_left(slabs_.state, -static_cast<std::int64_t>(heap::CellWord{word}.left()));
    free_cell(slabs_, SlabView::bit_of(word));
  }
  /// It is retired in the ring until it has no reader.
  __device__ void retire_pair(std::uint64_t word) const {
    add_left(slabs_.state, -static_cast<std::int64_t>(heap::CellWord{word}.left()));
    retire_cell(word);
  }
  /// After each operation: no pair has a copy.
  template <class Shape>
  __device__ void keep_copy(const WarpTile&, const View<Shape>&) const {}

 private:
  const SlabView& slabs_;
};
static_assert(gphash::OperationTile<WarpTile, PairMemory, gphash::DefaultVariableShape>);

/// The policy of changes whose cells come from slabs.
template <class Shape>
__device__ PairMemory changing_memory(const ChangeJob& job, const CacheView& cache, const View<Shape>&,
                                      const SlabView& slabs) {
  return {job.state, &cache, job.ring, slabs};
}

/// Words of the slab directory come from their copies: all slots ask for the same few.
class ScanMemory : public CudaMemory {
 public:
  __device__ ScanMemory(const CacheView* cache, const std::byte* heap, const SlabView& slabs)
      : CudaMemory(nullptr, cache), heap_(heap), slabs_(slabs) {}

  __device__ std::uint64_t load(const std::uint64_t* word) const {
    const std::uint64_t at = reinterpret_cast<std::uintptr_t>(word) - reinterpret_cast<std::uintptr_t>(heap_);
    const std::uint64_t slab = at >> heap::kSlabBits;
    if (slab < slabs_.slabs && is_directory(slab)) {
      const std::uint64_t named = slab + (at & (heap::kSlabBytes - 1)) / 8;
      if (named < slabs_.slabs) return slabs_.directory[named];
    }
    return CudaMemory::load(word);
  }

 private:
  const std::byte* heap_;
  const SlabView& slabs_;
};
static_assert(gphash::SlotMemory<ScanMemory>);

template <class Shape>
__device__ ScanMemory scanning_memory(const CacheView& cache, const View<Shape>& view, const SlabView& slabs) {
  return {&cache, view.heap, slabs};
}

}  // namespace holdfast::gphash::cuda
