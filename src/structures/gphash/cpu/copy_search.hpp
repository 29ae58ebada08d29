// copy_search.hpp: finds the second copies that interrupted moves left, among all items, without waiting for each one's lines.
#pragma once

#include <cstddef>
#include <new>

#include "structures/gphash/cpu/bucket_items.hpp"
#include "structures/gphash/cpu/driver.hpp"
#include "structures/gphash/cpu/prefetch.hpp"
#include "structures/gphash/protocol/recover.hpp"

namespace holdfast::gphash::cpu {

/// Counts a second copy and, if it is to be mended, drops it.
template <gphash::SlotMemory Memory, class Shape>
void drop_copy(const Memory& memory, const gphash::View<Shape>& view, const gphash::Candidates<Shape>& candidates,
               const gphash::SlotPlace& place, unsigned j, bool repair, Scan& scan) {
  ++scan.second_copies;
  --scan.items;
  if (repair) gphash::drop_second_copy(memory, view, candidates, place, j);
}

/// Takes items, and looks for their first copies many at a time: first at tags, then at the slots that tags point to. One item in
/// twenty has a tag that matches another's; waiting for its slot each time would take longer than the rest.
template <class Tile, class Memory, class Shape>
class CopySearch {
  static_assert(gphash::SlotTile<Tile, Memory, Shape>);
  using Ask = Prefetch<Tile, Shape>;
  using View = gphash::View<Shape>;
  using Candidates = gphash::Candidates<Shape>;

 public:
  CopySearch(const Memory& memory, const View& view, bool repair, Scan& scan)
      : memory_(memory), view_(view), repair_(repair), scan_(scan) {}

  /// `view`: the caller's copy, whose address goes nowhere (groups.hpp). `place`: of the first of the slots.
  [[gnu::always_inline]] void add(const View& view, const BucketItems<Tile, Shape>& items,
                                  const gphash::SlotPlace& place) {
    for (LaneMask left = items.by_first(); left != 0; left &= left - 1) {  // their tags are at hand
      const gphash::SlotPlace at{place.rank, place.bucket, place.slot + lowest_bit(left)};
      const Candidates candidates = candidates_at(view, at, items.key(lowest_bit(left)));
      const LaneMask before = gphash::lanes_before(view, at, 0);
      suspect(view, candidates, at, 0, gphash::match_lanes(memory_, view, candidates, before));
    }
    for (LaneMask left = items.by_others(); left != 0; left &= left - 1) {
      const gphash::SlotPlace at{place.rank, place.bucket, place.slot + lowest_bit(left)};
      const Candidates candidates = candidates_at(view, at, items.key(lowest_bit(left)));
      const unsigned j = gphash::location_of(view, candidates, at);
      Ask::tags(view, candidates, j);
      new (waiting_.at(waiting_.count++)) Entry{candidates, at, j, 0};
      if (waiting_.count == kMany) look_at_tags();
    }
  }
  void finish() {
    look_at_tags();
    look_at_slots();
  }

 private:
  static constexpr std::size_t kMany = 64;
  struct Entry {
    Candidates candidates;
    gphash::SlotPlace place;
    unsigned j;
    LaneMask hits;
  };
  struct Queue {
    Entry* at(std::size_t i) { return reinterpret_cast<Entry*>(storage) + i; }
    std::size_t count = 0;
    alignas(64) unsigned char storage[kMany * sizeof(Entry)];
  };

  [[gnu::always_inline]] static Candidates candidates_at(const View& view, const gphash::SlotPlace& place,
                                                         std::uint64_t key) {
    const gphash::Slot* const slot = view.slot(place.rank, place.bucket, place.slot);
    return Candidates(view, gphash::slot_key(view, slot, key, slot->word));
  }

  HOLDFAST_FLATTEN void look_at_tags() {
    const View view = view_;
    const Tile tile;
    for (std::size_t i = 0; i < waiting_.count; ++i) {
      const Candidates candidates = waiting_.at(i)->candidates;
      const gphash::SlotPlace place = waiting_.at(i)->place;
      const unsigned j = waiting_.at(i)->j;
      const auto tags = tile.load_tags(memory_, view, candidates);
      const LaneMask same = tile.match(view, candidates, tags, candidates.tag());
      suspect(view, candidates, place, j, same & gphash::lanes_before(view, place, j));
    }
    waiting_.count = 0;
  }
  [[gnu::always_inline]] void suspect(const View& view, const Candidates& candidates, const gphash::SlotPlace& place,
                                      unsigned j, LaneMask hits) {
    if (hits == 0) return;
    for (LaneMask left = hits; left != 0; left &= left - 1) Ask::line(candidates.slot(view, lowest_bit(left)));
    new (suspects_.at(suspects_.count++)) Entry{candidates, place, j, hits};
    if (suspects_.count == kMany) look_at_slots();
  }
  [[gnu::noinline]] void look_at_slots() {
    for (std::size_t i = 0; i < suspects_.count; ++i) {
      const Entry& entry = *suspects_.at(i);
      if (!gphash::holds_copy(memory_, view_, entry.candidates, entry.hits)) continue;
      drop_copy(memory_, view_, entry.candidates, entry.place, entry.j, repair_, scan_);
    }
    suspects_.count = 0;
  }

  const Memory& memory_;
  const View view_;
  const bool repair_;
  Scan& scan_;
  Queue waiting_, suspects_;
};

}  // namespace holdfast::gphash::cpu
