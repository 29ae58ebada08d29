// mutant.hpp: each step of the protocol that the model can leave out, to show that its tests would notice. Rule 25.
#pragma once

#include <cstdint>

namespace holdfast::gphash {

/// Shipping machines keep every step: their `Memory::keeps` is a constant true. docs/evidence.md has the table.
enum class Step : std::uint8_t {
  claim_key,                     ///< hold the key while changing it (rule 1)
  fence_after_place,             ///< the value is durable before the slot names its cell
  order_value_before_key,        ///< in-slot values: the value word is durable before the key word (rule 3)
  order_key_before_fingerprint,  ///< wide keys: key and word are durable before the fingerprint (rule 3)
  fence_after_commit,            ///< the slot is durable before it is published
  publish_after_commit,          ///< the tag is published after the commit, not before
  fence_after_update,            ///< the new word is durable before the claim ends
  fence_after_erase,             ///< the zeroes are durable before the slot is free
  clear_word_before_key,         ///< erase zeroes both words
  raise_after_erase,             ///< a search that read a slot before it was erased looks again
  fence_after_copy,              ///< a moved item's copy is durable before the old slot is cleared
  publish_copy_before_clear,     ///< and visible
  raise_before_move_clear,       ///< a search that looked before the copy was there looks again
  raise_after_move_clear,        ///< and so does one that read the old slot before it was cleared
  claim_moved_key,               ///< the mover holds the moved key too
  retry_held_move,               ///< an insert that could move only what others hold begins again
  fence_after_move_clear,        ///< the cleared slot is durable before it is taken
  look_again,                    ///< a search whose version lock changed looks again
  published_only,                ///< a search under a claim answers only what others can see too
  reader_flush,                  ///< a reader under a claim makes durable what it saw (rule 11)
  flush_value,                   ///< values are written back
  flush_slot,                    ///< slots are written back
  flush_wide_key,                ///< and so is what stands behind a fingerprint, before that is written
  flush_group_values,            ///< the values of a group of inserts are written back, every line (added_group.hpp)
  fence_group_values,            ///< and durable before a slot names one of their cells
  flush_group_slots,             ///< its slots are written back, every line
  fence_group_slots,             ///< and durable before any is published
  settle_before_search,          ///< a search among changes sees the inserts before it
  settle_before_retry,           ///< a thread holds no keys while it waits for another
  retire_cell,                   ///< a freed cell is not reused until no reader can see it (rule 5)
  clear_torn_slots,              ///< recovery empties half-written slots
  drop_second_copies,            ///< recovery removes the second copy of an interrupted move
  finish_resize,                 ///< recovery finishes an interrupted resize
  flush_rehash_copies,           ///< every line of rehashed items is written back
  fence_after_rehash_copy,       ///< and durable above before the level below is released
  fence_superblock_copy,         ///< one copy of the superblock is durable before the other is written (rule 20)
  find_before_rehash,            ///< a rehash that was interrupted does not copy an item twice
  hide_word,                     ///< the copy of an emptied slot is zero in both words, as the slot is (phases.hpp)
  fence_behind_fingerprints,     ///< in phases: keys and words are durable before any fingerprint of the batch
  commit_all_of_line,            ///< a line carries every change that its batch has for it
  claim_in_phases,               ///< and where readers look into the pool, its keys are claimed until all are shown
  flush_directory,               ///< a slab's class is written back (slab.hpp)
  fence_directory,               ///< and durable before a thread has a cell of the slab
  score_before_commit,           ///< a score is in its cell before a slot names the cell
  fence_before_load,             ///< a loader looks at what it copies after it has said so (rule 15)
  swap_after_load,               ///< and shows its copy only if no change has written there meanwhile
  remap_after_write,             ///< a writer looks whether what it wrote is cached, or being loaded
  end_load_after_write,          ///< and lets no load of an older state come to its end
  look_at_map_again,             ///< a reader of what changes makes sure that no older copy is shown to others
  forget_before_change,          ///< a change takes what searches know of its key, before it writes (key_directory.hpp)
  fence_before_forgetting,       ///< and looks where the copy is after its claim can be seen
  fence_before_version_lock,     ///< a search looks for a claim after it has read what it is to confirm
  confirm_unclaimed,             ///< and confirms nothing under a claim
  count
};

}  // namespace holdfast::gphash
