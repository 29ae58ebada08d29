// warp.cuh: a warp, and what its lanes do together. Everything here is called by all 32 lanes, with equal arguments but where it says
// so, and begins and ends with __syncwarp where memory is touched, which also orders the accesses of the lanes among each other.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/bits.hpp"
#include "gpu/bytes.cuh"

namespace holdfast::gpu {

inline constexpr unsigned kWarp = 32;
inline constexpr unsigned kAllLanes = 0xffff'ffff;

/// The waiting lane whose turn it is: the first from `from` on, cyclically.
__device__ inline unsigned next_in_line(unsigned waiting, unsigned from) {
  const unsigned later = from < kWarp ? waiting & (kAllLanes << from) : 0;
  return lowest_bit(later != 0 ? later : waiting);
}

class Warp {
 public:
  __device__ Warp() : lane_(threadIdx.x % kWarp) {}
  __device__ explicit Warp(unsigned lane) : lane_(lane) {}  ///< where blocks have other shapes
  __device__ unsigned lane() const { return lane_; }

  /// Runs `act` in one lane; all get its result.
  template <class F>
  __device__ auto once(F&& act) const -> decltype(act()) {
    using Result = decltype(act());
    static_assert(sizeof(Result) <= 8);
    Result result{};
    __syncwarp();
    if (lane_ == 0) result = act();
    __syncwarp();
    return from_lane(result, 0);
  }

  template <class T>
  __device__ T from_lane(T value, unsigned lane) const {
    if constexpr (sizeof(T) == 8) {
      return static_cast<T>(__shfl_sync(kAllLanes, static_cast<unsigned long long>(value), static_cast<int>(lane)));
    } else {
      return static_cast<T>(__shfl_sync(kAllLanes, static_cast<unsigned>(value), static_cast<int>(lane)));
    }
  }
  __device__ unsigned ballot(bool holds) const { return __ballot_sync(kAllLanes, holds); }

  __device__ void copy(std::byte* to, const std::byte* from, std::size_t bytes) const {
    __syncwarp();
    for (std::size_t at = 8 * lane_; at < bytes; at += 8 * kWarp)
      store_user(to + at, load_user(from + at, bytes - at), bytes - at);
    __syncwarp();
  }
  __device__ void zero(std::byte* to, std::size_t bytes) const {
    __syncwarp();
    for (std::size_t at = 8 * lane_; at < bytes; at += 8 * kWarp) store_user(to + at, 0, bytes - at);
    __syncwarp();
  }

 protected:
  unsigned lane_;
};

}  // namespace holdfast::gpu
