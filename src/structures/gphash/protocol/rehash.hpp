// rehash.hpp: takes the items of a drained level into the levels above it. GPHash §3.2.3 "Resizing", rule 17.
//
// The drained level is no longer addressed: the view has the new top level and not the old bottom. Each item is copied up,
// durably, and only then cleared below, so a crash leaves it in one place or in both; the thread that continues finds it above and
// clears what is left. No other operation runs on the table meanwhile; tiles of the same resize do, on other items.
#pragma once

#include <cstdint>

#include "core/both.hpp"
#include "core/failpoint.hpp"
#include "pool/medium/memory_concept.hpp"
#include "structures/gphash/protocol/commit.hpp"
#include "structures/gphash/protocol/find.hpp"
#include "structures/gphash/protocol/move.hpp"
#include "structures/gphash/protocol/tile_concept.hpp"

namespace holdfast::gphash {

enum class Rehashed : std::uint8_t {
  empty,        ///< there was no item
  moved,        ///< copied up and cleared
  cleared,      ///< it was above already
  needs_level,  ///< no slot for it above: the resize needs one more level
  busy,         ///< another tile holds what this one needs: back in line
  foreign       ///< the key is a reserved one, which never lies in a level: the pool is damaged
};

/// Takes one slot of the drained level up into `view`.
template <class Memory, class Shape, SlotTile<Memory, Shape> Tile>
HOLDFAST_BOTH Rehashed rehash_slot(const Tile& tile, const Memory& memory, const View<Shape>& view, Slot* slot) {
  const std::uint64_t key = tile.once([&] { return memory.load(&slot->key); });
  const std::uint64_t word = tile.once([&] { return memory.load(&slot->word); });
  if (key == 0 && (view.key_decides() || word == 0)) return Rehashed::empty;
  const bool torn = !view.key_decides() && (key == 0 || word == 0);
  Rehashed result = Rehashed::cleared;
  if (!torn) {
    const Candidates<Shape> candidates(view, slot_key(view, slot, key, word));
    if (!tile.once([&] { return try_claim(memory, candidates.version_lock(view)); })) return Rehashed::busy;
    const bool looks = memory.keeps(Step::find_before_rehash);
    if (!looks || !find_claimed(tile, memory, view, candidates)) {
      bool busy = false;
      unsigned lane = claim_empty(tile, memory, view, candidates, busy);
      if (lane == kNoLane && !busy) lane = claim_by_moving(tile, memory, view, candidates, busy);
      if (lane == kNoLane) {
        result = busy ? Rehashed::busy : Rehashed::needs_level;
      } else {
        commit_and_publish(tile, memory, view, candidates, lane, word, Step::fence_after_rehash_copy);
        result = Rehashed::moved;
      }
    }
    tile.once([&] { return release(memory, candidates.version_lock(view)), 0; });
    if (result == Rehashed::busy || result == Rehashed::needs_level) return result;
  }
  if (result == Rehashed::moved) HOLDFAST_FAILPOINT(rehash_copied);
  tile.once([&] { return clear_slot(memory, view, slot, Step::fence_after_rehash_clear), 0; });
  HOLDFAST_FAILPOINT(rehash_cleared);
  return torn ? Rehashed::empty : result;
}

/// Copies the tags of level `number` from the groups of one view into those of another, which both address it: the first
/// step of a resize. Tags depend on the hash alone, so no slot is read. `bucket` is one of the level's.
template <pool::VolatileWords Memory, class Shape>
HOLDFAST_BOTH void carry_tags(const Memory& memory, const View<Shape>& from, const View<Shape>& to, unsigned number,
                              std::uint64_t bucket) {
  const std::uint64_t* const source = from.tags + from.tag_index(from.top_level - number, bucket);
  std::uint64_t* const target = to.tags + to.tag_index(to.top_level - number, bucket);
  for (unsigned i = 0; i < to.words_per_bucket(); ++i) memory.poke(target + i, memory.peek(source + i));
}

}  // namespace holdfast::gphash
