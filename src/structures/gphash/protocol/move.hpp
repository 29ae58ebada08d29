// move.hpp: a full insert moves one item to another of that item's own candidates, and takes its slot. Rule 26.
//
//   claim the moved key   volatile   no other change to it meanwhile
//   copy                  durable    same word, in an empty candidate slot; published
//   raise                 volatile   searches that looked before the copy was there look again
//   clear                 durable    the old slot; it frees no cell and stays claimed for the insert
//   raise                 volatile   searches that read the old slot look again, before it is filled
//
// A crash between copy and clear leaves two equal copies; recovery drops one.
#pragma once

#include <cstdint>

#include "core/both.hpp"
#include "core/failpoint.hpp"
#include "structures/gphash/protocol/address.hpp"
#include "structures/gphash/protocol/claim.hpp"
#include "structures/gphash/protocol/commit.hpp"
#include "structures/gphash/protocol/find.hpp"
#include "structures/gphash/protocol/mutant.hpp"
#include "structures/gphash/protocol/tile_concept.hpp"

namespace holdfast::gphash {

/// Moves the item in `lane` of `candidates` away, if it is published and has an empty candidate slot. True: it is gone,
/// and the caller holds its slot. `busy` if it could go, and another thread holds its key, or had, and has changed it.
template <class Memory, class Shape, SlotTile<Memory, Shape> Tile>
HOLDFAST_BOTH bool move_away(const Tile& tile, const Memory& memory, const View<Shape>& view,
                             const Candidates<Shape>& candidates, unsigned lane, bool& busy) {
  Slot* const slot = candidates.slot(view, lane);
  const std::uint64_t key = tile.once([&] { return memory.load(&slot->key); });
  if (key == 0) return false;
  std::uint64_t word = 0;
  if (!ItemKindOf<Shape>::load_word_to_move(tile, memory, slot, word)) return false;
  const Candidates<Shape> moved(view, slot_key(view, slot, key, word));
  {
    const auto tags = tile.load_tags(memory, view, moved);
    if ((tile.match(view, moved, tags, kTagEmpty) & moved.distinct(view)) == 0) return false;
  }
  // Two keys of one version lock share a claim, which the caller then holds already.
  const bool shared = moved.version_lock(view) == candidates.version_lock(view);
  const bool claims = !shared && memory.keeps(Step::claim_moved_key);
  const auto note_busy = [&] {
    busy |= memory.keeps(Step::retry_held_move);
    if constexpr (SeesAttempts<Memory>) memory.note_held_move(moved.version_lock(view));
  };
  if (claims && !tile.once([&] { return try_claim(memory, moved.version_lock(view)); })) return note_busy(), false;
  // Until the claim the item may have left, or the slot may hold another whose key is not this one.
  const Item item = find_claimed(tile, memory, view, moved);
  bool overtaken = item.slot != slot;
  const unsigned target = overtaken ? kNoLane : claim_empty(tile, memory, view, moved, overtaken);
  if (overtaken) note_busy();
  if (target != kNoLane) {
    const bool publish_first = memory.keeps(Step::publish_copy_before_clear);
    tile.once([&] {
      write_slot(memory, view, moved.slot(view, target), moved, item.word, Step::fence_after_copy);
      HOLDFAST_FAILPOINT(move_copied);
      const auto publish = [&] {
        retag(memory, moved.tag_word(view, target), moved.slot_in_bucket(view, target), kTagClaimed, moved.tag());
      };
      if (publish_first) publish();
      if (memory.keeps(Step::raise_before_move_clear)) raise(memory, moved.version_lock(view));
      clear_slot(memory, view, slot, Step::fence_after_move_clear);
      HOLDFAST_FAILPOINT(move_cleared);
      if (memory.keeps(Step::raise_after_move_clear)) raise(memory, moved.version_lock(view));
      if (!publish_first) publish();
      retag(memory, candidates.tag_word(view, lane), candidates.slot_in_bucket(view, lane), moved.tag(), kTagClaimed);
      return 0;
    });
    memory.note_move(slot, moved.slot(view, target));
  }
  if (claims) tile.once([&] { return release(memory, moved.version_lock(view)), 0; });
  return target != kNoLane;
}

/// A slot for a key all of whose candidates are taken, by moving one item. kNoLane if none can move; `busy` if one could, but for
/// others who are at its key: this thread does not wait for them here, with a claim in hand. The caller releases its own and begins again.
template <class Memory, class Shape, SlotTile<Memory, Shape> Tile>
HOLDFAST_BOTH unsigned claim_by_moving(const Tile& tile, const Memory& memory, const View<Shape>& view,
                                       const Candidates<Shape>& candidates, bool& busy) {
  if (!view.may_move || candidates.is_reserved()) return kNoLane;
  for (LaneMask left = candidates.distinct(view); left != 0; left &= left - 1) {
    const unsigned lane = lowest_bit(left);
    if (move_away(tile, memory, view, candidates, lane, busy)) return lane;
  }
  return kNoLane;
}

}  // namespace holdfast::gphash
