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

/// Under the lock of its primary bucket `home`, the steps from the copy to the clear. False: no cell is empty there.
template <class T, class Memory>
HOLDFAST_BOTH bool copy_and_clear(const T& tile, const Memory& memory, std::uint64_t entry, BucketNumber from,
                                  unsigned cell, BucketNumber to, BucketNumber home) {
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
  if (!clears_late) clear();
  if (!fill_bucket(tile, memory, to, entry)) return false;
  if (memory.keeps(Step::raise_version) && memory.keeps(Step::raise_before_clear)) raise();
  if (clears_late) clear();
  if (memory.keeps(Step::raise_version) && !memory.keeps(Step::raise_before_clear)) raise();
  return true;
}

/// Moves the entry of a cell to bucket `to`. True: the cell was emptied, or was empty. False: it holds another entry, which does not belong
/// into `to`; or its lock was held; or `to` is full.
template <class T, class Memory>
HOLDFAST_BOTH bool move_entry(const T& tile, const Memory& memory, const Geometry& geometry, BucketNumber from,
                              unsigned cell, BucketNumber to) {
  const std::uint64_t entry = tile.once([&] { return memory.load_cell(from, cell); });
  if (entry == kEmpty) return true;
  if (geometry.other(from, signature_of(entry)) != to) return false;
  const BucketNumber home = geometry.primary_of(from, signature_of(entry));
  const bool leaves = home == from;
  const bool counts_first = memory.keeps(Step::count_before_copy);
  if (!memory.keeps(Step::lock_moves)) {
    if (leaves && counts_first) update_group(tile, memory, home, [=](Group group) { return group.one_more(home); });
  } else if (!try_lock(tile, memory, home, leaves && counts_first)) {
    wait_for(tile, memory, home);
    return false;
  }

  bool moved = !memory.keeps(Step::load_under_lock) || tile.once([&] { return memory.load_cell(from, cell); }) == entry;
  if (!leaves && !memory.keeps(Step::uncount_after_clear)) {
    update_group(tile, memory, home, [=](Group group) { return group.one_less(home); });
  }
  moved = moved && copy_and_clear(tile, memory, entry, from, cell, to, home);
  if (leaves && moved && !counts_first) {
    update_group(tile, memory, home, [=](Group group) { return group.one_more(home); });
  }
  // The count that was taken at first is given back where the entry did not leave, or has returned.
  const bool uncounts = leaves ? !moved && counts_first : moved && memory.keeps(Step::uncount_after_clear);
  unlock(tile, memory, home, uncounts);
  return moved;
}

}  // namespace holdfast::cuckoo
