// shape.hpp: where linear probing, PFHT and path hashing keep their cells, their count and their undo log. docs/format.md, "Cell tables".
//
//   line 0   the undo log's entry, and the number of items
//   line 1   the reserved cell: the item whose key is all zero, which means "empty" in every other cell
//   then     cells: key, value; numbered from 0. None crosses a line
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/both.hpp"

namespace holdfast::cells {

/// A cell's number. The reserved cell comes behind all others.
using Cell = std::uint64_t;
inline constexpr Cell kNoCell = ~Cell{0};

inline constexpr unsigned kLineWords = 8;
inline constexpr unsigned kHeaderWords = 2 * kLineWords;

/// Words of line 0.
namespace word {
inline constexpr unsigned kState =
    0;  ///< Mode in the lowest three bits, above it the number of a cell; 0: the entry is void
inline constexpr unsigned kOther =
    1;  ///< 1 + the number of the other cell of the change, which was empty; 0: there is none
inline constexpr unsigned kOld = 2;       ///< four words: what the cell held
inline constexpr unsigned kOldCount = 6;  ///< items before the change
inline constexpr unsigned kCount = 7;     ///< items
}  // namespace word

struct Shape {
  std::uint32_t index;       ///< 2^index places (cells, buckets) that a hash addresses
  std::uint32_t item_words;  ///< 2 or 4
  std::uint64_t cell_count;  ///< without the reserved cell

  std::uint64_t cells() const { return cell_count; }
  std::uint64_t locks() const { return 1; }
  Cell reserved() const { return cell_count; }
  std::uint64_t words() const {
    return kHeaderWords + (cell_count * item_words + kLineWords - 1) / kLineWords * kLineWords;
  }
  std::uint64_t bytes() const { return words() * 8; }
  std::uint64_t places() const { return std::uint64_t{1} << index; }
  /// The place that a hash addresses: its top bits.
  std::uint64_t place_of(std::uint64_t hash) const { return index == 0 ? 0 : hash >> (64 - index); }
};

}  // namespace holdfast::cells
