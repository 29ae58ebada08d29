// failpoints.cpp: the names of failpoints, as results give them.
#include "failpoints.hpp"

#include <iterator>

namespace holdfast::test::kill {
namespace {

constexpr const char* kNames[] = {
    "none",
    "value_placed",
    "slot_half_written",
    "value_before_key",
    "wide_key_half_written",
    "key_before_fingerprint",
    "slot_committed",
    "word_swapped",
    "slot_half_cleared",
    "slot_cleared",
    "slab_entered",
    "move_copied",
    "move_cleared",
    "level_allocated",
    "level_added",
    "rehash_copied",
    "rehash_cleared",
    "level_drained",
    "level_released",
    "phase_placed",
    "phase_half_written",
    "phase_half_done",
    "phase_committed",
    "heap_allocated",
    "directory_written",
    "copy_half_written",
    "mark_cleared",
    "synced_without_mark",
    "pool_unnamed",
    "level_emptied",
    "snapshot_headless",
    "snapshot_unnamed",
    "name_given",
    "torn_half_cleared",
    "copy_dropped",
    "state_withdrawn",
    "state_copied",
    "state_filled",
    "state_switched",
    "entry_stored",
    "tail_stored",
    "log_half_cleared",
    "flag_raised",
    "update_half_written",
    "location_updated",
    "flag_cleared",
    "location_undone",
    "batch_undone",
};
static_assert(std::size(kNames) == kFailpoints);

}  // namespace

const char* name_of(Failpoint at) { return kNames[static_cast<unsigned>(at)]; }

RecoveryFailpoints list(std::initializer_list<Failpoint> some) {
  RecoveryFailpoints all;
  for (const Failpoint at : some) all.at[all.size++] = at;
  return all;
}

}  // namespace holdfast::test::kill
