// pfht.hpp: PFHT (Debnath et al., "Revisiting Hash Table Design for Phase Change Memory"): cuckoo hashing with buckets of four cells, two
// buckets a key, at most one item displaced by an insert, and a stash for what finds no cell.
#pragma once

#include "core/hash.hpp"
#include "structures/cells/cells.hpp"

namespace holdfast::pfht {

using cells::Cell;
using cells::kNoCell;
using cells::Placement;

/// Cells of the buckets, then the stash, which has `kStashPercent` of as many and its items in its first cells.
template <unsigned kBucketCells, unsigned kStashPercent>
struct SchemeOf {
  static std::uint64_t bucket_cells(unsigned index) { return kBucketCells << std::uint64_t{index}; }
  static std::uint64_t stash_cells(unsigned index) { return (bucket_cells(index) * kStashPercent + 99) / 100; }
  static std::uint64_t cells(unsigned index) { return bucket_cells(index) + stash_cells(index); }

  template <class Cells>
  static void prefetch(const Cells& cells, std::uint64_t hash) {
    for (const Cell first : buckets(cells, hash).first) {
      cells.prefetch(first);
      if (Cells::Item::kBytes == 32 && kBucketCells > 2) cells.prefetch(first + 2);
    }
  }
  template <class Cells>
  static Cell find(const Cells& cells, std::uint64_t hash, const typename Cells::Key& key) {
    for (const Cell first : buckets(cells, hash).first) {
      for (Cell cell = first; cell < first + kBucketCells; ++cell) {
        if (cells.has_key(cell, key)) return cell;
      }
    }
    for (Cell cell = stash(cells); cell < cells.shape().cells(); ++cell) {
      const auto there = cells.key(cell);
      if (there == key) return cell;
      if (there == typename Cells::Key{}) return kNoCell;
    }
    return kNoCell;
  }
  template <class Cells>
  static Placement place(const Cells& cells, std::uint64_t hash) {
    const Buckets own = buckets(cells, hash);
    for (const Cell first : own.first) {
      if (const Cell cell = free_in(cells, first); cell != kNoCell) return {cell};
    }
    for (const Cell first : own.first) {
      for (Cell cell = first; cell < first + kBucketCells; ++cell) {
        const Buckets its = buckets(cells, cells.hash_of(cells.key(cell)));
        const Cell free = free_in(cells, its.first[0] == first ? its.first[1] : its.first[0]);
        if (free != kNoCell) return {cell, free};
      }
    }
    const Cell cell = first_empty(cells, stash(cells));
    return cell < cells.shape().cells() ? Placement{cell} : Placement{};
  }
  /// The last item of the stash moves into a cell of it that was emptied.
  template <class Cells>
  static Cell next_to_move(const Cells& cells, Cell hole) {
    if (hole < stash(cells)) return kNoCell;
    const Cell last = first_empty(cells, hole + 1) - 1;
    return last == hole ? kNoCell : last;
  }

 private:
  static constexpr Cell kNear = 64;

  struct Buckets {
    Cell first[2];  ///< their first cells; two buckets, unless there is but one
  };
  template <class Cells>
  static Buckets buckets(const Cells& cells, std::uint64_t hash) {
    const std::uint64_t one = cells.shape().place_of(hash);
    std::uint64_t two = cells.shape().place_of(hash_location(hash, 1));
    if (two == one && cells.shape().index != 0) two = one ^ 1;
    return {{one * kBucketCells, two * kBucketCells}};
  }
  template <class Cells>
  static Cell stash(const Cells& cells) {
    return bucket_cells(cells.shape().index);
  }
  /// The first empty cell of the stash from `from` on, or its end. The items are in its first cells, so that after a few cells in order
  /// the rest are searched by halves: a large stash would be read whole by each insert.
  template <class Cells>
  static Cell first_empty(const Cells& cells, Cell from) {
    Cell end = cells.shape().cells();
    const Cell near = end - from < kNear ? end : from + kNear;
    for (; from < near; ++from) {
      if (cells.is_empty(from)) return from;
    }
    while (from < end) {  // ends: each turn halves the range
      const Cell middle = from + (end - from) / 2;
      if (cells.is_empty(middle)) {
        end = middle;
      } else {
        from = middle + 1;
      }
    }
    return from;
  }
  template <class Cells>
  static Cell free_in(const Cells& cells, Cell first) {
    for (Cell cell = first; cell < first + kBucketCells; ++cell) {
      if (cells.is_empty(cell)) return cell;
    }
    return kNoCell;
  }
};
/// A bucket of 16-byte items is a line.
using Scheme = SchemeOf<4, 3>;

}  // namespace holdfast::pfht
