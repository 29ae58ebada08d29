// commit.hpp: the durable writes of one slot, in the only orders that survive a crash at any point. Rule 3.
//
//   claim    volatile   the key, then an empty slot in the least loaded candidate bucket
//   place    durable    the value in a fresh cell
//   commit   durable    the slot, by one write that a torn store leaves visibly empty; with wide keys all but the
//                       fingerprint, and then that
//   publish  volatile   the slot to readers, by its tag; the claim on the key ends
//
// A machine may keep copies of slots for readers (GPHash §3.3). They change when the slot is durable and not before:
// `memory.show`, `show_word` and `hide` come after the fence.
//
// All lanes of a tile call together; `tile.once` lets one of them act.
#pragma once

#include <cstdint>

#include "core/both.hpp"
#include "core/failpoint.hpp"
#include "structures/gphash/protocol/address.hpp"
#include "structures/gphash/protocol/claim.hpp"
#include "structures/gphash/protocol/memory_concept.hpp"
#include "structures/gphash/protocol/mutant.hpp"
#include "structures/gphash/protocol/tile_concept.hpp"

namespace holdfast::gphash {

/// The two words that every slot has.
template <SlotMemory Memory>
HOLDFAST_BOTH void flush_slot(const Memory& memory, const Slot* slot) {
  if (memory.keeps(Step::flush_slot)) memory.flush(slot, sizeof(Slot));
}

/// Takes a slot that is durably empty from readers of its copy, which equals the slot in both words: a value in the slot stays.
template <SlotMemory Memory, class Shape>
HOLDFAST_BOTH void hide_slot(const Memory& memory, const View<Shape>& view, Slot* slot) {
  memory.hide(slot);
  if (!view.key_decides() && memory.keeps(Step::hide_word)) memory.show_word(slot, 0);
}

/// Shows a slot that is durable to readers of its copy.
template <SlotMemory Memory, class Shape>
HOLDFAST_BOTH void show_slot(const Memory& memory, const View<Shape>& view, Slot* slot,
                             const Candidates<Shape>& candidates, std::uint64_t word) {
  if (view.wide()) {
    const auto word_of_key = [&](unsigned i) { return candidates.key_word(memory, i); };
    memory.show_words(wide_key(slot), view.key_words(), word_of_key);
  }
  memory.show(slot, candidates.stored_key(), word);
}

/// What must be durable before a wide slot's fingerprint is written, which makes it count.
template <SlotMemory Memory, class Shape>
HOLDFAST_BOTH void write_behind_fingerprint(const Memory& memory, const View<Shape>& view, Slot* slot,
                                            const Candidates<Shape>& candidates, std::uint64_t word) {
  const auto behind = [&](unsigned i) { return i == 0 ? word : candidates.key_word(memory, i - 1); };
  memory.store_words(&slot->word, 1 + view.key_words(), behind);
  if (memory.keeps(Step::flush_wide_key)) memory.flush(&slot->word, view.slot_bytes() - sizeof(slot->key));
}

/// Writes key and word into an empty slot of two words that the caller holds. They are durable after flush_slot and a fence.
template <SlotMemory Memory, class Shape>
HOLDFAST_BOTH void store_narrow_item(const Memory& memory, const View<Shape>& view, Slot* slot, std::uint64_t key,
                                     std::uint64_t word) {
  if (view.in_slot()) {
    // The key word alone decides, so the value goes first.
    if (memory.keeps(Step::order_value_before_key)) {
      memory.store(&slot->word, word);
      memory.order(slot);
      HOLDFAST_FAILPOINT(value_before_key);
      memory.store(&slot->key, key);
    } else {
      memory.store(&slot->key, key);
      memory.order(slot);
      memory.store(&slot->word, word);
    }
  } else {
    memory.store_pair(slot, key, word);
  }
}

/// The same of any slot.
template <SlotMemory Memory, class Shape>
HOLDFAST_BOTH void store_item(const Memory& memory, const View<Shape>& view, Slot* slot,
                              const Candidates<Shape>& candidates, std::uint64_t word) {
  const std::uint64_t key = candidates.stored_key();
  if (!view.wide()) return store_narrow_item(memory, view, slot, key, word);
  write_behind_fingerprint(memory, view, slot, candidates, word);
  if (memory.keeps(Step::order_key_before_fingerprint)) memory.fence();
  HOLDFAST_FAILPOINT(key_before_fingerprint);
  memory.store(&slot->key, key);
}

/// The same, and waits until they are durable.
template <SlotMemory Memory, class Shape>
HOLDFAST_BOTH void write_slot(const Memory& memory, const View<Shape>& view, Slot* slot,
                              const Candidates<Shape>& candidates, std::uint64_t word, Step fence) {
  store_item(memory, view, slot, candidates, word);
  flush_slot(memory, slot);
  if (memory.keeps(fence)) memory.fence();
  show_slot(memory, view, slot, candidates, word);
}

/// Replaces the word of an item whose key the caller holds, and waits until it is durable.
template <SlotMemory Memory>
HOLDFAST_BOTH void swap_word(const Memory& memory, Slot* slot, std::uint64_t word) {
  memory.store(&slot->word, word);
  flush_slot(memory, slot);
  if (memory.keeps(Step::fence_after_update)) memory.fence();
  memory.show_word(slot, word);
}

/// Empties a slot that the caller holds, and waits until that is durable. Before a thread fills it again, its key's
/// version lock is raised.
template <SlotMemory Memory, class Shape>
HOLDFAST_BOTH void clear_slot(const Memory& memory, const View<Shape>& view, Slot* slot, Step fence) {
  if (!view.key_decides() && memory.keeps(Step::clear_word_before_key)) {
    memory.store(&slot->word, 0);
    HOLDFAST_FAILPOINT(slot_half_cleared);
  }
  memory.store(&slot->key, 0);
  flush_slot(memory, slot);
  if (memory.keeps(fence)) memory.fence();
  hide_slot(memory, view, slot);
}

/// Writes an item into lane `lane`, which the caller has claimed, and publishes it.
template <class Memory, class Shape, SlotTile<Memory, Shape> Tile>
HOLDFAST_BOTH void commit_and_publish(const Tile& tile, const Memory& memory, const View<Shape>& view,
                                      const Candidates<Shape>& candidates, unsigned lane, std::uint64_t word,
                                      Step fence) {
  tile.once([&] {
    Slot* const slot = candidates.slot(view, lane);
    std::uint64_t* const tag_word = candidates.tag_word(view, lane);
    const unsigned in_bucket = candidates.slot_in_bucket(view, lane);
    const bool late = memory.keeps(Step::publish_after_commit);
    if (!late) retag(memory, tag_word, in_bucket, kTagClaimed, candidates.tag());
    write_slot(memory, view, slot, candidates, word, fence);
    HOLDFAST_FAILPOINT(slot_committed);
    if (late) retag(memory, tag_word, in_bucket, kTagClaimed, candidates.tag());
    return 0;
  });
}

inline constexpr int kSlotTries = 64;
inline constexpr unsigned kNoLane = ~0u;

/// Claims the empty candidate slot that choose(empty, claimed) names, by the lanes that are empty and, with `kLines`, those that are
/// claimed. kNoLane if none is empty; `busy` if others kept winning.
template <bool kLines, class Memory, class Shape, SlotTile<Memory, Shape> Tile, class Choose>
HOLDFAST_BOTH unsigned claim_chosen(const Tile& tile, const Memory& memory, const View<Shape>& view,
                                    const Candidates<Shape>& candidates, bool& busy, const Choose& choose) {
  const LaneMask distinct = candidates.distinct(view);
  for (int i = 0; i < kSlotTries; ++i) {
    const auto tags = tile.load_tags(memory, view, candidates);
    const LaneMask empty = tile.match(view, candidates, tags, kTagEmpty) & distinct;
    if (empty == 0) return kNoLane;
    const LaneMask claimed = kLines && !view.wide() ? tile.match(view, candidates, tags, kTagClaimed) & distinct : 0;
    const unsigned lane = choose(empty, claimed);
    const bool won = tile.once(
        [&] { return claim_tag(memory, candidates.tag_word(view, lane), candidates.slot_in_bucket(view, lane)); });
    if (won) return lane;
  }
  busy = true;
  return kNoLane;
}

/// Claims an empty candidate slot in the least loaded bucket; `kLines`: for a batch that writes whole lines.
template <bool kLines = false, class Memory, class Shape, SlotTile<Memory, Shape> Tile>
HOLDFAST_BOTH unsigned claim_empty(const Tile& tile, const Memory& memory, const View<Shape>& view,
                                   const Candidates<Shape>& candidates, bool& busy) {
  return claim_chosen<kLines>(tile, memory, view, candidates, busy, [&](LaneMask empty, LaneMask claimed) {
    return choose_lane_of_lines(view, candidates, empty, claimed);
  });
}

}  // namespace holdfast::gphash
