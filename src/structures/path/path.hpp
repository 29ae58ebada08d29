// path.hpp: path hashing (Zuo and Hua, "A Write-Friendly Hashing Scheme for Non-Volatile Memory Systems"): an inverted binary tree. A hash
// addresses a cell of the lowest level, of 2^n cells; each level above has half as many. An item is in a cell of the path from one of
// two leaves towards the root, of which 20 levels exist. Nothing ever moves.
#pragma once

#include "core/hash.hpp"
#include "structures/cells/cells.hpp"

namespace holdfast::path {

using cells::Cell;
using cells::kNoCell;
using cells::Placement;

inline constexpr unsigned kReservedLevels = 20;

struct Scheme {
  static unsigned levels(unsigned index) { return index + 1 < kReservedLevels ? index + 1 : kReservedLevels; }
  /// The first cell of a level, counted from the leaves.
  static Cell level_begin(unsigned index, unsigned level) {
    const std::uint64_t twice = std::uint64_t{2} << index;
    return twice - (twice >> level);
  }
  static std::uint64_t cells(unsigned index) { return level_begin(index, levels(index)); }

  template <class Cells>
  static void prefetch(const Cells& cells, std::uint64_t hash) {
    visit_path(cells, hash, 2, [&](Cell cell) {
      cells.prefetch(cell);
      return false;
    });
  }
  template <class Cells>
  static Cell find(const Cells& cells, std::uint64_t hash, const typename Cells::Key& key) {
    return visit_path(cells, hash, kReservedLevels, [&](Cell cell) { return cells.has_key(cell, key); });
  }
  template <class Cells>
  static Placement place(const Cells& cells, std::uint64_t hash) {
    return {visit_path(cells, hash, kReservedLevels, [&](Cell cell) { return cells.is_empty(cell); })};
  }
  template <class Cells>
  static Cell next_to_move(const Cells&, Cell) {
    return kNoCell;
  }

 private:
  /// The first cell of both paths, leaves first, of which `is_it` is true, or kNoCell.
  template <class Cells, class IsIt>
  static Cell visit_path(const Cells& cells, std::uint64_t hash, unsigned most, const IsIt& is_it) {
    const unsigned index = cells.shape().index;
    std::uint64_t one = cells.shape().place_of(hash), two = cells.shape().place_of(hash_location(hash, 1));
    for (unsigned level = 0; level < levels(index) && level < most; ++level, one >>= 1, two >>= 1) {
      const Cell begin = level_begin(index, level);
      if (is_it(begin + one)) return begin + one;
      if (two != one && is_it(begin + two)) return begin + two;
    }
    return kNoCell;
  }
};

}  // namespace holdfast::path
