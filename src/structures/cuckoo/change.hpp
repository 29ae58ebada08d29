// change.hpp: exchange and erase. The caller holds the claim of its key, so no other thread changes this key's entry; but other keys, also such
// with the same signature and buckets, change beside it, and other callers move its entry. docs/internals/cuckoo.md, "Changes".
//
//   insert     an empty cell is filled by compare-and-swap: no lock
//   replace    under the lock of the primary bucket: the cell with signature and old location gets the new location
//   erase      under the same lock: that cell is emptied, and if it was in the other bucket, counted no more
#pragma once

#include "structures/cuckoo/displace.hpp"

namespace holdfast::cuckoo {

struct Inserted {
  bool done;
  unsigned moves;  ///< of other entries
};

/// Puts the entry into a cell. `done` is false: none is free within reach. Mega-KV §4.2 "Insert".
template <class T, class Memory>
requires Tile<T, Memory> HOLDFAST_BOTH Inserted insert(const T& tile, const Memory& memory, const Geometry& geometry,
                                                       Hash hash, Location location) {
  const Target target(geometry, hash);
  const std::uint64_t entry = entry_of(target.signature, location);
  Inserted inserted{false, 0};
  for (;;) {  // ends: it is repeated more than once only if other callers changed these buckets or held a lock
    inserted.done = fill_either(tile, memory, target, entry);
    if (inserted.done || !make_space(tile, memory, geometry, target, inserted.moves)) return inserted;
  }
}

/// A cell in one of a key's buckets.
struct Place {
  bool found;
  bool is_other;  ///< in the other bucket
  BucketNumber bucket;
  unsigned cell;
};

template <class T, class Memory>
HOLDFAST_BOTH Place find_in(const T& tile, const Memory& memory, BucketNumber bucket, std::uint64_t entry) {
  const auto cells = tile.load(memory, bucket);
  LaneMask hits = tile.matches(cells, signature_of(entry));
  for (; hits != 0; hits &= hits - 1) {
    if (tile.entry(cells, lowest_bit(hits)) == entry) return {true, false, bucket, lowest_bit(hits)};
  }
  return {false, false, 0, 0};
}

/// Writes `next` over the cell that holds `entry`, or empties it.
template <class T, class Memory>
HOLDFAST_BOTH bool overwrite(const T& tile, const Memory& memory, const Target& target, std::uint64_t entry,
                             std::uint64_t next) {
  const BucketNumber home = target.primary;
  const bool locks = Memory::kChangeBesideMoves && memory.keeps(Step::lock_changes);
  while (locks && !try_lock(tile, memory, home, false))
    wait_for(tile, memory, home);  // ends: a holder waits for nothing
  Place place = find_in(tile, memory, home, entry);
  if (!place.found && load_group(tile, memory, home).spilled(home) != 0) {
    place = find_in(tile, memory, target.other, entry);
    place.is_other = true;
  }
  if (place.found) {
    tile.once([&] {
      memory.store(place.bucket, place.cell, next);
      return true;
    });
  }
  const bool uncounts = place.found && place.is_other && next == kEmpty;
  if (locks || uncounts) unlock(tile, memory, home, uncounts);
  return place.found;
}

/// Replaces the location `old` of the key by `location`. False: the index has no such entry.
template <class T, class Memory>
requires Tile<T, Memory> HOLDFAST_BOTH bool replace(const T& tile, const Memory& memory, const Geometry& geometry,
                                                    Hash hash, Location old, Location location) {
  const Target target(geometry, hash);
  return overwrite(tile, memory, target, entry_of(target.signature, old), entry_of(target.signature, location));
}

/// Empties the cell that holds `location` for the key. False: the index has no such entry.
template <class T, class Memory>
requires Tile<T, Memory> HOLDFAST_BOTH bool erase(const T& tile, const Memory& memory, const Geometry& geometry,
                                                  Hash hash, Location location) {
  const Target target(geometry, hash);
  return overwrite(tile, memory, target, entry_of(target.signature, location), kEmpty);
}

}  // namespace holdfast::cuckoo
