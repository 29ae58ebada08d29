// bins.hpp: puts rows into the order of the host memory that they read or write, bin by bin: what matters to a GPU is which pages follow
// each other, so the order within a bin is as it comes.
//
// Host memory answers ten times faster in the order of its addresses. Memory is *cells* of one size; a bin, 2^shift of them, is a page
// of 64 KiB, as much as a GPU translates at once; larger where there would be too many, and smaller where there would be few, so that
// rows do not crowd in counters. The thread that knows the cell of a row counts it (bins.cuh); the counts are added up; rows are placed.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

namespace holdfast::gpu {

inline constexpr unsigned kBinBits = 20, kFewBinBits = 16, kPageBits = 16;

/// Where rows are put in order; all in GPU memory. The numbers of cells are 32 or 64 bits wide. The caller zeroes `counts`.
struct Bins {
  void* cells = nullptr;            ///< (n,) of the rows; all bits set: none
  std::uint32_t* ranks = nullptr;   ///< (n,) how many rows came to its bin before it
  void* places = nullptr;           ///< (n, 2) cells and rows, bin by bin
  std::uint32_t* counts = nullptr;  ///< (bins + 1,) rows of each bin; the last is 0
  std::uint32_t* starts = nullptr;  ///< (bins + 1,) where their places begin; the last is how many there are
  std::uint32_t bins = 0;           ///< how many
  unsigned shift = 0;               ///< a bin has 2^shift cells
  void* scratch = nullptr;
  std::size_t scratch_bytes = 0;
};

/// Divides `cells` cells of `cell_bytes` each into 2^`most_bits` bins at most.
void divide(Bins& bins, std::uint64_t cells, std::uint32_t cell_bytes, unsigned most_bits = kBinBits);
/// Of any division.
std::size_t bins_scratch_bytes();
/// `starts` from `counts`.
void add_up(const Bins& bins, cudaStream_t stream);
/// True if 32 bits do not do for a cell's number.
inline bool is_wide(std::uint64_t cells) { return cells >= 0xffff'ffff; }

}  // namespace holdfast::gpu
