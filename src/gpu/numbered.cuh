// numbered.cuh: gives the threads that want one a place in an array that all blocks share.
#pragma once

#include <cstdint>

#include "gpu/launch.cuh"

namespace holdfast::gpu {

/// The places of a block's threads that want one, in an array that all blocks share: one addition a block. All threads call.
template <class Counter>
__device__ std::uint64_t numbered(bool wants, Counter* counter) {
  __shared__ std::uint64_t first;
  __shared__ unsigned before[kWarpsPerBlock];
  const unsigned lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
  const unsigned mask = __ballot_sync(kAllLanes, wants);
  if (lane == 0) before[warp] = count_bits(mask);
  __syncthreads();
  if (threadIdx.x == 0) {
    unsigned sum = 0;
    for (unsigned& count : before) {
      const unsigned mine = count;
      count = sum;
      sum += mine;
    }
    first = sum == 0 ? 0 : atomicAdd(counter, static_cast<Counter>(sum));
  }
  __syncthreads();
  const std::uint64_t place = first + before[warp] + count_bits(mask & lanes(lane));
  __syncthreads();
  return place;
}

}  // namespace holdfast::gpu
