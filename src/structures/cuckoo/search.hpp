// search.hpp: the locations that a signature leads to. A search takes no lock and changes nothing. Mega-KV §4.2 "Search".
//
//   read the version ─► primary bucket ─► control word ─► other bucket, if entries of the primary bucket lie in other buckets
//         ▲                                                   │
//         └────── an entry returned to its primary bucket ◄───┴─► nothing found, version unchanged: the key was absent
//
// An entry that moves from its primary to its other bucket is counted, copied and then cleared: a search that reads the primary bucket too
// late to see it reads the count and the other bucket later still. An entry that returns is copied, the version rises, and it is cleared: a
// search that reads the primary bucket too early and the other bucket too late sees another version, and begins again.
#pragma once

#include "structures/cuckoo/memory.hpp"

namespace holdfast::cuckoo {

/// Entries with one signature, in both buckets of a key.
inline constexpr unsigned kMostCandidates = 16;

/// The first location with the key's signature; kNone is final. The caller compares keys, and asks `candidates` if they differ.
template <class T, class Memory>
requires Tile<T, Memory> HOLDFAST_BOTH Location search(const T& tile, const Memory& memory, const Geometry& geometry,
                                                       Hash hash) {
  const Target target(geometry, hash);
  for (;;) {  // ends: it is repeated only if an entry returned to its primary bucket meanwhile
    Group before{};
    if constexpr (Memory::kSearchBesideChanges) before = load_group(tile, memory, target.primary);
    const auto cells = tile.load(memory, target.primary);
    if (const LaneMask hits = tile.matches(cells, target.signature); hits != 0) {
      return location_of(tile.entry(cells, lowest_bit(hits)));
    }
    Group after = load_group(tile, memory, target.primary);
    if (after.spilled(target.primary) != 0) {
      const auto others = tile.load(memory, target.other);
      if (const LaneMask hits = tile.matches(others, target.signature); hits != 0) {
        return location_of(tile.entry(others, lowest_bit(hits)));
      }
      if constexpr (Memory::kSearchBesideChanges) after = load_group(tile, memory, target.primary);
    }
    if constexpr (!Memory::kSearchBesideChanges) return kNone;
    if (before.version() == after.version() || !memory.keeps(Step::compare_versions)) return kNone;
  }
}

/// Adds the locations of the cells in `hits` to `found`, which has `size`. While an entry moves both its cells hold it: once is enough.
template <class T, class Cells>
HOLDFAST_BOTH unsigned add_candidates(const T& tile, const Cells& cells, LaneMask hits, Location* found,
                                      unsigned size) {
  for (; hits != 0; hits &= hits - 1) {
    const Location location = location_of(tile.entry(cells, lowest_bit(hits)));
    bool is_new = size < kMostCandidates;
    for (unsigned i = 0; i < size; ++i) is_new = is_new && found[i] != location;
    if (is_new) found[size++] = location;
  }
  return size;
}

/// Writes all locations with the key's signature to `found`, which has space for kMostCandidates, and returns how many they are. An entry
/// that is in the index throughout the call is among them.
template <class T, class Memory>
requires Tile<T, Memory> HOLDFAST_BOTH unsigned candidates(const T& tile, const Memory& memory,
                                                           const Geometry& geometry, Hash hash, Location* found) {
  const Target target(geometry, hash);
  for (;;) {  // ends: as above
    const Group before = load_group(tile, memory, target.primary);
    const auto cells = tile.load(memory, target.primary);
    unsigned size = add_candidates(tile, cells, tile.matches(cells, target.signature), found, 0);
    Group after = load_group(tile, memory, target.primary);
    if (after.spilled(target.primary) != 0) {
      const auto others = tile.load(memory, target.other);
      size = add_candidates(tile, others, tile.matches(others, target.signature), found, size);
      after = load_group(tile, memory, target.primary);
    }
    if (before.version() == after.version() || !memory.keeps(Step::compare_versions)) return size;
  }
}

}  // namespace holdfast::cuckoo
