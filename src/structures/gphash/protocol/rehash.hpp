// rehash.hpp: copies the items of a drained level into the levels above it. GPHash §3.2.3 "Resizing", rule 17.
//
// The drained level is no longer addressed: the view has the new top level and not the old bottom. Nothing is written there. Its items are
// copied up, a group at a time:
//
//   copy      durable    an item into an empty slot above, which stays claimed
//   settle    durable    the lines of the group's copies, each flushed once, and one fence
//   publish   volatile   the copies, by their tags
//
// The level is released when all its copies are durable. Until then it is whole, so after a crash the resize is done again; an item that is
// above already is not copied twice. No other operation runs on the table meanwhile; tiles of the same resize do, on other items.
#pragma once

#include <cstdint>

#include "core/both.hpp"
#include "core/failpoint.hpp"
#include "pool/medium/memory_concept.hpp"
#include "structures/gphash/protocol/commit.hpp"
#include "structures/gphash/protocol/find.hpp"
#include "structures/gphash/protocol/lines.hpp"
#include "structures/gphash/protocol/move.hpp"
#include "structures/gphash/protocol/tile_concept.hpp"

namespace holdfast::gphash {

enum class Rehashed : std::uint8_t {
  empty,        ///< there was no item, or half of one
  copied,       ///< its copy waits to be settled
  above,        ///< it was above already
  needs_level,  ///< no slot for it above: the resize needs one more level
  busy          ///< another tile holds what this one needs, or this one's own group does: back in line
};

/// A copy above that is not durable, or not published.
struct Copied {
  const Slot* from = nullptr;  ///< null: none
  Slot* to = nullptr;
  std::uint64_t key = 0, word = 0;
  std::uint64_t* tag_word = nullptr;
  std::uint8_t in_bucket = 0, tag = 0;
};

/// The hash location that leads to bucket `bucket` of a level; hashes() if none does.
template <class Shape>
HOLDFAST_BOTH unsigned location_below(const View<Shape>& view, const Candidates<Shape>& candidates, unsigned level,
                                      std::uint64_t bucket) {
  unsigned j = 0;
  while (j < view.shape.hashes() && top_bits(candidates.location(j), level) != bucket) ++j;
  return j;
}

/// A slot for the item of slot `number` of a drained level. The caller holds its key.
template <class Memory, class Shape, SlotTile<Memory, Shape> Tile>
HOLDFAST_BOTH unsigned claim_above(const Tile& tile, const Memory& memory, const View<Shape>& view, const Drain& drain,
                                   std::uint64_t number, const Candidates<Shape>& candidates, bool& busy) {
  const unsigned j = location_below(view, candidates, drain.number, number / view.shape.slots());
  const unsigned lane = claim_chosen<false>(tile, memory, view, candidates, busy, [&](LaneMask empty, LaneMask) {
    return choose_lane_above(view, candidates, empty, j);
  });
  return lane != kNoLane || busy ? lane : claim_by_moving(tile, memory, view, candidates, busy);
}

/// Copies the item in slot `number` of a drained level up into `view`. It is in `copied` if the result is.
template <class Memory, class Shape, SlotTile<Memory, Shape> Tile>
HOLDFAST_BOTH Rehashed copy_up(const Tile& tile, const Memory& memory, const View<Shape>& view, const Drain& drain,
                               std::uint64_t number, Copied& copied) {
  const Slot* const slot = view.after(drain.slots, number);
  const std::uint64_t key = tile.once([&] { return memory.load(&slot->key); });
  const std::uint64_t word = tile.once([&] { return memory.load(&slot->word); });
  if (key == 0 || (word == 0 && !view.key_decides())) return Rehashed::empty;
  const Candidates<Shape> candidates(view, slot_key(view, slot, key, word));
  if (!tile.once([&] { return try_claim(memory, candidates.version_lock(view)); })) return Rehashed::busy;
  Rehashed result = Rehashed::above;
  if (!memory.keeps(Step::find_before_rehash) || !find_claimed(tile, memory, view, candidates)) {
    bool busy = false;
    const unsigned lane = claim_above(tile, memory, view, drain, number, candidates, busy);
    if (lane == kNoLane) {
      result = busy ? Rehashed::busy : Rehashed::needs_level;
    } else {
      copied = {slot,
                candidates.slot(view, lane),
                key,
                word,
                candidates.tag_word(view, lane),
                static_cast<std::uint8_t>(candidates.slot_in_bucket(view, lane)),
                candidates.tag()};
      tile.once([&] { return store_item(memory, view, copied.to, candidates, word), 0; });
      HOLDFAST_FAILPOINT(rehash_copied);
      result = Rehashed::copied;
    }
  }
  tile.once([&] { return release(memory, candidates.version_lock(view)), 0; });
  return result;
}

/// Waits until the copies that this thread stored, and flushed, are durable.
template <SlotMemory Memory>
HOLDFAST_BOTH void fence_copies(const Memory& memory) {
  if (memory.keeps(Step::fence_after_rehash_copy)) memory.fence();
}

/// Shows a copy that is durable.
template <SlotMemory Memory, class Shape>
HOLDFAST_BOTH void publish_copy(const Memory& memory, const View<Shape>& view, const Copied& copied) {
  if (view.wide()) {
    memory.show_words(wide_key(copied.to), view.key_words(),
                      [&](unsigned i) { return memory.load_still(wide_key(copied.from) + i); });
  }
  memory.show(copied.to, copied.key, copied.word);
  retag(memory, copied.tag_word, copied.in_bucket, kTagClaimed, copied.tag);
}

/// The copies of one thread that are settled together.
template <class Shape>
class CopiedGroup {
 public:
  static constexpr unsigned kMost = 64;

  bool is_empty() const { return size_ == 0; }
  /// Settles the group if it is full.
  template <SlotMemory Memory>
  void add(const Memory& memory, const View<Shape>& view, const Copied& copied) {
    HOLDFAST_ASSERT(size_ < kMost);
    copied_[size_++] = copied;
    if (size_ == kMost) settle(memory, view);
  }
  /// Makes the copies durable, and publishes them.
  template <SlotMemory Memory>
  void settle(const Memory& memory, const View<Shape>& view) {
    if (size_ == 0) return;
    if (memory.keeps(Step::flush_rehash_copies)) flush_lines(memory, view);
    fence_copies(memory);
    for (unsigned i = 0; i < size_; ++i) publish_copy(memory, view, copied_[i]);
    size_ = 0;
  }

 private:
  /// Wide slots can lie on two lines, so each is flushed.
  template <SlotMemory Memory>
  void flush_lines(const Memory& memory, const View<Shape>& view) const {
    RecentLines<Memory> lines;
    for (unsigned i = 0; i < size_; ++i) {
      if (lines.add(copied_[i].to) || view.wide()) flush_slot(memory, copied_[i].to);
    }
  }

  Copied copied_[kMost];
  unsigned size_ = 0;
};

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
