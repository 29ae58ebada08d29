// word_range.cuh: a warp takes 32 pieces of any lengths, one from each lane, as one range of consecutive words.
#pragma once

#include <cstdint>

#include "gpu/warp.cuh"

namespace holdfast::gpu {

/// The words of the lanes before this one, and in `all` those of all lanes, which call together.
__device__ inline std::uint32_t words_before(std::uint32_t mine, std::uint32_t& all) {
  const unsigned lane = threadIdx.x % kWarp;
  std::uint32_t end = mine;
  for (unsigned step = 1; step < kWarp; step *= 2) {
    const std::uint32_t before = __shfl_up_sync(kAllLanes, end, step);
    if (lane >= step) end += before;
  }
  all = __shfl_sync(kAllLanes, end, kWarp - 1);
  return end - mine;
}

/// Which of a warp's pieces word `i` of the range belongs to: the last whose `first` is not behind it.
template <class Piece>
__device__ unsigned piece_of(const Piece* pieces, std::uint32_t i) {
  unsigned of = 0;
  for (unsigned step = kWarp / 2; step != 0; step /= 2) {
    if (pieces[of + step].first <= i) of += step;
  }
  return of;
}

}  // namespace holdfast::gpu
