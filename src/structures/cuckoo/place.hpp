// place.hpp: the control word's changes, and an entry's way into an empty cell. Mega-KV §4.3.2 "preferred cell".
#pragma once

#include "structures/cuckoo/memory.hpp"

namespace holdfast::cuckoo {

/// Replaces the control word of the bucket's group by `change(word)`; returns what it was.
template <class T, class Memory, class Change>
HOLDFAST_BOTH Group update_group(const T& tile, const Memory& memory, BucketNumber bucket, const Change& change) {
  return {tile.once([&] {
    for (;;) {  // ends: it is repeated only if another caller changed the word
      const Group seen = memory.load_group(bucket);
      if (memory.swap_group(bucket, seen, change(seen))) return seen.word;
    }
  })};
}

/// Excludes others that move, replace or erase an entry of this primary bucket, unless one of them is at work. `counts`: and an entry more
/// will lie in its other bucket.
template <class T, class Memory>
HOLDFAST_BOTH bool try_lock(const T& tile, const Memory& memory, BucketNumber bucket, bool counts) {
  return tile.once([&] {
    for (;;) {  // ends: it is repeated only if another caller changed the word
      const Group seen = memory.load_group(bucket);
      if (seen.is_locked(bucket)) return false;
      if (memory.swap_group(bucket, seen, counts ? seen.one_more(bucket).locked(bucket) : seen.locked(bucket))) {
        return true;
      }
    }
  });
}
/// Before the caller, which holds no lock, tries again.
template <class T, class Memory>
HOLDFAST_BOTH void wait_for(const T& tile, const Memory& memory, BucketNumber bucket) {
  tile.once([&] {
    memory.wait(bucket);
    return true;
  });
}
/// `uncounts`: and an entry less lies in its other bucket.
template <class T, class Memory>
HOLDFAST_BOTH void unlock(const T& tile, const Memory& memory, BucketNumber bucket, bool uncounts) {
  update_group(tile, memory, bucket, [=](Group group) {
    return uncounts ? group.one_less(bucket).unlocked(bucket) : group.unlocked(bucket);
  });
}

/// Of the empty cells the first from the preferred one on, which the highest bits of the signature name.
template <unsigned kCells>
HOLDFAST_BOTH constexpr unsigned chosen_cell(LaneMask empty, std::uint32_t signature) {
  static_assert(kCells > 1 && (kCells & (kCells - 1)) == 0);
  const unsigned preferred = static_cast<unsigned>(std::uint64_t{signature} * kCells >> 32);
  const LaneMask from_there = (empty | empty << kCells) >> preferred;
  return (lowest_bit(from_there) + preferred) % kCells;
}

/// Puts the entry into an empty cell of the bucket, if `wanted`. `empty`: the empty cells, as the caller has seen them. False: there is none.
template <class T, class Memory>
HOLDFAST_BOTH bool fill_bucket(const T& tile, const Memory& memory, BucketNumber bucket, std::uint64_t entry,
                               LaneMask empty, bool wanted) {
  bool filled = false, open = wanted && empty != 0;
  while (tile.any(open)) {  // ends: it is repeated only if another caller filled the cell
    if (open) {
      const unsigned cell = chosen_cell<Memory::kCells>(empty, signature_of(entry));
      filled = tile.once([&] { return memory.fill(bucket, cell, entry); });
    }
    open = open && !filled;
    if (!tile.any(open)) break;
    empty = tile.cells_with(memory, bucket, kEmpty, open);
    open = open && empty != 0;
  }
  return filled;
}

/// Puts the entry into its primary bucket, or else into its other one, if `wanted`. False: both are full.
template <class T, class Memory>
HOLDFAST_BOTH bool fill_either(const T& tile, const Memory& memory, const Target& target, std::uint64_t entry,
                               bool wanted) {
  const LaneMask empty = tile.cells_with(memory, target.primary, kEmpty, wanted);
  bool filled = fill_bucket(tile, memory, target.primary, entry, empty, wanted);
  const bool spills = wanted && !filled;
  if (!tile.any(spills)) return filled;
  const LaneMask others = tile.cells_with(memory, target.other, kEmpty, spills);
  const bool counts = spills && others != 0;
  const BucketNumber home = target.primary;
  if (counts) update_group(tile, memory, home, [=](Group group) { return group.one_more(home); });
  filled = fill_bucket(tile, memory, target.other, entry, others, counts) || filled;
  if (counts && !filled) update_group(tile, memory, home, [=](Group group) { return group.one_less(home); });
  return filled;
}

}  // namespace holdfast::cuckoo
