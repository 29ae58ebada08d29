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

/// Puts an entry, both of whose buckets the caller has seen full, into a cell, by moving others, if `wanted`. `done` is false: none is free
/// within reach.
template <class T, class Memory>
requires Tile<T, Memory> HOLDFAST_BOTH Inserted insert_by_moves(const T& tile, const Memory& memory,
                                                                const Geometry& geometry, const Target& target,
                                                                std::uint64_t entry, bool wanted = true) {
  Inserted inserted{false, 0};
  bool open = wanted;
  while (tile.any(
      open)) {  // ends: it is repeated more than once only if other callers changed these buckets or held a lock
    const bool space = make_space(tile, memory, geometry, target, inserted.moves, open);
    const bool filled = fill_either(tile, memory, target, entry, space);
    inserted.done = inserted.done || filled;
    open = space && !filled;
  }
  return inserted;
}

/// Puts the entry into a cell. `done` is false: none is free within reach. Mega-KV §4.2 "Insert".
template <class T, class Memory>
requires Tile<T, Memory> HOLDFAST_BOTH Inserted insert(const T& tile, const Memory& memory, const Geometry& geometry,
                                                       const Target& target, Location location) {
  const std::uint64_t entry = entry_of(target.signature, location);
  if (fill_either(tile, memory, target, entry, true)) return {true, 0};
  return insert_by_moves(tile, memory, geometry, target, entry);
}

/// Writes `next` over the cell that holds `entry`, or empties it, if `wanted`.
template <class T, class Memory>
HOLDFAST_BOTH bool overwrite(const T& tile, const Memory& memory, const Target& target, std::uint64_t entry,
                             std::uint64_t next, bool wanted) {
  const BucketNumber home = target.primary;
  const bool locks = Memory::kChangeBesideMoves && memory.keeps(Step::lock_changes);
  HOLDFAST_ASSERT(wanted || !locks);
  while (locks && !try_lock(tile, memory, home, false))
    wait_for(tile, memory, home);  // ends: a holder waits for nothing
  BucketNumber bucket = home;
  LaneMask cells = tile.cells_with(memory, home, entry, wanted);
  const bool is_other = wanted && cells == 0 && load_group(tile, memory, home).spilled(home) != 0;
  if (tile.any(is_other)) {
    const LaneMask others = tile.cells_with(memory, target.other, entry, is_other);
    if (is_other) {
      bucket = target.other;
      cells = others;
    }
  }
  const bool found = wanted && cells != 0;
  if (found) {
    tile.once([&] {
      memory.store(bucket, lowest_bit(cells), next);
      return true;
    });
  }
  const bool uncounts = found && is_other && next == kEmpty;
  if (locks || uncounts) unlock(tile, memory, home, uncounts);
  return found;
}

/// Replaces the location `old` of the key by `location`, if `wanted`. False: the index has no such entry.
template <class T, class Memory>
requires Tile<T, Memory> HOLDFAST_BOTH bool replace(const T& tile, const Memory& memory, const Target& target,
                                                    Location old, Location location, bool wanted = true) {
  return overwrite(tile, memory, target, entry_of(target.signature, old), entry_of(target.signature, location), wanted);
}

/// Empties the cell that holds `location` for the key, if `wanted`. False: the index has no such entry.
template <class T, class Memory>
requires Tile<T, Memory> HOLDFAST_BOTH bool erase(const T& tile, const Memory& memory, const Target& target,
                                                  Location location, bool wanted = true) {
  return overwrite(tile, memory, target, entry_of(target.signature, location), kEmpty, wanted);
}

}  // namespace holdfast::cuckoo
