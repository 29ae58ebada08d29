// search.hpp: the locations that a signature leads to. A search takes no lock and changes nothing. Mega-KV §4.2 "Search".
//
//   primary bucket ─► version ─► primary bucket ─► control word ─► other bucket, if entries of the primary bucket lie in other buckets
//     (a hit is         ▲                                              │
//      final)           └── an entry returned to its primary bucket ◄──┴─► nothing found, version unchanged: the key was absent
//
// An entry that moves from its primary to its other bucket is counted, copied and then cleared: a search that reads the primary bucket too
// late to see it reads the count and the other bucket later still. An entry that returns is copied, the version rises, and it is cleared: a
// search that reads the primary bucket too early and the other bucket too late sees another version, and begins again. Most keys are found
// by the first look at the primary bucket, which needs no version.
#pragma once

#include "structures/cuckoo/memory.hpp"

namespace holdfast::cuckoo {

/// Entries with one signature, in both buckets of a key.
inline constexpr unsigned kMostCandidates = 16;

/// Searches for a key that a first look at its primary bucket has not found, if `open`. kNone is final.
template <class T, class Memory>
HOLDFAST_BOTH Location search_after_miss(const T& tile, const Memory& memory, const Target& target, bool open) {
  Location found = kNone;
  while (tile.any(open)) {  // ends: it is repeated only if an entry returned to its primary bucket meanwhile
    Group before{}, after{};
    if constexpr (Memory::kSearchBesideChanges) {
      if (open) before = load_group(tile, memory, target.primary);
      found = tile.location(memory, target.primary, target.signature, open);
      open = open && found == kNone;
    }
    if (open) after = load_group(tile, memory, target.primary);
    const bool spilled = open && after.spilled(target.primary) != 0;
    if (tile.any(spilled)) {
      const Location other = tile.location(memory, target.other, target.signature, spilled);
      if (spilled && other != kNone) {
        found = other;
        open = false;
      } else if (Memory::kSearchBesideChanges && spilled) {
        after = load_group(tile, memory, target.primary);
      }
    }
    const bool same = before.version() == after.version() || !memory.keeps(Step::compare_versions);
    open = open && Memory::kSearchBesideChanges && !same;
  }
  return found;
}

/// The first location with the key's signature; kNone is final. The caller compares keys, and asks `candidates` if they differ.
template <class T, class Memory>
requires Tile<T, Memory> HOLDFAST_BOTH Location search(const T& tile, const Memory& memory, const Target& target,
                                                       bool wanted = true) {
  const Location first = tile.location(memory, target.primary, target.signature, wanted);
  const Location found = search_after_miss(tile, memory, target, wanted && first == kNone);
  return first != kNone ? first : found;
}

/// Adds the locations with the signature to `found`, which has `size`. While an entry moves both its cells hold it: once is enough.
template <unsigned kCells>
HOLDFAST_BOTH unsigned add_candidates(const BucketCells<kCells>& cells, std::uint32_t signature, Location* found,
                                      unsigned size) {
  HOLDFAST_UNROLL
  for (unsigned cell = 0; cell < kCells; ++cell) {
    const Location location = location_of(cells.entries[cell]);
    bool is_new = signature_of(cells.entries[cell]) == signature && size < kMostCandidates;
    for (unsigned i = 0; i < size; ++i) is_new = is_new && found[i] != location;
    if (is_new) found[size++] = location;
  }
  return size;
}

/// Writes all locations with the key's signature to `found`, which has space for kMostCandidates, and returns how many they are. An entry
/// that is in the index throughout the call is among them. For one thread.
template <class Memory>
HOLDFAST_BOTH unsigned candidates(const Memory& memory, const Target& target, Location* found) {
  for (;;) {  // ends: as above
    const Group before = memory.load_group(target.primary);
    unsigned size = add_candidates(memory.load_bucket(target.primary), target.signature, found, 0);
    Group after = memory.load_group(target.primary);
    if (after.spilled(target.primary) != 0) {
      size = add_candidates(memory.load_bucket(target.other), target.signature, found, size);
      after = memory.load_group(target.primary);
    }
    if (before.version() == after.version() || !memory.keeps(Step::compare_versions)) return size;
  }
}

}  // namespace holdfast::cuckoo
