// search_workspace.hpp: where a search works, beside the rows that it answers.
#pragma once

#include <cstdint>

#include "gpu/order/bins.hpp"
#include "structures/gphash/cuda/kernels/pipelining.hpp"
#include "structures/gphash/cuda/paths.hpp"

namespace holdfast::gphash::cuda {

/// Which rows of a small search want a cell that another row reads.
struct Repeats {
  std::uint64_t* table = nullptr;   ///< null: each row reads for itself
  std::uint64_t last = 0;           ///< its size less one: a power of two, at least twice the rows
  std::uint32_t* leader = nullptr;  ///< (n,) the row that reads
};

inline constexpr unsigned kClusterBinBits = 12;  ///< of a small search, which counts in shared memory

/// Where an ordered search works, or a part of one; all in GPU memory.
struct SearchWorkspace : gpu::Bins {
  unsigned gather_share = kGatherShare;  ///< SearchChoices
  std::uint64_t* epoch = nullptr;
  std::uint32_t* ended = nullptr;  ///< blocks of the last phase; 0 between searches
  bool is_left_by_others = false;  ///< something runs beside the last phase: leave_search comes after both
  std::uint64_t* table = nullptr;  ///< 2 × kSmallSearch words
  SearchPart part;
};

/// The rows of a batch that are left for the next phase.
struct RowsLeft {
  std::uint32_t* rows = nullptr;  ///< null: all
  std::uint32_t* size = nullptr;
};

}  // namespace holdfast::gphash::cuda
