// recover.hpp: rebuilds what is volatile from what is durable, and mends what a crash left. GPHash §3.2.3 "Recovery".
//
// In order: every slot of the addressed levels is read, half-written ones are emptied and the tags are built; an interrupted
// resize is finished (rehash.hpp); of two copies of one item, which an interrupted move leaves, one is dropped. Each step
// only repeats work if recovery itself is killed and run again. It runs alone on the table.
#pragma once

#include <cstdint>

#include "core/both.hpp"
#include "core/failpoint.hpp"
#include "pool/medium/memory_concept.hpp"
#include "structures/gphash/protocol/address.hpp"
#include "structures/gphash/protocol/commit.hpp"
#include "structures/gphash/protocol/find.hpp"
#include "structures/gphash/protocol/memory_concept.hpp"
#include "structures/gphash/protocol/mutant.hpp"

namespace holdfast::gphash {

enum class SlotState : std::uint8_t {
  empty,
  occupied,
  torn,       ///< half-written by an insert or an erase that was never acknowledged
  misplaced,  ///< occupied by a key that does not belong in this bucket, or behind this fingerprint: damage
  no_cell     ///< names a cell that the heap does not have: damage
};

/// What slot `slot` of a bucket holds. Reads only. `key` and `word` return its words.
template <pool::ReadableMemory Memory, class Shape>
HOLDFAST_BOTH SlotState inspect_slot(const Memory& memory, const View<Shape>& view, unsigned rank, std::uint64_t bucket,
                                     const Slot* slot, std::uint64_t& key, std::uint64_t& word, std::uint8_t& tag) {
  key = memory.load(&slot->key);
  word = memory.load(&slot->word);
  if (key == 0 && (word == 0 || view.key_decides())) return SlotState::empty;
  if (!view.in_slot()) {
    if (!view.wide() && (key == 0 || word == 0)) return SlotState::torn;
    if (!ItemKindOf<Shape>::has_cell(memory, view, word)) return SlotState::no_cell;
  }
  if (view.wide() && !has_own_hash(memory, view, slot, key)) return SlotState::misplaced;
  const Candidates<Shape> candidates(view, slot_key(view, slot, key, word));
  tag = candidates.tag();
  for (unsigned j = 0; j < view.shape.hashes(); ++j) {
    if (candidates.bucket(view, rank, j) == bucket) return SlotState::occupied;
  }
  return SlotState::misplaced;
}

/// The same for the reserved slot, whose key word says only that the reserved key is there. No key behind a fingerprint is.
template <pool::ReadableMemory Memory, class Shape>
HOLDFAST_BOTH SlotState inspect_reserved(const Memory& memory, const View<Shape>& view, std::uint64_t& word) {
  word = 0;
  if (view.has_fingerprints()) return SlotState::empty;
  const std::uint64_t key = memory.load(&view.reserved_slot->key);
  word = memory.load(&view.reserved_slot->word);
  if (key == 0 && (word == 0 || view.in_slot())) return SlotState::empty;
  if (key != kReservedKey && key != 0) return SlotState::misplaced;
  if (!view.in_slot()) {
    if (key == 0 || word == 0) return SlotState::torn;
    if (word - 1 >= view.cells) return SlotState::no_cell;
  }
  return SlotState::occupied;
}

/// Durably empties a half-written slot.
template <SlotMemory Memory>
HOLDFAST_BOTH void clear_torn(const Memory& memory, Slot* slot) {
  if (!memory.keeps(Step::clear_torn_slots)) return;
  memory.store(&slot->word, 0);
  HOLDFAST_FAILPOINT(torn_half_cleared);
  memory.store(&slot->key, 0);
  memory.flush(slot, sizeof(Slot));
  memory.fence();
  memory.hide(slot);
  memory.show_word(slot, 0);
}

/// The hash location that leads an item to its place; the first, if several do; hashes() if none does.
template <class Shape>
HOLDFAST_BOTH unsigned location_of(const View<Shape>& view, const Candidates<Shape>& candidates,
                                   const SlotPlace& place) {
  unsigned j = 0;
  while (j < view.shape.hashes() && candidates.bucket(view, place.rank, j) != place.bucket) ++j;
  return j;
}

/// The lanes in which another copy of the item at `place`, of hash location `j`, counts as the first: those of earlier hash
/// locations, and of the same one those before the place. So an item of location 0 asks its own group of tags alone.
template <class Shape>
HOLDFAST_BOTH LaneMask lanes_before(const View<Shape>& view, const SlotPlace& place, unsigned j) {
  const unsigned slots = view.shape.slots();
  LaneMask mask = 0;
  for (unsigned rank = 0; rank < view.shape.levels(); ++rank) {
    for (unsigned i = 0; i < view.shape.hashes(); ++i) {
      const bool whole = i < j || (i == j && rank < place.rank);
      const bool part = i == j && rank == place.rank;
      mask |= lanes(whole ? slots : part ? place.slot : 0) << ((rank * view.shape.hashes() + i) * slots);
    }
  }
  return mask;
}

/// Those of the lanes `asked` whose tags say that the candidates' key may be there. Reads no other lanes' tags.
template <pool::VolatileWords Memory, class Shape>
HOLDFAST_BOTH LaneMask match_lanes(const Memory& memory, const View<Shape>& view, const Candidates<Shape>& candidates,
                                   LaneMask asked) {
  const unsigned slots = view.shape.slots();
  LaneMask hits = 0;
  for (unsigned rank = 0; rank < view.shape.levels(); ++rank) {
    for (unsigned i = 0; i < view.shape.hashes(); ++i) {
      const unsigned lane = (rank * view.shape.hashes() + i) * slots;
      for (unsigned first = 0; first < slots; first += 8) {
        const LaneMask some = asked >> (lane + first) & lanes(slots - first < 8 ? slots - first : 8);
        if (some == 0) continue;
        const std::uint64_t word = memory.peek(candidates.tags(view, rank, i) + first / 8);
        hits |= (match_word(word, candidates.tag()) & some) << (lane + first);
      }
    }
  }
  return hits;
}

/// True if one of the lanes `hits` holds the candidates' key.
template <KeyMemory Memory, class Shape>
HOLDFAST_BOTH bool holds_copy(const Memory& memory, const View<Shape>& view, const Candidates<Shape>& candidates,
                              LaneMask hits) {
  for (; hits != 0; hits &= hits - 1) {
    const Slot* const slot = candidates.slot(view, lowest_bit(hits));
    if (!holds_key(memory, view, candidates, slot)) continue;
    if (view.key_decides() || memory.load(&slot->word) != 0) return true;
  }
  return false;
}

/// Durably drops the second copy of an item. It frees no cell: the first copy names it (rule 5).
template <SlotMemory Memory, class Shape>
HOLDFAST_BOTH void drop_second_copy(const Memory& memory, const View<Shape>& view, const Candidates<Shape>& candidates,
                                    const SlotPlace& place, unsigned j) {
  if (!memory.keeps(Step::drop_second_copies)) return;
  clear_slot(memory, view, view.slot(place.rank, place.bucket, place.slot), Step::fence_after_move_clear);
  HOLDFAST_FAILPOINT(copy_dropped);
  retag(memory, candidates.tags(view, place.rank, j) + place.slot / 8, place.slot, candidates.tag(), kTagEmpty);
}

}  // namespace holdfast::gphash
