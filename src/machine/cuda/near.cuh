// near.cuh: rows of a search whose values have a copy in GPU memory (value_view.hpp): they are answered where they are resolved.
#pragma once

#include <cstdint>

#include "machine/cuda/gather.cuh"
#include "machine/cuda/launch.cuh"
#include "machine/cuda/values.cuh"

namespace holdfast::machine::cuda {

/// Which cells have a copy.
enum class Copies : std::uint8_t { none, some, all };

HOLDFAST_BOTH inline Copies copies_of(const ValueView& values) {
  return values.resident() ? Copies::all : values.any() ? Copies::some : Copies::none;
}

template <class Shape>
class Near {
 public:
  __device__ Near(const WarpTile& tile, const CudaMemory& memory, const View<Shape>& view, const ValueView& values,
                  const index::Rows& rows)
      : tile_(tile), memory_(memory), values_(values), gather_(tile, memory, view, rows, values.copies) {}

  /// Answers the lanes whose cell has a copy, which then want nothing more, and counts for the policy. All lanes call.
  __device__ void operator()(Wanted& wanted) {
    Wanted near;
    near.row = wanted.row;
    if (const std::uint64_t position = position_of(wanted); position != kNoPosition) near.word = position + 1;
    if (tile_.ballot(near.word != Wanted::kNothing) != 0) gather_(near);
  }

  /// Where the copy is that a lane's cell has, if it has one: the lane wants nothing more then, but that copy.
  __device__ std::uint64_t position_of(Wanted& wanted) {
    if (!wanted.wants_cell()) return kNoPosition;
    const std::uint64_t cell = wanted.word - 1;
    const std::uint64_t position = copy_of_cell(memory_, values_, cell);
    note_use(values_, cell, wanted.row);
    if (position != kNoPosition) {
      wanted.word = Wanted::kNothing;
      count(true);
    }
    return position;
  }

  __device__ void count(bool hit) { hits_ += hit; }

  /// Adds the hits of a block to the table's. All its threads call, once.
  __device__ void tell() const {
    __shared__ unsigned each[32];
    const unsigned hits = __reduce_add_sync(kAllLanes, hits_);
    if (tile_.lane() == 0) each[threadIdx.x / kWarp] = hits;
    __syncthreads();
    if (threadIdx.x != 0) return;
    unsigned long long all = 0;
    for (unsigned warp = 0; warp < blockDim.x / kWarp; ++warp) all += each[warp];
    if (all != 0) atomicAdd(reinterpret_cast<unsigned long long*>(&values_.state->hits), all);
  }

 private:
  const WarpTile& tile_;
  const CudaMemory& memory_;
  const ValueView& values_;
  const Gather<Shape> gather_;
  unsigned hits_ = 0;
};

}  // namespace holdfast::machine::cuda
