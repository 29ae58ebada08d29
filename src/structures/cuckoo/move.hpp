// move.hpp: moves one entry between its two buckets, so that no search that runs beside misses it, and no change is lost.
//
//   lock       the entry's primary bucket; if the entry leaves it, the entry is counted in the same step
//   look       at the entry again: only a holder of the lock changes or empties a cell in use
//   copy       into an empty cell of its other bucket
//   raise      the version, if the entry returns to its primary bucket
//   clear      the old cell
//   unlock     and if the entry returned, it is no longer counted
//
// A mover holds one lock, and waits for nothing while it holds it: where a bucket is full, it gives up. It gives up too where it finds the
// lock held, after it has waited.
#pragma once

#include "structures/cuckoo/place.hpp"

namespace holdfast::cuckoo {

/// Under the lock of its primary bucket `home`, the steps from the copy to the clear, if `wanted`. False: no cell is empty there.
template <class T, class Memory>
HOLDFAST_BOTH bool copy_and_clear(const T& tile, const Memory& memory, std::uint64_t entry, BucketNumber from,
                                  unsigned cell, BucketNumber to, BucketNumber home, bool wanted) {
  const bool returns = to == home, clears_late = memory.keeps(Step::copy_before_clear);
  const auto clear = [&] {
    tile.once([&] {
      memory.store(from, cell, kEmpty);
      return true;
    });
  };
  const auto raise = [&] {
    if (returns) update_group(tile, memory, home, [](Group group) { return group.raised(); });
  };
  if (wanted && !clears_late) clear();
  const LaneMask empty = tile.cells_with(memory, to, kEmpty, wanted);
  const bool copied = fill_bucket(tile, memory, to, entry, empty, wanted);
  if (!copied) return false;
  if (memory.keeps(Step::raise_version) && memory.keeps(Step::raise_before_clear)) raise();
  if (clears_late) clear();
  if (memory.keeps(Step::raise_version) && !memory.keeps(Step::raise_before_clear)) raise();
  return true;
}

/// Moves the entry of a cell to bucket `to`, if `wanted`. True: the cell was emptied, or was empty. False: it holds another entry, which does
/// not belong into `to`; or its lock was held; or `to` is full.
template <class T, class Memory>
HOLDFAST_BOTH bool move_entry(const T& tile, const Memory& memory, const Geometry& geometry, BucketNumber from,
                              unsigned cell, BucketNumber to, bool wanted = true) {
  const std::uint64_t entry = wanted ? tile.once([&] { return memory.load_cell(from, cell); }) : kEmpty;
  const BucketNumber home = geometry.primary_of(from, signature_of(entry));
  const bool leaves = home == from;
  const bool counts_first = memory.keeps(Step::count_before_copy);
  bool locked = entry != kEmpty && geometry.other(from, signature_of(entry)) == to;
  if (!memory.keeps(Step::lock_moves)) {
    if (locked && leaves && counts_first) {
      update_group(tile, memory, home, [=](Group group) { return group.one_more(home); });
    }
  } else if (locked && !try_lock(tile, memory, home, leaves && counts_first)) {
    wait_for(tile, memory, home);
    locked = false;
  }

  bool moved = locked;
  if (locked && memory.keeps(Step::load_under_lock)) {
    moved = tile.once([&] { return memory.load_cell(from, cell); }) == entry;
  }
  if (locked && !leaves && !memory.keeps(Step::uncount_after_clear)) {
    update_group(tile, memory, home, [=](Group group) { return group.one_less(home); });
  }
  moved = copy_and_clear(tile, memory, entry, from, cell, to, home, moved);
  if (leaves && moved && !counts_first) {
    update_group(tile, memory, home, [=](Group group) { return group.one_more(home); });
  }
  // The count that was taken at first is given back where the entry did not leave, or has returned.
  const bool uncounts = leaves ? !moved && counts_first : moved && memory.keeps(Step::uncount_after_clear);
  if (locked) unlock(tile, memory, home, uncounts);
  return moved || (wanted && entry == kEmpty);
}

}  // namespace holdfast::cuckoo
