// copy_rows.cuh: a warp copies 32 rows from anywhere to anywhere, as much of them in flight at once as fits its registers.
//
// A read of host memory takes some three thousand clocks, whatever its size. So a lane asks for one unit, 8 or 16 bytes, at a time,
// several lanes share a row, and all rows of the warp are asked for before the first of them is written to where it belongs.
#pragma once

#include <cstdint>

#include "gpu/warp.cuh"

namespace holdfast::gpu {

/// What a lane brings: the row that it answers for, and what is to be copied there.
struct Wanted {
  static constexpr std::uint64_t kNothing = ~std::uint64_t{0};  ///< leave the row as it is
  std::uint64_t row = 0;
  std::uint64_t word = kNothing;  ///< 1 + cell; 0: zeros
  __device__ bool wants_cell() const { return word != 0 && word != kNothing; }
};

/// `wanted` of all lanes, which call together, in `units` units a row: store(row, unit, load(cell, unit)).
template <class Unit, class Load, class Store>
__device__ void copy_rows(const Warp& warp, const Wanted& wanted, unsigned units, const Load& load,
                          const Store& store) {
  constexpr unsigned kInFlight = 8;  // of a lane
  const unsigned lane = warp.lane();
  unsigned shift = 0;  // 2^shift lanes share a row
  while (shift < 5 && (1u << shift) < units) ++shift;
  const unsigned at_once = kWarp >> shift;
  for (unsigned first = lane & ((1u << shift) - 1); first - (lane & ((1u << shift) - 1)) < units;
       first += 1u << shift) {
    for (unsigned base = 0; base < kWarp; base += at_once * kInFlight) {
      Unit data[kInFlight];
#pragma unroll
      for (unsigned i = 0; i < kInFlight; ++i) {
        const unsigned from = base + i * at_once + (lane >> shift);
        const std::uint64_t word = warp.from_lane(wanted.word, from % kWarp);
        data[i] = Unit{};
        if (from < kWarp && first < units && word != 0 && word != Wanted::kNothing) data[i] = load(word - 1, first);
      }
#pragma unroll
      for (unsigned i = 0; i < kInFlight; ++i) {
        const unsigned from = base + i * at_once + (lane >> shift);
        const std::uint64_t word = warp.from_lane(wanted.word, from % kWarp);
        const std::uint64_t row = warp.from_lane(wanted.row, from % kWarp);
        if (from < kWarp && first < units && word != Wanted::kNothing) store(row, first, data[i]);
      }
    }
  }
}

}  // namespace holdfast::gpu
