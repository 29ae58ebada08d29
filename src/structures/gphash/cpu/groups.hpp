// groups.hpp: what the CPU's driver does with a group of operations, in stages, so that no line is touched before it was
// prefetched. Everything here depends on `Tile`, so that files compiled for different instruction sets share none of it.
#pragma once

#include <sched.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "core/both.hpp"
#include "structures/gphash/cpu/item_access.hpp"

namespace holdfast::gphash::cpu {

/// Groups of operations. A group is a stage at a time, and all its prefetches are on their way together. A stage works on copies of
/// the view and of a flight's candidates whose address it gives to no other function: after each load with acquire a compiler reads
/// all else again, and asks again whether a key is the reserved one. Without copies a find in cache takes nearly twice as long.
template <class Tile, class Shape, bool kMayFlush>
struct Groups {
  using View = gphash::View<Shape>;
  using Memory = CpuMemory<Tile, kMayFlush>;
  using Candidate = Candidates<Shape>;
  using Ask = Prefetch<Tile, Shape>;
  using Access = ItemAccess<Tile, Shape, kMayFlush, Shape::kVariable>;

  /// Inserts that are made durable together.
  using AddedItems = std::conditional_t<kMayFlush, gphash::AddedGroup, gphash::NoGroup>;
  static_assert(!kMayFlush || kGroup <= gphash::AddedGroup::kMost);

  /// Keys of a group, by their hashes. It may have others too.
  class KeyBits {
   public:
    void add(std::uint64_t hash) { bits_[word(hash)] |= bit(hash); }
    bool may_have(std::uint64_t hash) const { return (bits_[word(hash)] & bit(hash)) != 0; }

   private:
    static constexpr std::size_t word(std::uint64_t hash) { return hash % 8; }
    static constexpr std::uint64_t bit(std::uint64_t hash) { return std::uint64_t{1} << (hash >> 3 & 63); }
    std::uint64_t bits_[8] = {};
  };

  /// An operation between two stages.
  struct Flight {
    Flight(std::size_t row_, const View& view, const gphash::Key& key) : row(row_), candidates(view, key) {}
    std::size_t row;
    Candidate candidates;
    gphash::Look seen;
    Slot* slot;  ///< null: not there
    std::uint64_t word;
  };

  static void skip(const gphash::Rows& rows, std::size_t row) {
    rows.statuses[row] = Status::not_run;
    if (rows.found) rows.found[row] = false;
    if (rows.scores) rows.scores[row] = 0;
    if (std::byte* const to = rows.result(row)) std::memset(to, 0, rows.value_bytes);
    if (rows.blobs) rows.blobs[row] = Blob{};
  }

  /// True if a pair that the row met, or that its answer was read from, is damaged. Then it does not run, or its answer goes.
  static bool skip_damaged(const View& view, const Memory& memory, const gphash::Rows& rows, const Flight& flight,
                           bool answered, Tally& tally) {
    if (!Access::is_damaged(view, memory, flight, answered)) return false;
    ++tally.damaged;
    skip(rows, flight.row);
    return true;
  }

  /// Where in the work the flight of `row` stands: within one group after `first`.
  static std::size_t position(const Work& work, std::size_t first, std::size_t row) {
    while (work.row(first) != row) ++first;
    return first;
  }

  /// Answers `count` searches. `reserved`: the reserved key may be among them; without it, nothing has to ask.
  static void find(const View& view, const Memory& memory, const gphash::Rows& rows, Flight* flights, std::size_t count,
                   bool reserved, Tally& tally) {
    reserved ? find_group<true>(view, memory, rows, flights, count, tally)
             : inlined_find_group(view, memory, rows, flights, count, tally);
    if (tally.gave_up != 0) skip_unsettled(rows, flights, count);
    for (std::size_t i = 0; rows.verify && i < count; ++i) skip_damaged(view, memory, rows, flights[i], true, tally);
  }

  /// Asks for the slots that `count` operations among changes will touch.
  static void ask(const View& view, const Memory& memory, const gphash::Rows& rows, const Flight* flights,
                  std::size_t count, bool reserved) {
    return reserved ? ask_group<true>(view, memory, rows, flights, count)
                    : ask_group<false>(view, memory, rows, flights, count);
  }

  /// Carries out `count` operations. Where the group stopped, and why in `outcome`.
  static std::size_t change(const View& view, const Memory& memory, const Work& work, Flight* flights,
                            std::size_t count, bool reserved, Tally& tally, gphash::Outcome& outcome) {
    if (reserved) return change_group<true>(view, memory, work, flights, count, tally, outcome);
    if constexpr (kInlinesChanges) {
      return inlined_change_group(view, memory, work, flights, count, tally, outcome);
    } else {
      return change_group<false>(view, memory, work, flights, count, tally, outcome);
    }
  }

 protected:
  // 50 KB each; beside flushes, which take much longer than calls, it is not worth that.
  static constexpr bool kInlinesChanges = Shape::kFixed && !Shape::kMayBeWide && !kMayFlush;

  /// Addresses of slots that a group will read, each of another line as a rule. One tag in twenty that matches is of
  /// another key, so a key may have several; those beyond the space are fetched when they are read.
  struct Ahead {
    static constexpr std::size_t kMost = (Shape::kMayBeWide ? 4 : 2) * kGroup;  // wide slots lie on up to four lines
    const void* address[kMost];
    std::size_t count = 0;
    void add(const View& view, const Slot* slot) {
      const auto* const first = reinterpret_cast<const std::byte*>(slot);
      if (count < kMost) address[count++] = first;
      if constexpr (Shape::kMayBeWide) {
        const std::byte* const last = first + view.slot_bytes() - 1;
        const auto line_of = [](const std::byte* at) { return reinterpret_cast<std::uintptr_t>(at) / pool::kLine; };
        for (const std::byte* at = first + pool::kLine; line_of(at) <= line_of(last) && count < kMost;
             at += pool::kLine)
          address[count++] = at;
      }
    }
    void add(const View& view, const Candidate& candidates, LaneMask hits) {
      for (; hits != 0; hits &= hits - 1) add(view, candidates.slot(view, lowest_bit(hits)));
    }
  };

  /// The slots that a change will touch: where the key may be, and where an insert would put it.
  static void add_touched(const View& view, const Memory& memory, const gphash::Rows& rows, std::size_t row,
                          const Candidate& candidates, Ahead& ahead) {
    const Tile tile;
    const auto tags = tile.load_tags(memory, view, candidates);
    ahead.add(view, candidates, tile.match(view, candidates, tags, candidates.tag()));
    if (!takes_value(rows.op_of(row))) return;
    const LaneMask empty = tile.match(view, candidates, tags, gphash::kTagEmpty);
    if (empty != 0) ahead.add(view, candidates.slot(view, gphash::choose_lane(view, candidates, empty)));
  }

  /// Asks for lines in a row. A prefetch whose page is not in the TLB holds up what comes after it until the page is
  /// found; with other work between them few such searches run at a time, and the pool has no huge pages to avoid them.
  static void prefetch_all(const Ahead& ahead) {
    for (std::size_t i = 0; i < ahead.count; ++i) Ask::line(ahead.address[i]);
  }

  /// `kReserved`: the reserved key is among them.
  template <bool kReserved>
  static void find_group(const View& whole_view, const Memory& memory, const gphash::Rows& rows, Flight* flights,
                         std::size_t count, Tally& tally) {
    const Tile tile;
    HOLDFAST_ASSERT(count <= kGroup);
    const View view = whole_view;
    Ahead ahead;
    for (Flight* flight = flights; flight != flights + count; ++flight) {
      const Candidate candidates = flight->candidates;
      if (!kReserved && candidates.is_reserved()) __builtin_unreachable();
      const gphash::Look seen = gphash::look(tile, memory, view, candidates);
      flight->seen = seen;
      ahead.add(view, candidates, seen.hits);
    }
    prefetch_all(ahead);
    Access::prefetch_compared(view, memory, rows, flights, count);
    for (Flight* flight = flights; flight != flights + count; ++flight) {
      const Candidate candidates = flight->candidates;
      if (!kReserved && candidates.is_reserved()) __builtin_unreachable();
      gphash::Found found = gphash::confirm(tile, memory, view, candidates, flight->seen);
      if (!found.settled) found = find_settled(whole_view, memory, flight->candidates, tally);
      flight->slot = found.item.slot;
      flight->word = found.item.word;
    }
    find_in_order(whole_view, memory, flights, count, tally);
    Access::prefetch_found(view, rows, flights, count);
    for (const Flight* flight = flights; flight != flights + count; ++flight) {
      answer(view, memory, rows, flight->row, {flight->slot, flight->word, 0});
    }
  }

  /// Where rows of one key see changes that others make meanwhile, none may see less than a row before it (rule 2). A row that found
  /// its key saw it at the second half of its search; one that did not, perhaps at the first, before other rows' second half. So
  /// in array order: rows that found nothing where a row before them found the key look again, and so do all later rows of their
  /// keys. A separate function, or the loop before it becomes slower.
  [[gnu::noinline]] static void find_in_order(const View& view, const Memory& memory, Flight* flights,
                                              std::size_t count, Tally& tally) {
    std::size_t found_rows = 0;
    for (const Flight* flight = flights; flight != flights + count; ++flight) found_rows += flight->slot != nullptr;
    if (found_rows == 0 || found_rows == count) return;
    KeyBits found, again;
    for (Flight* flight = flights; flight != flights + count; ++flight) {
      const std::uint64_t hash = flight->candidates.hash();
      if (again.may_have(hash) || (flight->slot == nullptr && found.may_have(hash))) {
        const Item item = find_settled(view, memory, flight->candidates, tally).item;
        flight->slot = item.slot;
        flight->word = item.word;
        again.add(hash);
      }
      if (flight->slot != nullptr) found.add(hash);
    }
  }

  [[gnu::noinline]] static gphash::Found find_settled(const View& view, const Memory& memory,
                                                      const Candidate& candidates, Tally& tally) {
    gphash::Found found = gphash::find_settled(Tile{}, memory, view, candidates);
    if (!found.settled) {
      ++tally.gave_up;
      found.item.word = kGaveUp;
    }
    return found;
  }

  /// The word of an absent item whose search gave up. Asked for once one has, so that answers of the others take no longer.
  static constexpr std::uint64_t kGaveUp = 1;
  [[gnu::noinline]] static void skip_unsettled(const gphash::Rows& rows, const Flight* flights, std::size_t count) {
    for (const Flight* flight = flights; flight != flights + count; ++flight) {
      if (flight->slot == nullptr && flight->word == kGaveUp) skip(rows, flight->row);
    }
  }

  static void answer(const View& view, const Memory& memory, const gphash::Rows& rows, std::size_t row,
                     const Item& item) {
    rows.statuses[row] = item ? Status::found : Status::not_found;
    if (rows.found) rows.found[row] = static_cast<bool>(item);
    Access::answer(view, memory, rows, row, item);
  }

  template <bool kReserved>
  static void ask_group(const View& whole_view, const Memory& memory, const gphash::Rows& rows, const Flight* flights,
                        std::size_t count) {
    const View view = whole_view;
    Ahead ahead;
    for (std::size_t i = 0; i < count; ++i) {
      const Candidate candidates = flights[i].candidates;
      if (!kReserved && candidates.is_reserved()) __builtin_unreachable();
      add_touched(view, memory, rows, flights[i].row, candidates, ahead);
    }
    prefetch_all(ahead);
  }

  template <bool kReserved>
  static std::size_t change_group(const View& whole_view, const Memory& memory, const Work& work, Flight* flights,
                                  std::size_t count, Tally& tally, gphash::Outcome& outcome) {
    HOLDFAST_ASSERT(count <= kGroup);
    const View view = whole_view;
    ask_group<kReserved>(view, memory, work.rows, flights, count);
    Access::prefetch_changed(view, memory, work.rows, flights, count);
    AddedItems added;
    const std::size_t stopped = change_rows<kReserved>(whole_view, view, memory, work, flights, count, tally,
                                                       memory.settles_in_groups() ? &added : nullptr, outcome);
    added.settle(memory, view);
    return stopped;
  }

  /// Inserts join `added`, if it is not null.
  template <bool kReserved>
  static std::size_t change_rows(const View& whole_view, const View& view, const Memory& memory, const Work& work,
                                 Flight* flights, std::size_t count, Tally& tally, AddedItems* added,
                                 gphash::Outcome& outcome) {
    for (std::size_t i = 0; i < count; ++i) {
      const Flight& flight = flights[i];
      if (work.rows.verify && skip_damaged(view, memory, work.rows, flight, false, tally)) continue;
      if (!holdfast::changes(work.rows.op_of(flight.row))) {
        if (added != nullptr && memory.keeps(gphash::Step::settle_before_search)) added->settle(memory, view);
        const gphash::Found found = find_settled(whole_view, memory, flight.candidates, tally);
        answer(view, memory, work.rows, flight.row, found.item);
        if (!found.settled) skip(work.rows, flight.row);
        continue;
      }
      const Candidate candidates = flight.candidates;
      if (!kReserved && candidates.is_reserved()) __builtin_unreachable();
      outcome = change_one(view, memory, work, flight.row, candidates, tally, added);
      if (outcome != gphash::Outcome::done) return i;
    }
    return count;
  }

  // The groups that nearly all operations are in, as one function each with all that they call. It takes a compiler ten
  // seconds and more for each, so the other configurations do without in changes, and a sanitized build altogether.
  HOLDFAST_FLATTEN static void inlined_find_group(const View& view, const Memory& memory, const gphash::Rows& rows,
                                                  Flight* flights, std::size_t count, Tally& tally) {
    find_group<false>(view, memory, rows, flights, count, tally);
  }

  HOLDFAST_FLATTEN static std::size_t inlined_change_group(const View& view, const Memory& memory, const Work& work,
                                                           Flight* flights, std::size_t count, Tally& tally,
                                                           gphash::Outcome& outcome) {
    return change_group<false>(view, memory, work, flights, count, tally, outcome);
  }

  static gphash::Outcome change_one(const View& view, const Memory& memory, const Work& work, std::size_t row,
                                    const Candidate& candidates, Tally& tally, AddedItems* added = nullptr) {
    gphash::Run<std::uint32_t> run;
    run.first = row;
    // ends: the holder of the claim does not wait for another
    for (unsigned tries = 1;; ++tries) {
      const Tile tile;
      const auto outcome = gphash::apply_run(tile, memory, view, work.rows, run, candidates, work.permits, added);
      if (outcome == gphash::Outcome::done) return outcome;
      if (added != nullptr && !added->is_empty() && memory.keeps(gphash::Step::settle_before_retry)) {
        added->settle(memory, view);  // the key may be in it, and an item of it may be one that can move
        continue;
      }
      if (outcome != gphash::Outcome::claim_missed) return outcome;
      ++tally.claim_misses;
      if (tries % 64 == 0) {
        sched_yield();
      } else {
        __builtin_ia32_pause();
      }
    }
  }
};

}  // namespace holdfast::gphash::cpu
