// cells.hpp: where a rival's values lie: cells of one size in host memory, and the ring of free ones, in GPU memory.
#pragma once

#include "tile.hpp"

namespace holdfast::bench {

/// Cells given back are taken again only when all others have been, so a batch that takes no more than were free when it began
/// never takes what it gave back. Trivially copyable: it travels into kernels.
struct Cells {
  std::byte* heap = nullptr;
  std::uint64_t cell_bytes = 0, cells = 0;
  std::uint32_t* free = nullptr;   ///< (cells,) numbers of cells
  std::uint64_t* taken = nullptr;  ///< how many have been taken; after it, `cells` and how many have been given back

  RIVAL_BOTH std::uint64_t* at(std::uint64_t cell) const {
    return reinterpret_cast<std::uint64_t*>(heap + cell * cell_bytes);
  }
  RIVAL_BOTH std::uint64_t take() const { return free[add(taken, 1) % cells]; }
  RIVAL_BOTH void give(std::uint64_t cell) const { free[add(taken + 1, 1) % cells] = static_cast<std::uint32_t>(cell); }
};

}  // namespace holdfast::bench
