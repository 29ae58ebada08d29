// lane_tile.cuh: eight lanes of a warp that look at a bucket together, a cell each: Mega-KV's processing unit (§4.2).
#pragma once

#include <type_traits>

#include "structures/cuckoo/memory.hpp"

namespace holdfast::cuckoo::cuda {

/// Lanes [0, 8), [8, 16), … of a warp. All eight call with equal arguments.
class LaneTile {
 public:
  static constexpr unsigned kLanes = 8;
  struct LaneCell {
    std::uint64_t entry;
  };
  template <unsigned kCells>
  using Cells = LaneCell;

  __device__ LaneTile() : lane_(threadIdx.x % kLanes), first_(threadIdx.x % 32 - threadIdx.x % kLanes) {}
  __device__ unsigned lane() const { return lane_; }

  template <class Memory>
  __device__ LaneCell load(const Memory& memory, BucketNumber bucket) const {
    static_assert(Memory::kCells == kLanes);
    __syncwarp(mask());
    return {memory.load_cell(bucket, lane_)};
  }
  __device__ LaneMask matches(const LaneCell& cell, std::uint32_t signature) const {
    return ballot(signature_of(cell.entry) == signature);
  }
  __device__ LaneMask empty_cells(const LaneCell& cell) const { return ballot(cell.entry == kEmpty); }
  __device__ std::uint64_t entry(const LaneCell& cell, unsigned from) const { return broadcast(cell.entry, from); }

  template <class F>
  __device__ std::invoke_result_t<F> once(F&& act) const {  // not `auto`, which the host's compiler could not deduce
    using Result = std::invoke_result_t<F>;
    static_assert(sizeof(Result) <= 8);
    Result result{};
    __syncwarp(mask());
    if (lane_ == 0) result = act();
    return static_cast<Result>(broadcast(static_cast<std::uint64_t>(result), 0));
  }

 private:
  __device__ unsigned mask() const { return 0xffu << first_; }
  __device__ LaneMask ballot(bool holds) const { return __ballot_sync(mask(), holds) >> first_ & 0xffu; }
  __device__ std::uint64_t broadcast(std::uint64_t value, unsigned from) const {
    return __shfl_sync(mask(), static_cast<unsigned long long>(value), static_cast<int>(from), kLanes);
  }

  unsigned lane_, first_;
};

}  // namespace holdfast::cuckoo::cuda
