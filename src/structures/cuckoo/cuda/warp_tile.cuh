// warp_tile.cuh: a warp of threads with a key each, of which fours look at one another's buckets. Four lanes read a bucket, 16 bytes each, by one
// request of 64 bytes; a thread that reads a bucket alone makes four requests, and is three times slower.
#pragma once

#include <type_traits>

#include "gpu/warp.cuh"
#include "structures/cuckoo/cuda/device_memory.cuh"

namespace holdfast::cuckoo::cuda {

inline constexpr unsigned kLooking = 4;  ///< lanes that look at a bucket together

/// All lanes of a warp call together.
class WarpTile {
 public:
  __device__ WarpTile() : lane_(threadIdx.x % kLooking) {}

  template <class Memory>
  __device__ Location location(const Memory& memory, BucketNumber bucket, std::uint32_t signature, bool wanted) const {
    const auto part = [](const CellPair& pair, unsigned, std::uint32_t wanted_signature) {
      Location found = kNone;
      if (signature_of(pair.second) == wanted_signature) found = location_of(pair.second);
      if (signature_of(pair.first) == wanted_signature) found = location_of(pair.first);
      return found;
    };
    // Locations are below kNone. Of several the smallest is as good as the first.
    return look(memory, bucket, signature, wanted, kNone, part, [](Location a, Location b) { return min(a, b); });
  }
  template <class Memory>
  __device__ LaneMask cells_with(const Memory& memory, BucketNumber bucket, std::uint64_t entry, bool wanted) const {
    const auto part = [](const CellPair& pair, unsigned lane, std::uint64_t wanted_entry) {
      const LaneMask mask = LaneMask{pair.first == wanted_entry} | LaneMask{pair.second == wanted_entry} << 1;
      return mask << 2 * lane;
    };
    return look(memory, bucket, entry, wanted, 0, part, [](LaneMask a, LaneMask b) { return a | b; });
  }
  __device__ bool any(bool holds) const { return __any_sync(gpu::kAllLanes, holds) != 0; }
  template <class F>
  __device__ std::invoke_result_t<F> once(F&& act) const {
    return act();
  }

 private:
  /// The four lanes read the bucket of each of them, one after another, and each makes a part of the answer from its two cells; then the parts are
  /// joined where they belong.
  template <class Memory, class Value, class Part, class Join>
  __device__ std::uint32_t look(const Memory& memory, BucketNumber bucket, Value value, bool wanted, std::uint32_t none,
                                const Part& part, const Join& join) const {
    static_assert(Memory::kCells == 2 * kLooking);
    constexpr BucketNumber kNoBucket = ~BucketNumber{0};
    CellPair pairs[kLooking];
    bool wants[kLooking];
#pragma unroll
    for (unsigned i = 0; i < kLooking; ++i) {
      const BucketNumber shown = from_lane(wanted ? bucket : kNoBucket, i);
      wants[i] = shown != kNoBucket;
      if (wants[i]) pairs[i] = memory.load_pair(shown, lane_);
    }
    memory.acquire_cells();
    std::uint32_t parts[kLooking];
#pragma unroll
    for (unsigned i = 0; i < kLooking; ++i) {
      const Value shown = from_lane(value, i);
      parts[i] = wants[i] ? part(pairs[i], lane_, shown) : none;
    }
    return joined(parts, join);
  }
  /// parts[i] of each lane belongs to lane i of the four. Returns what belongs to this lane.
  template <class Join>
  __device__ std::uint32_t joined(std::uint32_t (&parts)[kLooking], const Join& join) const {
#pragma unroll
    for (unsigned half = kLooking / 2; half != 0; half /= 2) {
      const bool upper = (lane_ & half) != 0;
#pragma unroll
      for (unsigned i = 0; i < half; ++i) {
        const std::uint32_t sent = upper ? parts[i] : parts[i + half], kept = upper ? parts[i + half] : parts[i];
        parts[i] = join(kept, __shfl_xor_sync(gpu::kAllLanes, sent, half));
      }
    }
    return parts[0];
  }
  __device__ static std::uint32_t from_lane(std::uint32_t value, unsigned lane) {
    return __shfl_sync(gpu::kAllLanes, value, static_cast<int>(lane), kLooking);
  }
  __device__ static std::uint64_t from_lane(std::uint64_t value, unsigned lane) {
    return __shfl_sync(gpu::kAllLanes, static_cast<unsigned long long>(value), static_cast<int>(lane), kLooking);
  }

  unsigned lane_;
};

}  // namespace holdfast::cuckoo::cuda
