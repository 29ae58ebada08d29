// gather.cuh: a warp copies the values of 32 rows out of their cells, as many of them in flight at once as fit its registers.
//
// A read of host memory takes some three thousand clocks, whatever its size. So a lane asks for 16 bytes at a time, several
// lanes share a row, and all rows of the warp are asked for before the first of them is written to where it belongs.
#pragma once

#include <cstdint>

#include "index/run.hpp"
#include "machine/cuda/memory.cuh"
#include "machine/cuda/tile.cuh"

namespace holdfast::machine::cuda {

/// What a lane brings: the row that it answers for, and the word of the row's item.
struct Wanted {
  static constexpr std::uint64_t kNothing = ~std::uint64_t{0};  ///< leave the row as it is
  std::uint64_t row = 0;
  std::uint64_t word = kNothing;  ///< 1 + cell; 0: zeros
};

/// Copies in units of 16 bytes, or of 8 where an array is not aligned to more. All lanes of a warp call.
template <class Shape>
class Gather {
 public:
  __device__ Gather(const WarpTile& tile, const CudaMemory& memory, const View<Shape>& view, const index::Rows& rows)
      : tile_(tile), memory_(memory), view_(view), rows_(rows) {}

  /// `wanted` of all lanes.
  __device__ void operator()(const Wanted& wanted) const {
    const std::size_t bytes = rows_.value_bytes;
    if (rows_.out == nullptr || bytes == 0) return;
    __syncwarp();
    if (bytes % 16 == 0 && view_.cell_bytes % 16 == 0 && aligned(rows_.out, 16) && aligned(view_.heap, 16)) {
      const auto units = static_cast<unsigned>(bytes / 16);
      const auto load = [&](std::uint64_t cell, unsigned unit) {
        return memory_.load_values(reinterpret_cast<const std::uint64_t*>(view_.cell(cell)) + 2 * unit);
      };
      const auto store = [&](std::uint64_t row, unsigned unit, ulonglong2 data) {
        reinterpret_cast<ulonglong2*>(rows_.out + row * bytes)[unit] = data;
      };
      copy<ulonglong2>(wanted, units, load, store);
    } else {
      const auto units = static_cast<unsigned>((bytes + 7) / 8);
      const auto load = [&](std::uint64_t cell, unsigned unit) {
        return memory_.load_value(reinterpret_cast<const std::uint64_t*>(view_.cell(cell)) + unit);
      };
      const auto store = [&](std::uint64_t row, unsigned unit, std::uint64_t data) {
        store_user(rows_.out + row * bytes + 8 * unit, data, bytes - 8 * unit);
      };
      copy<std::uint64_t>(wanted, units, load, store);
    }
    __syncwarp();
  }

 private:
  static constexpr unsigned kInFlight = 8;  ///< of a lane

  template <class Unit, class Load, class Store>
  __device__ void copy(const Wanted& wanted, unsigned units, const Load& load, const Store& store) const {
    const unsigned lane = tile_.lane();
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
          const std::uint64_t word = tile_.from_lane(wanted.word, from % kWarp);
          data[i] = Unit{};
          if (from < kWarp && first < units && word != 0 && word != Wanted::kNothing) data[i] = load(word - 1, first);
        }
#pragma unroll
        for (unsigned i = 0; i < kInFlight; ++i) {
          const unsigned from = base + i * at_once + (lane >> shift);
          const std::uint64_t word = tile_.from_lane(wanted.word, from % kWarp);
          const std::uint64_t row = tile_.from_lane(wanted.row, from % kWarp);
          if (from < kWarp && first < units && word != Wanted::kNothing) store(row, first, data[i]);
        }
      }
    }
  }

  const WarpTile& tile_;
  const CudaMemory& memory_;
  const View<Shape>& view_;
  const index::Rows& rows_;
};

/// Copies a row of the results into another.
__device__ inline void copy_result(const index::Rows& rows, std::uint64_t to, std::uint64_t from, unsigned lane,
                                   unsigned lanes) {
  const std::size_t bytes = rows.value_bytes;
  std::byte* const target = rows.result(to);
  const std::byte* const source = rows.result(from);
  if (bytes % 16 == 0 && aligned(rows.out, 16)) {
    for (std::size_t at = lane; at < bytes / 16; at += lanes)
      reinterpret_cast<ulonglong2*>(target)[at] = reinterpret_cast<const ulonglong2*>(source)[at];
  } else {
    for (std::size_t at = 8 * lane; at < bytes; at += 8 * lanes)
      store_user(target + at, load_user(source + at, bytes - at), bytes - at);
  }
}

}  // namespace holdfast::machine::cuda
