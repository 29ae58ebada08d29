// displace.hpp: frees a cell in one of a key's two full buckets: searches, in breadth, the buckets that their entries could move to, up to
// one with an empty cell, then moves the entries of that chain, the last one first. Mega-KV §4.2 "Insert"; breadth-first as the moves are
// fewest.
//
// The buckets form a tree, numbered in breadth: 0 and 1 are the key's own, and the entry in cell c of bucket n could move to bucket
// 2 + 8 n + c. A bucket's address is found again from its number whenever it is needed, by reading the entries on the way. So a search
// needs no queue, which a GPU thread would have to keep in local memory.
#pragma once

#include "structures/cuckoo/move.hpp"

namespace holdfast::cuckoo {

/// Moves that one insert makes in a row.
inline constexpr unsigned kMostMoves = 3;

/// Buckets that one insert looks at to find an empty cell, its own two included.
template <unsigned kCells>
inline constexpr unsigned kMostBuckets = [] {
  unsigned buckets = 2, level = 2;
  for (unsigned moves = 0; moves < kMostMoves; ++moves) buckets += level *= kCells;
  return buckets < 192 ? buckets : 192u;
}();

/// A path through the tree: the entry in cell i of bucket i could move to bucket i + 1.
struct Chain {
  unsigned moves = 0;
  BucketNumber buckets[kMostMoves];
  unsigned cells[kMostMoves];
  BucketNumber last = 0;  ///< where the last entry could move to
};

/// Reads the path to the bucket that is `place`-th among those `moves` moves away. False: a bucket on the way has an empty cell by now.
template <class T, class Memory>
HOLDFAST_BOTH bool read_chain(const T& tile, const Memory& memory, const Geometry& geometry, const Target& target,
                              unsigned moves, unsigned place, Chain& chain) {
  HOLDFAST_ASSERT(moves <= kMostMoves);
  unsigned below = 1;  // buckets of the last level below the present one
  for (unsigned i = 0; i < moves; ++i) below *= Memory::kCells;
  chain.moves = moves;
  chain.last = place / below == 0 ? target.primary : target.other;
  HOLDFAST_UNROLL
  for (unsigned i = 0; i < kMostMoves; ++i) {
    if (i >= moves) break;
    below /= Memory::kCells;
    chain.buckets[i] = chain.last;
    chain.cells[i] = place / below % Memory::kCells;
    const std::uint64_t entry = tile.once([&] { return memory.load_cell(chain.buckets[i], chain.cells[i]); });
    if (entry == kEmpty) return false;
    chain.last = geometry.other(chain.last, signature_of(entry));
  }
  return true;
}

/// Moves the entries of the chain, the last one first, until another caller is in the way, if `wanted`. Returns how many it moved.
template <class T, class Memory>
HOLDFAST_BOTH unsigned move_chain(const T& tile, const Memory& memory, const Geometry& geometry, const Chain& chain,
                                  bool wanted) {
  unsigned moved = 0;
  BucketNumber to = chain.last;
  HOLDFAST_UNROLL
  for (unsigned i = kMostMoves; i-- > 0;) {
    const bool moves = wanted && i < chain.moves;
    if (!tile.any(moves)) continue;
    const bool done = move_entry(tile, memory, geometry, chain.buckets[i], chain.cells[i], to, moves);
    if (!moves) continue;
    wanted = done;
    to = chain.buckets[i];
    moved += done ? 1 : 0;
  }
  return moved;
}

/// Asks for the buckets that the entries of `bucket` could move to.
template <class Memory>
HOLDFAST_BOTH void prefetch_others(const Memory& memory, const Geometry& geometry, BucketNumber bucket) {
  const auto cells = memory.load_bucket(bucket);
  for (const std::uint64_t entry : cells.entries) memory.prefetch(geometry.other(bucket, signature_of(entry)));
}

/// Moves entries so that a bucket of the key has an empty cell, unless another caller takes that, if `wanted`. The caller has seen both buckets
/// full. Adds the number of moves to `moves`. False: no bucket within reach has an empty cell.
///
/// All threads of the tile search before any moves: on a GPU, threads of a warp that moved at different times would wait for each other.
template <class T, class Memory>
HOLDFAST_BOTH bool make_space(const T& tile, const Memory& memory, const Geometry& geometry, const Target& target,
                              unsigned& moves, bool wanted) {
  if constexpr (Memory::kPrefetches) {
    prefetch_others(memory, geometry, target.primary);
    prefetch_others(memory, geometry, target.other);
  }
  Chain chain;
  bool open = wanted, found = false;
  unsigned left = kMostBuckets<Memory::kCells> - 2, level = 2;
  for (unsigned length = 1; length <= kMostMoves; ++length) {
    level *= Memory::kCells;
    for (unsigned place = 0; place < level && left != 0 && tile.any(open); ++place, --left) {
      const bool looks = open && read_chain(tile, memory, geometry, target, length, place, chain);
      const bool is_free = tile.cells_with(memory, chain.last, kEmpty, looks) != 0;
      found = found || is_free;
      open = looks && !is_free;  // a chain that another caller has changed frees a cell too: the caller looks again
      if constexpr (Memory::kPrefetches) {
        if (open) prefetch_others(memory, geometry, chain.last);
      }
    }
  }
  if (tile.any(found)) moves += move_chain(tile, memory, geometry, chain, found);
  return wanted && !open;
}

}  // namespace holdfast::cuckoo
