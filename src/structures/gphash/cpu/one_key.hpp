// one_key.hpp: the CPU's schedule for one operation: what a group does in stages, at once. Everything here depends on `Tile`.
//
// A caller with one key a call waits for memory twice: for the tags, and for the slot that they name. The processor begins the reads of
// its next call meanwhile only if it gets there: it looks a few hundred instructions ahead, and not past a load of words that were
// stored separately a moment ago (which waits until they have left for the cache, behind all stores before them). So what runs for each
// call is short, and nothing is built in memory that a register can hold.
#pragma once

#include <cstring>

#include "structures/gphash/cpu/groups.hpp"

namespace holdfast::gphash::cpu {

template <class Tile, class Shape, bool kMayFlush>
struct OneKey : private Groups<Tile, Shape, kMayFlush> {
  using Base = Groups<Tile, Shape, kMayFlush>;
  using View = typename Base::View;
  using Memory = typename Base::Memory;
  using Candidate = typename Base::Candidate;

  /// Runs row 0, which has no mask, and the operation of all rows.
  static gphash::Outcome run(const View& view, const Memory& memory, const Work& work, Tally& tally) {
    if (!work.changes) return find(view, memory, work, tally), gphash::Outcome::done;
    if (work.rows.verify && skip_damaged(view, memory, work, {}, false, tally)) return gphash::Outcome::done;
    return change(view, memory, work, tally);
  }

  /// Driver::change_one. Not for keys of variable length, nor is `find_one`.
  static gphash::Outcome change_one(const View& view, const pool::Persist& persist, const gphash::OneRow& row,
                                    std::uint32_t bytes, std::uint64_t score, Status& status, heap::ThreadCells& cells,
                                    Tally& tally) {
    if constexpr (!Base::Access::kHasOneRow) {
      return gphash::Outcome::needs_slot;
    } else if constexpr (Base::kInlinesChanges) {
      return inlined_change_row(view, persist, row, bytes, score, status, cells, tally);
    } else {
      return change_row(view, persist, row, bytes, score, status, cells, tally);
    }
  }

  /// Driver::find_one.
  HOLDFAST_FLATTEN static Status find_one(const View& whole_view, const pool::Persist& persist, const std::byte* key,
                                          std::byte* out, std::uint32_t bytes, heap::ThreadCells& cells) {
    if constexpr (!Base::Access::kHasOneRow) return Status::not_run;
    Tally none;
    const Memory memory(persist, cells, none);
    const View view = whole_view;
    const Candidate candidates(view, gphash::given_key<Memory>(view, key));
    Item item;
    if (candidates.is_reserved() || !look_once(view, memory, candidates, item)) return Status::not_run;
    if (out != nullptr) {
      if (view.in_slot() && bytes == 8) {
        std::memcpy(out, &item.word, 8);  // 0 if there is none
      } else {
        put_value(whole_view, memory, item.slot, item.word, out, bytes);
      }
    }
    return item ? Status::found : Status::not_found;
  }

 private:
  /// False if another operation held the key's version lock or cleared a slot meanwhile: then `find_settled` searches.
  static bool look_once(const View& view, const Memory& memory, const Candidate& candidates, Item& item) {
    const Tile tile;
    const gphash::Look seen = gphash::look(tile, memory, view, candidates);
    item = tile.first_item(memory, view, candidates, seen.hits);
    return gphash::is_undisturbed(seen, tile.peek(memory, candidates.version_lock(view)));
  }

  [[gnu::noinline]] static void put_value(const View& view, const Memory& memory, Slot* slot, std::uint64_t word,
                                          std::byte* out, std::uint32_t bytes) {
    gphash::Rows rows;
    rows.value_bytes = bytes;
    rows.out = out;
    Base::Access::answer(view, memory, rows, 0, {slot, word, 0});
  }

  HOLDFAST_FLATTEN static void find(const View& view, const Memory& memory, const Work& work, Tally& tally) {
    const Candidate candidates(view, Base::Access::key_of(view, work, 0));
    Item item;
    if (!look_once(view, memory, candidates, item)) {
      const gphash::Found found = Base::find_settled(view, memory, candidates, tally);
      if (!found.settled) return Base::skip(work.rows, 0);
      item = found.item;
    }
    Base::answer(view, memory, work.rows, 0, item);
    if (work.rows.verify) skip_damaged(view, memory, work, item, true, tally);
  }

  static bool skip_damaged(const View& view, const Memory& memory, const Work& work, const Item& item, bool answered,
                           Tally& tally) {
    typename Base::Flight flight(0, view, Base::Access::key_of(view, work, 0));
    flight.slot = item.slot;
    flight.word = item.word;
    return Base::skip_damaged(view, memory, work.rows, flight, answered, tally);
  }

  static gphash::Outcome change(const View& view, const Memory& memory, const Work& work, Tally& tally) {
    const Candidate candidates(view, Base::Access::key_of(view, work, 0));
    Base::Ask::tags(view, candidates);  // or the second line of tags waits until the first one is claimed
    return Base::change_one(view, memory, work, 0, candidates, tally);
  }
  /// The compiler sees which arrays there are not.
  static gphash::Outcome change_row(const View& view, const pool::Persist& persist, const gphash::OneRow& row,
                                    std::uint32_t bytes, std::uint64_t score, Status& status, heap::ThreadCells& cells,
                                    Tally& tally) {
    const Memory memory(persist, cells, tally);
    Work work;
    work.rows.op = row.op;  // not as a whole: a copy of what was just written in parts
    work.rows.values = static_cast<const std::byte*>(row.value);
    work.rows.out = static_cast<std::byte*>(row.out);
    work.rows.statuses = &status;
    work.rows.value_bytes = bytes;
    work.rows.score = score;
    work.keys = static_cast<const std::byte*>(row.key);
    return change(view, memory, work, tally);
  }
  HOLDFAST_FLATTEN static gphash::Outcome inlined_change_row(const View& view, const pool::Persist& persist,
                                                             const gphash::OneRow& row, std::uint32_t bytes,
                                                             std::uint64_t score, Status& status,
                                                             heap::ThreadCells& cells, Tally& tally) {
    return change_row(view, persist, row, bytes, score, status, cells, tally);
  }
};

}  // namespace holdfast::gphash::cpu
