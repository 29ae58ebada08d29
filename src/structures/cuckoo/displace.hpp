// displace.hpp: makes space in one of a key's two full buckets: a search in breadth over the buckets that their entries could move to, up
// to one with an empty cell, then the moves, the last one first. Mega-KV §4.2 "Insert"; breadth-first as the moves are fewest.
#pragma once

#include "structures/cuckoo/move.hpp"

namespace holdfast::cuckoo {

/// Buckets that one insert looks at to find an empty cell, its own two included. A chain through them has about three moves at most.
inline constexpr unsigned kMostBuckets = 192;

/// The buckets of a search in breadth. A thread of a GPU keeps it in local memory: 960 bytes.
class Frontier {
 public:
  HOLDFAST_BOTH unsigned size() const { return size_; }
  HOLDFAST_BOTH BucketNumber bucket(unsigned i) const { return places_[i] & low_bits(kMostBits); }
  /// Bucket i would take the entry of cell `cell(i)` of bucket `parent(i)`. The first two have no parent.
  HOLDFAST_BOTH unsigned parent(unsigned i) const { return parents_[i]; }
  HOLDFAST_BOTH unsigned cell(unsigned i) const { return places_[i] >> kMostBits; }

  HOLDFAST_BOTH void add(BucketNumber bucket, unsigned parent, unsigned cell) {
    HOLDFAST_ASSERT(size_ < kMostBuckets && cell < 8);
    places_[size_] = bucket | cell << kMostBits;
    parents_[size_++] = static_cast<std::uint8_t>(parent);
  }

 private:
  std::uint32_t places_[kMostBuckets];
  std::uint8_t parents_[kMostBuckets];
  unsigned size_ = 0;
};
static_assert(kMostBuckets <= 256 && kMostBits <= 29);

/// Finds a bucket with an empty cell that a chain of moves leads to. Returns its place in `frontier`; kMostBuckets: none was found.
template <class T, class Memory>
HOLDFAST_BOTH unsigned find_space(const T& tile, const Memory& memory, const Geometry& geometry, const Target& target,
                                  Frontier& frontier) {
  frontier.add(target.primary, 0, 0);
  frontier.add(target.other, 0, 0);
  for (unsigned at = 0; at < frontier.size(); ++at) {
    const BucketNumber bucket = frontier.bucket(at);
    const auto cells = tile.load(memory, bucket);
    if (tile.empty_cells(cells) != 0) return at;
    for (unsigned cell = 0; cell < Memory::kCells && frontier.size() < kMostBuckets; ++cell) {
      const BucketNumber next = geometry.other(bucket, signature_of(tile.entry(cells, cell)));
      if (at >= 2 && next == frontier.bucket(frontier.parent(at))) continue;  // where it came from
      frontier.add(next, at, cell);
      memory.prefetch(next);
    }
  }
  return kMostBuckets;
}

/// Moves entries so that a bucket of the key has an empty cell, unless another caller takes that. `moves`: how many there were. False: no
/// bucket within reach has one.
template <class T, class Memory>
HOLDFAST_BOTH bool make_space(const T& tile, const Memory& memory, const Geometry& geometry, const Target& target,
                              unsigned& moves) {
  Frontier frontier;
  unsigned at = find_space(tile, memory, geometry, target, frontier);
  if (at == kMostBuckets) return false;
  while (at >= 2) {  // ends: a parent comes before its children
    const unsigned parent = frontier.parent(at);
    HOLDFAST_ASSERT(parent < at);
    if (!move_entry(tile, memory, geometry, frontier.bucket(parent), frontier.cell(at), frontier.bucket(at))) break;
    ++moves;
    at = parent;
  }
  return true;  // also where other callers were in the way: the moves that were made are good ones, and the caller looks again
}

}  // namespace holdfast::cuckoo
