// copy_search.hpp: finds the second copies that interrupted moves left, among all items, without waiting for each one's lines.
#pragma once

#include <cstddef>
#include <new>

#include "gphash/cpu/driver.hpp"
#include "gphash/cpu/prefetch.hpp"
#include "gphash/protocol/recover.hpp"

namespace holdfast::machine::cpu {

/// Counts a second copy and, if it is to be mended, drops it.
template <class Memory, class Shape>
void drop_copy(const Memory& memory, const index::View<Shape>& view, const index::Candidates<Shape>& candidates,
               const index::Place& place, unsigned j, bool repair, Scan& scan) {
  ++scan.second_copies;
  --scan.items;
  if (repair) index::drop_second_copy(memory, view, candidates, place, j);
}

/// Takes items one by one, and looks for their first copies many at a time: first at tags, then at the slots that tags point
/// to. One item in twenty has a tag that matches another's; waiting for its slot each time would take longer than the rest.
template <class Tile, class Memory, class Shape>
class CopySearch {
  using Ask = Prefetch<Tile, Shape>;
  using Candidates = index::Candidates<Shape>;

 public:
  CopySearch(const Memory& memory, const index::View<Shape>& view, bool repair, Scan& scan)
      : memory_(memory), view_(view), repair_(repair), scan_(scan) {}

  void add(const Candidates& candidates, const index::Place& place) {
    const unsigned j = index::location_of(view_, candidates, place);
    if (j == 0) return look({candidates, place, j, 0});  // its tags are at hand
    Ask::tags(view_, candidates, j);
    new (waiting_.at(waiting_.count++)) Entry{candidates, place, j, 0};
    if (waiting_.count == kMany) look_at_tags();
  }
  void finish() {
    look_at_tags();
    look_at_slots();
  }

 private:
  static constexpr std::size_t kMany = 64;
  struct Entry {
    Candidates candidates;
    index::Place place;
    unsigned j;
    LaneMask hits;
  };
  struct Queue {
    Entry* at(std::size_t i) { return reinterpret_cast<Entry*>(room) + i; }
    std::size_t count = 0;
    alignas(64) unsigned char room[kMany * sizeof(Entry)];
  };

  void look(Entry entry) {
    const LaneMask before = index::lanes_before(view_, entry.place, entry.j);
    if (entry.j == 0) {
      entry.hits = index::match_lanes(memory_, view_, entry.candidates, before);
    } else {
      const Tile tile;
      const auto tags = tile.load_tags(memory_, view_, entry.candidates);
      entry.hits = before & tile.match(view_, entry.candidates, tags, entry.candidates.tag());
    }
    if (entry.hits == 0) return;
    for (LaneMask left = entry.hits; left != 0; left &= left - 1) {
      Ask::line(entry.candidates.slot(view_, lowest_bit(left)));
    }
    new (suspects_.at(suspects_.count++)) Entry(entry);
    if (suspects_.count == kMany) look_at_slots();
  }
  void look_at_tags() {
    for (std::size_t i = 0; i < waiting_.count; ++i) look(*waiting_.at(i));
    waiting_.count = 0;
  }
  void look_at_slots() {
    for (std::size_t i = 0; i < suspects_.count; ++i) {
      const Entry& entry = *suspects_.at(i);
      if (!index::holds_copy(memory_, view_, entry.candidates, entry.hits)) continue;
      drop_copy(memory_, view_, entry.candidates, entry.place, entry.j, repair_, scan_);
    }
    suspects_.count = 0;
  }

  const Memory& memory_;
  const index::View<Shape> view_;
  const bool repair_;
  Scan& scan_;
  Queue waiting_, suspects_;
};

}  // namespace holdfast::machine::cpu
