// linear.hpp: linear probing: an item is in the first free cell at or behind the one that its hash addresses. An erase shifts back (Knuth,
// Algorithm R): items behind the emptied cell move into it, so that a search may end at an empty cell.
#pragma once

#include "structures/cells/cells.hpp"

namespace holdfast::linear {

using cells::Cell;
using cells::kNoCell;
using cells::Placement;

struct Scheme {
  static std::uint64_t cells(unsigned index) { return std::uint64_t{1} << index; }
  /// Items that a table takes before it grows: 15 of 16 cells, so that searches stay short; and one is always empty.
  static std::uint64_t most_items(const cells::Shape& shape) {
    const std::uint64_t spare = shape.cells() / 16;
    return shape.cells() - (spare == 0 ? 1 : spare);
  }

  template <class Cells>
  static void prefetch(const Cells& cells, std::uint64_t hash) {
    cells.prefetch(cells.shape().place_of(hash));
  }
  template <class Cells>
  static Cell find(const Cells& cells, std::uint64_t hash, const typename Cells::Key& key) {
    Cell cell = cells.shape().place_of(hash);
    for (std::uint64_t i = 0; i < cells.shape().cells(); ++i, cell = next(cells, cell)) {
      const auto there = cells.key(cell);
      if (there == key) return cell;
      if (there == typename Cells::Key{}) return kNoCell;
    }
    return kNoCell;
  }
  template <class Cells>
  static Placement place(const Cells& cells, std::uint64_t hash) {
    if (cells.count() >= most_items(cells.shape())) return {};
    Cell cell = cells.shape().place_of(hash);
    for (std::uint64_t i = 0; i < cells.shape().cells(); ++i, cell = next(cells, cell)) {
      if (cells.is_empty(cell)) return {cell};
    }
    return {};
  }
  /// The first item behind the hole, before the next empty cell, that a search for it would miss: its home is not between the two.
  template <class Cells>
  static Cell next_to_move(const Cells& cells, Cell hole) {
    const std::uint64_t mask = cells.shape().cells() - 1;
    Cell cell = next(cells, hole);
    for (std::uint64_t i = 1; i < cells.shape().cells(); ++i, cell = next(cells, cell)) {
      if (cells.is_empty(cell)) return kNoCell;
      const Cell home = cells.shape().place_of(cells.hash_of(cells.key(cell)));
      if (((cell - home) & mask) >= ((cell - hole) & mask)) return cell;
    }
    return kNoCell;
  }

 private:
  template <class Cells>
  static Cell next(const Cells& cells, Cell cell) {
    return (cell + 1) & (cells.shape().cells() - 1);
  }
};

}  // namespace holdfast::linear
