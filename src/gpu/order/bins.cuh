// bins.cuh: what kernels do with bins (bins.hpp): they count rows, place them, and go through the places window by window.
#pragma once

#include <cstdint>

#include "gpu/launch.cuh"
#include "gpu/order/bins.hpp"

namespace holdfast::gpu {

/// Of a row that wants no cell.
template <class Cell>
inline constexpr Cell kNoPlace = ~Cell{0};

/// Counts a row that wants `cell`.
template <class Cell>
__device__ void count_row(const Bins& bins, std::uint64_t row, Cell cell) {
  bins.ranks[row] = atomicAdd(&bins.counts[cell >> bins.shift], 1u);
}

/// A row at its place in the order.
template <class Cell>
struct alignas(2 * sizeof(Cell)) Place {
  Cell cell, row;
};

/// Rows from `first` on, to places from `first` on. Blocks share them.
template <class Cell>
__device__ void place_rows_of(const Bins& bins, std::uint64_t first, std::uint64_t size) {
  const auto* const cells = static_cast<const Cell*>(bins.cells);
  auto* const places = static_cast<Place<Cell>*>(bins.places) + first;
  for (std::uint64_t row = first + first_of_thread(); row < size; row += all_threads()) {
    const Cell cell = cells[row];
    if (cell == kNoPlace<Cell>) continue;
    places[bins.starts[cell >> bins.shift] + bins.ranks[row]] = {cell, static_cast<Cell>(row)};
  }
}

/// Places, at most, that a block takes at once, and of which no cell is read twice.
inline constexpr unsigned kWindow = 1024;

/// A block's window of the places, in shared memory. The threads of the block call together.
template <class Cell>
struct Window {
  Cell cell[kWindow];
  std::uint32_t row[kWindow];
  std::uint32_t first[2 * kWindow];  ///< a hash table of 1 + places, one a cell
  std::uint16_t leader[kWindow];     ///< the place that reads the cell of this one

  __device__ void load(const Place<Cell>* places, unsigned size) {
    for (unsigned i = threadIdx.x; i < 2 * kWindow; i += kThreads) first[i] = 0;
    for (unsigned i = threadIdx.x; i < size; i += kThreads) {
      const Place<Cell> place = places[i];
      cell[i] = place.cell;
      row[i] = static_cast<std::uint32_t>(place.row);
    }
    __syncthreads();
    for (unsigned i = threadIdx.x; i < size; i += kThreads) leader[i] = static_cast<std::uint16_t>(leader_of(i));
    __syncthreads();
  }

  __device__ unsigned leader_of(unsigned i) {
    const Cell wanted = cell[i];
    for (auto at = static_cast<unsigned>(wanted * 0x9e3779b97f4a7c15 >> 40);; ++at) {
      const unsigned has = atomicCAS(&first[at % (2 * kWindow)], 0u, i + 1);
      if (has == 0) return i;
      if (cell[has - 1] == wanted) return has - 1;
    }
  }
};

}  // namespace holdfast::gpu
