// recover.hpp: rebuilds what is volatile from what is durable, and mends what a crash left. GPHash §3.2.3 "Recovery".
//
// In order: every slot of the addressed levels is read, half-written ones are emptied and the tags are built; an interrupted
// resize is finished (rehash.hpp); of two copies of one item, which an interrupted move leaves, one is dropped. Each step
// only repeats work if recovery itself is killed and run again. It runs alone on the table.
#pragma once

#include <cstdint>

#include "core/both.hpp"
#include "index/address.hpp"
#include "index/commit.hpp"
#include "index/find.hpp"
#include "index/mutant.hpp"

namespace holdfast::index {

enum class SlotState : std::uint8_t {
  empty,
  occupied,
  torn,       ///< half-written by an insert or an erase that was never acknowledged
  misplaced,  ///< occupied by a key that does not belong in this bucket: damage
  no_cell     ///< names a cell that the heap does not have: damage
};

/// What slot `slot` of a bucket holds. Reads only. `key` and `word` return its words.
template <class Memory, class Shape>
HOLDFAST_BOTH SlotState inspect_slot(const Memory& memory, const View<Shape>& view, unsigned rank, std::uint64_t bucket,
                                     const Slot* slot, std::uint64_t& key, std::uint64_t& word, std::uint8_t& tag) {
  key = memory.load(&slot->key);
  word = memory.load(&slot->word);
  if (key == 0 && (word == 0 || view.in_slot())) return SlotState::empty;
  if (!view.in_slot()) {
    if (key == 0 || word == 0) return SlotState::torn;
    if (word - 1 >= view.cells) return SlotState::no_cell;
  }
  const Candidates<Shape> candidates(view, key);
  tag = candidates.tag();
  for (unsigned j = 0; j < view.shape.hashes(); ++j) {
    if (candidates.bucket(view, rank, j) == bucket) return SlotState::occupied;
  }
  return SlotState::misplaced;
}

/// The same for the aside slot, whose key word says only that the reserved key is there.
template <class Memory, class Shape>
HOLDFAST_BOTH SlotState inspect_aside(const Memory& memory, const View<Shape>& view, std::uint64_t& word) {
  const std::uint64_t key = memory.load(&view.aside->key);
  word = memory.load(&view.aside->word);
  if (key == 0 && (word == 0 || view.in_slot())) return SlotState::empty;
  if (key != kAsideKey && key != 0) return SlotState::misplaced;
  if (!view.in_slot()) {
    if (key == 0 || word == 0) return SlotState::torn;
    if (word - 1 >= view.cells) return SlotState::no_cell;
  }
  return SlotState::occupied;
}

/// Durably empties a half-written slot.
template <class Memory>
HOLDFAST_BOTH void clear_torn(const Memory& memory, Slot* slot) {
  if (!memory.keeps(Step::clear_torn_slots)) return;
  memory.store(&slot->word, 0);
  memory.store(&slot->key, 0);
  memory.flush(slot, sizeof(Slot));
  memory.fence();
  memory.hide(slot);
}

/// True if `slot`, which is occupied by `key` at lane order `own`, is the second of two copies: a copy stands in a lane before
/// it. Reads tags, and slots only where a tag matches.
template <class Tile, class Memory, class Shape>
HOLDFAST_BOTH bool is_second_copy(const Tile& tile, const Memory& memory, const View<Shape>& view,
                                  const Candidates<Shape>& candidates, const Slot* slot) {
  const auto tags = tile.load_tags(memory, view, candidates);
  for (LaneMask hits = tile.match(view, candidates, tags, candidates.tag()); hits != 0; hits &= hits - 1) {
    const Slot* const other = candidates.slot(view, lowest_bit(hits));
    if (other == slot) return false;
    if (memory.load(&other->key) == candidates.stored_key() && (view.in_slot() || memory.load(&other->word) != 0)) {
      return true;
    }
  }
  return false;
}

/// Durably drops the second copy of an item. It frees no cell: the first copy names it (RULES.md 5).
template <class Memory, class Shape>
HOLDFAST_BOTH void drop_second_copy(const Memory& memory, const View<Shape>& view, const Candidates<Shape>& candidates,
                                    unsigned lane) {
  if (!memory.keeps(Step::drop_second_copies)) return;
  clear_slot(memory, view, candidates.slot(view, lane), Step::fence_after_move_clear);
  retag(memory, candidates.tag_word(view, lane), candidates.slot_in_bucket(view, lane), candidates.tag(), kTagEmpty);
}

}  // namespace holdfast::index
