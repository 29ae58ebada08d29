// value_hits.cuh: rows of a search whose values have a copy in GPU memory (value_view.hpp): they are answered where they are resolved.
#pragma once

#include <cstdint>

#include "gpu/launch.cuh"
#include "structures/gphash/cuda/caches/values.cuh"
#include "structures/gphash/cuda/gather.cuh"
#include "structures/gphash/cuda/kit.hpp"

namespace holdfast::gphash::cuda {

/// Which cells have a copy.
enum class Copies : std::uint8_t { none, some, all };

HOLDFAST_BOTH inline Copies copies_of(const ValueView& values) {
  return values.resident() ? Copies::all : values.any() ? Copies::some : Copies::none;
}

template <class Shape>
class ValueHits {
 public:
  __device__ ValueHits(const WarpTile& tile, const CudaMemory& memory, const View<Shape>& view, const ValueView& values,
                       const gphash::Rows& rows)
      : tile_(tile), memory_(memory), values_(values), gather_(tile, memory, view, rows, values.copies) {}

  /// Answers the lanes whose cell has a copy, which then want nothing more, and counts for the policy. `copy`: where that is, of a row
  /// that need not look for its cell. All lanes call.
  __device__ void operator()(Wanted& wanted, std::uint64_t copy = kNoPosition) {
    Wanted hit;
    hit.row = wanted.row;
    if (const std::uint64_t position = position_of(wanted, copy); position != kNoPosition) hit.word = position + 1;
    if (tile_.ballot(hit.word != Wanted::kNothing) != 0) gather_(hit);
  }

  /// Where the copy is that a lane's cell has, if it has one: the lane wants nothing more then, but that copy.
  __device__ std::uint64_t position_of(Wanted& wanted, std::uint64_t copy = kNoPosition) {
    if (copy != kNoPosition) return copy;
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
  __device__ void flush_counts() const { add_of_block(values_.state->hits, hits_); }

 private:
  const WarpTile& tile_;
  const CudaMemory& memory_;
  const ValueView& values_;
  const Gather<Shape> gather_;
  unsigned hits_ = 0;
};

}  // namespace holdfast::gphash::cuda
