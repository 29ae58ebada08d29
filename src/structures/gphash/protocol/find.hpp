// find.hpp: looks one key up without taking any lock. GPHash §3.2.3 "Search", rules 11 and 26.
#pragma once

#include <cstdint>

#include "core/both.hpp"
#include "holdfast/status.hpp"
#include "structures/gphash/protocol/address.hpp"
#include "structures/gphash/protocol/claim.hpp"
#include "structures/gphash/protocol/mutant.hpp"
#include "structures/gphash/protocol/tile_concept.hpp"

namespace holdfast::gphash {

/// An item as read from its slot.
struct Item {
  Slot* slot = nullptr;    ///< null: none
  std::uint64_t word = 0;  ///< 1 + cell, or the value itself
  unsigned lane = 0;
  HOLDFAST_BOTH explicit operator bool() const { return slot != nullptr; }
};

struct Found {
  Item item;
  bool settled = true;  ///< false: a slot was cleared during every look; the driver repeats the search later
};

inline constexpr int kLooks = 64;

/// The version lock before a search, and the lanes whose tags match the key.
struct Look {
  std::uint64_t version_lock;
  LaneMask hits;
};

/// First half of a search. A driver may prefetch the slots before the second half.
template <class Memory, class Shape, SearchTile<Memory, Shape> Tile>
HOLDFAST_BOTH Look look(const Tile& tile, const Memory& memory, const View<Shape>& view,
                        const Candidates<Shape>& candidates) {
  const std::uint64_t version_lock = tile.peek(memory, candidates.version_lock(view));
  const auto tags = tile.load_tags(memory, view, candidates);
  return {version_lock, tile.match(view, candidates, tags, candidates.tag())};
}

/// Returns whether the tag of an item's slot is that of the key: the item is published.
template <class Memory, class Shape, SearchTile<Memory, Shape> Tile>
HOLDFAST_BOTH bool is_published(const Tile& tile, const Memory& memory, const View<Shape>& view,
                                const Candidates<Shape>& candidates, const Item& item) {
  const std::uint64_t tags = tile.peek(memory, candidates.tag_word(view, item.lane));
  return tag_at(tags, candidates.slot_in_bucket(view, item.lane)) == candidates.tag();
}

/// True if a search whose slots have been read is settled: no operation holds the version lock, or has cleared a slot since the first
/// half. `now`: the version lock after the slots were read. What `confirm` asks, without its exceptions.
HOLDFAST_BOTH inline bool is_undisturbed(const Look& seen, std::uint64_t now) {
  return now == seen.version_lock && !is_claimed(now);
}

/// Second half: reads the slots of `seen.hits`. Not settled if a slot of this version lock was cleared since the first half.
template <class Memory, class Shape, SearchTile<Memory, Shape> Tile>
HOLDFAST_BOTH Found confirm(const Tile& tile, const Memory& memory, const View<Shape>& view,
                            const Candidates<Shape>& candidates, const Look& seen) {
  const Item item = tile.first_item(memory, view, candidates, seen.hits);
  const std::uint64_t now = tile.peek(memory, candidates.version_lock(view));
  if (clearings(now) != clearings(seen.version_lock) && memory.keeps(Step::look_again)) return {item, false};
  if (!is_claimed(now)) return {item, true};
  // A tag read long ago can point to an item that was just committed, and that others cannot see yet.
  if (item && memory.keeps(Step::published_only) && !is_published(tile, memory, view, candidates, item))
    return {item, false};
  if (Memory::kReadersFlush && seen.hits != 0 && memory.keeps(Step::reader_flush)) {
    tile.flush_slots(memory, view, candidates, seen.hits);
    memory.fence();
    if (!tile.stands(memory, view, candidates, seen.hits)) return {item, false};
  }
  return {item, true};
}

/// Returns the item with the candidates' key, or none. All lanes of `tile` call together and get the same result.
template <class Memory, class Shape, SearchTile<Memory, Shape> Tile>
HOLDFAST_BOTH Found find(const Tile& tile, const Memory& memory, const View<Shape>& view,
                         const Candidates<Shape>& candidates) {
  Found found{{}, false};
  for (int i = 0; i < kLooks && !found.settled; ++i) {
    found = confirm(tile, memory, view, candidates, look(tile, memory, view, candidates));
  }
  return found;
}

/// Rounds of kLooks looks after which a search gives up: only if slots of its version lock were cleared during every look.
inline constexpr unsigned kMostRounds = 1 << 16;

/// Repeats `find` until it is settled, at most kMostRounds times.
template <class Memory, class Shape, SearchTile<Memory, Shape> Tile>
HOLDFAST_BOTH Found find_settled(const Tile& tile, const Memory& memory, const View<Shape>& view,
                                 const Candidates<Shape>& candidates) {
  Found found = find(tile, memory, view, candidates);
  for (unsigned round = 1; round < kMostRounds && !found.settled; ++round) {
    memory.count_retry();
    found = find(tile, memory, view, candidates);
  }
  return found.settled ? found : Found{{}, false};
}

/// Returns the status of a search; a search that gave up reports `not_run`.
HOLDFAST_BOTH inline Status status_of(const Found& found) {
  if (!found.settled) return Status::not_run;
  return found.item ? Status::found : Status::not_found;
}

/// As `find`, for the holder of the key's claim: no other thread can clear its slot, so one look is final.
template <class Memory, class Shape, SearchTile<Memory, Shape> Tile>
HOLDFAST_BOTH Item find_claimed(const Tile& tile, const Memory& memory, const View<Shape>& view,
                                const Candidates<Shape>& candidates) {
  const auto tags = tile.load_tags(memory, view, candidates);
  return tile.first_item(memory, view, candidates, tile.match(view, candidates, tags, candidates.tag()));
}

}  // namespace holdfast::gphash
