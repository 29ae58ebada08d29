// driver_impl.hpp: the CPU's batch driver: groups of operations run in stages, so that no line is touched before it was
// prefetched. Included by one file for each instruction set; everything here depends on `Tile`, so none is shared by them.
#pragma once

#include <sched.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "index/recover.hpp"
#include "machine/cpu/copy_search.hpp"
#include "machine/cpu/driver.hpp"
#include "machine/cpu/epochs.hpp"
#include "machine/cpu/prefetch.hpp"
#include "machine/cpu/tile.hpp"

#if defined(HOLDFAST_SANITIZED)  // cmake/Defaults.cmake
#define HOLDFAST_FLATTEN
#else
#define HOLDFAST_FLATTEN [[gnu::flatten]]
#endif

namespace holdfast::machine::cpu {

template <class To>
index::View<To> view_as(const Layout& from) {
  index::View<To> to;
  if constexpr (!To::kFixed) to.shape = To(from.shape);
  if constexpr (To::kFixed && To::kMayBeWide) to.shape.key_words_ = from.shape.key_words_;
  to.top_level = from.top_level;
  to.value_bytes = from.value_bytes;
  to.cell_bytes = from.cell_bytes;
  to.shared_bias = from.shared_bias;
  to.slab_bits = from.slab_bits;
  to.may_move = from.may_move;
  to.seed = from.seed;
  to.cells = from.cells;
  for (unsigned i = 0; i < index::kMaxLevels; ++i) to.level[i] = from.level[i];
  to.aside = from.aside;
  to.heap = from.heap;
  to.tags = from.tags;
  return to;
}

template <class Tile, class Shape, bool kFlush>
class DriverImpl final : public Driver {
  using Memory = CpuMemory<Tile, kFlush>;
  using Candidate = Candidates<Shape>;
  using Ask = Prefetch<Tile, Shape>;
  static constexpr std::size_t kGroup = 64;  // operations in flight: enough for every line-fill buffer
  static constexpr std::size_t kLinesAhead = 16;
  static constexpr bool kInlinesChanges = Shape::kFixed && !Shape::kMayBeWide;

  /// An operation between two stages.
  struct Flight {
    Flight(std::size_t row_, const Candidate& candidates_) : row(row_), candidates(candidates_) {}
    std::size_t row;
    Candidate candidates;
    index::Look seen;
    Slot* slot;  ///< null: not there
    std::uint64_t word;
  };

 public:
  DriverImpl(const index::RuntimeShape& shape, const memory::Persist& persist) : persist_(persist) {
    if constexpr (!Shape::kFixed) view_.shape = Shape(shape);
    if constexpr (Shape::kFixed && Shape::kMayBeWide) view_.shape.key_words_ = shape.key_words_;
    static_cast<void>(shape);
  }

  const char* tile() const override { return Tile::kName; }
  void set_layout(const Layout& layout) override { view_ = view_as<Shape>(layout); }

  Progress run(const Work& work, std::size_t begin, std::size_t end, CellPurse& purse, Tally& tally) const override {
    const Memory memory(persist_, purse, tally);
    const View<Shape> view = view_;  // a copy that no store through a user's pointer can change
    alignas(64) unsigned char room[kGroup * sizeof(Flight)];
    Flight* const flights = reinterpret_cast<Flight*>(room);
    index::Outcome outcome = index::Outcome::done;
    for (std::size_t at = begin; at < end;) {
      std::size_t count = 0;
      const std::size_t first = at;
      bool aside = false;
      for (; at < end && count < kGroup; ++at) {
        const std::size_t row = work.row(at);
        if (work.mask && !work.mask[row]) {
          skip(work.rows, row);
          continue;
        }
        Flight* const flight = new (flights + count++) Flight(row, Candidate(view, key_of(view, work, row)));
        aside |= flight->candidates.aside();
        Ask::tags(view, flight->candidates);
      }
      if (!work.changes) {
        aside ? find_group<true>(view, memory, work.rows, flights, count, tally)
              : inlined_find_group(view, memory, work.rows, flights, count, tally);
        continue;
      }
      const std::size_t stopped = aside ? change_group<true>(view, memory, work, flights, count, tally, outcome)
                                        : inlined_change_group(view, memory, work, flights, count, tally, outcome);
      if (stopped != count) return {position(work, first, flights[stopped].row), outcome};
    }
    return {end, index::Outcome::done};
  }

  void check_pairs(unsigned rank, std::uint64_t begin, std::uint64_t end, Scan& scan) const override {
    if constexpr (Shape::kVariable) {
      const CellFree reader(persist_);
      for (std::uint64_t bucket = begin; bucket < end; ++bucket) {
        for (unsigned s = 0; s < view_.shape.slots(); ++s) {
          std::uint64_t key = 0, word = 0;
          std::uint8_t tag = 0;
          const Slot* const slot = view_.slot(rank, bucket, s);
          const auto state = index::inspect_slot(reader.memory, view_, rank, bucket, slot, key, word, tag);
          if (state != index::SlotState::occupied || index::is_whole_pair(reader.memory, view_, key, word)) continue;
          if (scan.damage.size() >= 16) return;
          scan.damage.push_back("level " + std::to_string(view_.top_level - rank) + " bucket " +
                                std::to_string(bucket) + " slot " + std::to_string(s) +
                                " names a pair whose checksum is wrong");
        }
      }
    }
  }

  void scan(unsigned rank, std::uint64_t begin, std::uint64_t end, bool repair, CellSet& cells,
            Scan& scan) const override {
    const CellFree owned(persist_);
    const Memory& memory = owned.memory;
    const unsigned slots = view_.shape.slots();
    for (std::uint64_t bucket = begin; bucket < end; ++bucket) {
      std::uint64_t words[index::kMaxLanes / 8] = {};
      for (unsigned s = 0; s < slots; ++s) {
        std::uint64_t key = 0, word = 0;
        std::uint8_t tag = 0;
        Slot* const slot = view_.slot(rank, bucket, s);
        const index::SlotState state = index::inspect_slot(memory, view_, rank, bucket, slot, key, word, tag);
        if (state == index::SlotState::empty) continue;
        if (state == index::SlotState::torn) {
          ++scan.torn;
          if (repair) index::clear_torn(memory, slot);
          continue;
        }
        if (state != index::SlotState::occupied) {
          report(scan.damage, state, rank, bucket, s, key, word);
          continue;
        }
        words[s / 8] |= std::uint64_t{tag} << (8 * (s & 7));
        ++scan.items;
        if (!view_.in_slot() && !mark_live(cells, word, scan)) scan.shared_cells.push_back(slot);
      }
      std::uint64_t* const tags = view_.tags + view_.tag_index(rank, bucket);
      for (unsigned i = 0; i < view_.words_per_bucket(); ++i) memory.poke(tags + i, words[i]);
    }
  }

  void drop_copies(unsigned rank, std::uint64_t begin, std::uint64_t end, bool repair, Scan& scan) const override {
    CellFree reader(persist_);
    CopySearch<Tile, Memory, Shape> search(reader.memory, view_, repair, scan);
    for (std::uint64_t bucket = begin; bucket < end; ++bucket) {
      for (unsigned s = 0; s < view_.shape.slots(); ++s) {
        const Slot* const slot = view_.slot(rank, bucket, s);
        const std::uint64_t key = __atomic_load_n(&slot->key, __ATOMIC_RELAXED);
        if (key != 0) search.add(Candidate(view_, index::slot_key(view_, slot, key, slot->word)), {rank, bucket, s});
      }
    }
    search.finish();
  }

  void drop_shared(Slot* slot, bool repair, Scan& scan) const override {
    const std::uint64_t key = __atomic_load_n(&slot->key, __ATOMIC_RELAXED);
    if (key == 0) return;  // dropped with another of its copies
    const std::uint64_t before = scan.second_copies;
    CellFree reader(persist_);
    const Candidate candidates(view_, index::slot_key(view_, slot, key, slot->word));
    // Which copy counts is a matter of their places, whichever of the two the scan met first.
    for (LaneMask left = candidates.distinct(view_); left != 0; left &= left - 1) {
      const unsigned lane = lowest_bit(left);
      Slot* const other = candidates.slot(view_, lane);
      if (index::holds_key(reader.memory, view_, candidates, other) &&
          __atomic_load_n(&other->word, __ATOMIC_RELAXED) == __atomic_load_n(&slot->word, __ATOMIC_RELAXED)) {
        const auto [place, j] = candidates.place(view_, lane);
        const LaneMask hits =
            index::match_lanes(reader.memory, view_, candidates, index::lanes_before(view_, place, j));
        if (!index::holds_copy(reader.memory, view_, candidates, hits)) continue;
        drop_copy(reader.memory, view_, candidates, place, j, repair, scan);
      }
    }
    if (scan.second_copies == before) {
      scan.damage.push_back("two keys share cell " + cell_name(__atomic_load_n(&slot->word, __ATOMIC_RELAXED)));
    }
  }

  void carry_tags(const Layout& from, const Layout& to, unsigned level, std::uint64_t begin,
                  std::uint64_t end) const override {
    CellFree reader(persist_);
    const auto source = view_as<Shape>(from);
    const auto target = view_as<Shape>(to);
    for (std::uint64_t bucket = begin; bucket < end; ++bucket) {
      index::carry_tags(reader.memory, source, target, level, bucket);
    }
  }

  void drain(Slot* level_slots, unsigned level, std::uint64_t begin, std::uint64_t end, bool recovering,
             Drained& drained) const override {
    const CellFree owned(persist_);
    const Memory& memory = owned.memory;
    const Tile tile;
    for (std::uint64_t i = begin; i < end; ++i) {
      if (i + 2 * kLinesAhead < end) prefetch_tags_of(view_.after(level_slots, i + 2 * kLinesAhead));
      if (i + kLinesAhead < end) prefetch_target_of(memory, view_.after(level_slots, i + kLinesAhead));
      Slot* const slot = view_.after(level_slots, i);
      const std::uint64_t key = slot->key, word = slot->word;
      if (key == 0 && (word == 0 || view_.key_decides())) continue;
      if (recovering && !belongs(memory, level, i / view_.shape.slots(), slot, drained)) continue;
      index::Rehashed result;
      while ((result = index::rehash_slot(tile, memory, view_, slot)) == index::Rehashed::busy) pause();
      drained.moved += result == index::Rehashed::moved;
      drained.cleared += result == index::Rehashed::cleared;
      if (result == index::Rehashed::needs_level) {
        drained.needs_level = true;
        return;
      }
    }
  }

  void scan_aside(bool repair, CellSet& cells, Scan& scan) const override {
    const CellFree owned(persist_);
    const Memory& memory = owned.memory;
    std::uint64_t word = 0;
    std::uint8_t tag = index::kTagEmpty;
    switch (index::inspect_aside(memory, view_, word)) {
      case index::SlotState::occupied:
        tag = Candidate(view_, 0).tag();
        ++scan.items;
        if (!view_.in_slot() && !mark_live(cells, word, scan)) {
          scan.damage.push_back("key 0 shares its cell with another key");
        }
        break;
      case index::SlotState::torn:
        ++scan.torn;
        if (repair) index::clear_torn(memory, view_.aside);
        break;
      case index::SlotState::empty: break;
      case index::SlotState::misplaced:
      case index::SlotState::no_cell: scan.damage.push_back("the aside slot is damaged");
    }
    memory.poke(view_.tags + view_.aside_index() + 1, tag);
  }

  void clear(Slot* first, std::uint64_t slots) const override {
    const CellFree owned(persist_);
    const Memory& memory = owned.memory;
    for (std::uint64_t i = 0; i < slots; ++i) {
      Slot* const slot = view_.after(first, i);
      if (!view_.key_decides()) memory.store(&slot->word, 0);
      memory.store(&slot->key, 0);
    }
    memory.flush(first, slots * view_.slot_bytes());
    memory.fence();
  }

  bool keeps(index::Step step) const override { return Memory::keeps(step); }

 private:
  /// A memory for work that takes and frees no cell.
  struct CellFree {
    explicit CellFree(const memory::Persist& persist) : memory(persist, purse, tally) {}
    Epochs epochs;
    Cells none{epochs};
    CellPurse purse{none};
    Tally tally;
    Memory memory;
  };

  static void pause() { __builtin_ia32_pause(); }

  static index::Key key_of(const View<Shape>& view, const Work& work, std::size_t row) {
    if constexpr (Shape::kVariable) {
      const index::Part key = work.key_part(row);
      return {index::hash_of(key, view.seed), key};
    } else {
      return index::given_key<Memory>(view, work.keys + row * view.key_bytes());
    }
  }

  /// False if a slot that was read before names the cell, too.
  static bool mark_live(CellSet& cells, std::uint64_t word, Scan& scan) {
    if constexpr (Shape::kVariable) {
      if (!static_cast<PairCells&>(cells).mark_live(word)) return false;
      scan.left += index::PairWord{word}.left();
      return true;
    } else {
      static_cast<void>(scan);
      return static_cast<Cells&>(cells).mark_live(word - 1);
    }
  }

  static Blob copy_part(const Memory& memory, const index::Part& part, Arena& arena) {
    std::byte* const to = arena.take(part.size);
    memory.read_bytes(to, part.data, part.size);
    return {to, part.size};
  }

  static void skip(const index::Rows& rows, std::size_t row) {
    rows.statuses[row] = Status::not_run;
    if (rows.found) rows.found[row] = false;
    if (std::byte* const to = rows.result(row)) std::memset(to, 0, rows.value_bytes);
  }

  /// Where in the work the flight of `row` stands: within one group after `first`.
  static std::size_t position(const Work& work, std::size_t first, std::size_t row) {
    while (work.row(first) != row) ++first;
    return first;
  }

  // Rehashing looks this far ahead: at the tags of an item, and later at the slot that it will likely take.
  void prefetch_tags_of(const Slot* slot) const {
    if (slot->key != 0) Ask::tags(view_, Candidate(view_, index::slot_key(view_, slot, slot->key, slot->word)));
  }
  void prefetch_target_of(const Memory& memory, const Slot* slot) const {
    if (slot->key == 0) return;
    const Candidate candidates(view_, index::slot_key(view_, slot, slot->key, slot->word));
    const Tile tile;
    const LaneMask empty = tile.match(view_, candidates, tile.load_tags(memory, view_, candidates), index::kTagEmpty);
    if (empty != 0) Ask::line(candidates.slot(view_, index::choose_lane(view_, candidates, empty)));
  }

  /// Addresses of slots that a group will read, each of another line as a rule. One tag in twenty that matches is of
  /// another key, so a key may have several; those beyond the room are fetched when they are read.
  struct Ahead {
    static constexpr std::size_t kRoom = (Shape::kMayBeWide ? 4 : 2) * kGroup;  // wide slots lie on up to four lines
    const void* address[kRoom];
    std::size_t count = 0;
    void add(const View<Shape>& view, const Slot* slot) {
      const auto* const first = reinterpret_cast<const std::byte*>(slot);
      if (count < kRoom) address[count++] = first;
      if constexpr (Shape::kMayBeWide) {
        const std::byte* const last = first + view.slot_bytes() - 1;
        const auto line_of = [](const std::byte* at) { return reinterpret_cast<std::uintptr_t>(at) / memory::kLine; };
        for (const std::byte* at = first + memory::kLine; line_of(at) <= line_of(last) && count < kRoom;
             at += memory::kLine)
          address[count++] = at;
      }
    }
    void add(const View<Shape>& view, const Candidate& candidates, LaneMask hits) {
      for (; hits != 0; hits &= hits - 1) add(view, candidates.slot(view, lowest_bit(hits)));
    }
  };

  /// The slots that a change will touch: where the key may be, and where an insert would put it.
  static void add_touched(const View<Shape>& view, const Memory& memory, const index::Rows& rows, const Flight& flight,
                          Ahead& ahead) {
    const Tile tile;
    const auto tags = tile.load_tags(memory, view, flight.candidates);
    ahead.add(view, flight.candidates, tile.match(view, flight.candidates, tags, flight.candidates.tag()));
    if (!takes_value(rows.op_of(flight.row))) return;
    const LaneMask empty = tile.match(view, flight.candidates, tags, index::kTagEmpty);
    if (empty != 0) ahead.add(view, flight.candidates.slot(view, index::choose_lane(view, flight.candidates, empty)));
  }

  /// Asks for lines in a row. A prefetch whose page is not in the TLB holds up what comes after it until the page is
  /// found; with other work between them few such searches run at a time, and the pool has no huge pages to avoid them.
  static void prefetch_all(const Ahead& ahead) {
    for (std::size_t i = 0; i < ahead.count; ++i) Ask::line(ahead.address[i]);
  }

  static void prefetch_value(const index::Rows& rows, const std::byte* cell) {
    const std::size_t bytes = std::min<std::size_t>(rows.value_bytes, kLinesAhead * memory::kLine);
    for (std::size_t at = 0; at < bytes; at += memory::kLine) Ask::line(cell + at);
    Ask::line(cell + bytes - 1);
  }

  /// For a read among changes: the value that its slots name now. Others may change them before it is read, so this is a hint.
  static void prefetch_value_of(const View<Shape>& view, const Memory& memory, const index::Rows& rows,
                                const Flight& flight) {
    const Tile tile;
    const auto tags = tile.load_tags(memory, view, flight.candidates);
    const LaneMask hits = tile.match(view, flight.candidates, tags, flight.candidates.tag());
    const Item item = tile.first_item(memory, view, flight.candidates, hits);
    if (item && item.word - 1 < view.cells) prefetch_value(rows, view.cell(item.word - 1) + rows.column);
  }

  /// Asks for the pairs of the slots that have the key's fingerprint: those that a search compares. `whole`: it copies them, too.
  static void prefetch_pairs(const View<Shape>& view, const Memory& memory, const Candidate& candidates, LaneMask hits,
                             bool whole) {
    for (; hits != 0; hits &= hits - 1) {
      const Slot* const slot = candidates.slot(view, lowest_bit(hits));
      if (memory.load(&slot->key) != candidates.stored_key()) continue;
      const std::uint64_t word = memory.load(&slot->word);
      if (word == 0) continue;
      const index::PairWord pair{word};
      const std::byte* const cell = view.heap + pair.begin();
      const std::size_t lines = whole ? kLinesAhead : 2;
      const std::size_t bytes = std::min<std::size_t>(pair.pair_bytes(), lines * memory::kLine);
      for (std::size_t at = 0; at < bytes; at += memory::kLine) Ask::line(cell + at);
    }
  }

  /// `kAside`: the reserved key is among them; without it, nothing has to ask.
  template <bool kAside>
  void find_group(const View<Shape>& view, const Memory& memory, const index::Rows& rows, Flight* flights,
                  std::size_t count, Tally& tally) const {
    const Tile tile;
    Ahead ahead;
    for (Flight* flight = flights; flight != flights + count; ++flight) {
      if (!kAside && flight->candidates.aside()) __builtin_unreachable();
      flight->seen = index::look(tile, memory, view, flight->candidates);
      ahead.add(view, flight->candidates, flight->seen.hits);
    }
    prefetch_all(ahead);
    if constexpr (Shape::kVariable) {
      for (const Flight* flight = flights; flight != flights + count; ++flight) {
        prefetch_pairs(view, memory, flight->candidates, flight->seen.hits, rows.blobs != nullptr);
      }
    }
    const std::byte* cells[kGroup];
    std::size_t asked = 0;
    const bool reads = !Shape::kVariable && !view.in_slot() && rows.out != nullptr && rows.value_bytes != 0;
    for (Flight* flight = flights; flight != flights + count; ++flight) {
      if (!kAside && flight->candidates.aside()) __builtin_unreachable();
      index::Found found = index::confirm(tile, memory, view, flight->candidates, flight->seen);
      if (!found.settled) found = find_settled(memory, flight->candidates, tally);
      flight->slot = found.item.slot;
      flight->word = found.item.word;
      if (reads && found.item) cells[asked++] = view.cell(found.item.word - 1) + rows.column;
    }
    for (std::size_t i = 0; i < asked; ++i) prefetch_value(rows, cells[i]);
    for (const Flight* flight = flights; flight != flights + count; ++flight) {
      answer(view, memory, rows, flight->row, {flight->slot, flight->word, 0});
    }
  }

  [[gnu::noinline]] index::Found find_settled(const Memory& memory, const Candidate& candidates, Tally& tally) const {
    const Tile tile;
    index::Found found;
    do {
      ++tally.retries;
      found = index::find(tile, memory, view_, candidates);
      if (!found.settled) sched_yield();
    } while (!found.settled);
    return found;
  }

  static void answer(const View<Shape>& view, const Memory& memory, const index::Rows& rows, std::size_t row,
                     const Item& item) {
    rows.statuses[row] = item ? Status::found : Status::not_found;
    if (rows.found) rows.found[row] = static_cast<bool>(item);
    if constexpr (Shape::kVariable) {
      const bool wanted = rows.blobs != nullptr && rows.op_of(row) != Op::contains;
      if (item && wanted) {
        rows.blobs[row] = copy_part(memory, index::pair_at(memory, view, item.word).value, *rows.arena);
      }
      return;
    }
    std::byte* const to = rows.op_of(row) == Op::contains ? nullptr : rows.result(row);
    if (to == nullptr) return;
    if (item) {
      copy_value(view, memory, rows, to, item);
    } else {
      std::memset(to, 0, rows.value_bytes);
    }
  }

  static void copy_value(const View<Shape>& view, const Memory& memory, const index::Rows& rows, std::byte* to,
                         const Item& item) {
    const std::size_t bytes = rows.value_bytes;
    if (!view.in_slot()) {
      memory.read_bytes(to, view.cell(item.word - 1) + rows.column, bytes);
    } else if (bytes == 8) {
      std::memcpy(to, &item.word, 8);
    } else {
      std::memcpy(to, reinterpret_cast<const std::byte*>(&item.word) + rows.column, bytes);
    }
  }

  /// Where the group stopped, and why in `outcome`.
  template <bool kAside>
  std::size_t change_group(const View<Shape>& view, const Memory& memory, const Work& work, Flight* flights,
                           std::size_t count, Tally& tally, index::Outcome& outcome) const {
    Ahead ahead;
    for (std::size_t i = 0; i < count; ++i) {
      if (!kAside && flights[i].candidates.aside()) __builtin_unreachable();
      add_touched(view, memory, work.rows, flights[i], ahead);
    }
    prefetch_all(ahead);
    if (Memory::kLooksAhead && work.rows.ops != nullptr && work.rows.out != nullptr && !view.in_slot()) {
      for (std::size_t i = 0; i < count; ++i) {
        if (reads_value(work.rows.op_of(flights[i].row))) prefetch_value_of(view, memory, work.rows, flights[i]);
      }
    }
    if constexpr (Shape::kVariable) {
      const Tile tile;
      for (std::size_t i = 0; i < count; ++i) {
        const Candidate& candidates = flights[i].candidates;
        const auto tags = tile.load_tags(memory, view, candidates);
        prefetch_pairs(view, memory, candidates, tile.match(view, candidates, tags, candidates.tag()), false);
      }
    }
    for (std::size_t i = 0; i < count; ++i) {
      if (!kAside && flights[i].candidates.aside()) __builtin_unreachable();
      outcome = change_one(view, memory, work, flights[i], tally);
      if (outcome != index::Outcome::done) return i;
    }
    return count;
  }

  // The groups that nearly all operations are in, as one function each with all that they call. It takes a compiler ten
  // seconds and more for each, so the other configurations do without in changes, and a sanitized build altogether.
  HOLDFAST_FLATTEN void inlined_find_group(const View<Shape>& view, const Memory& memory, const index::Rows& rows,
                                           Flight* flights, std::size_t count, Tally& tally) const {
    find_group<false>(view, memory, rows, flights, count, tally);
  }

  std::size_t inlined_change_group(const View<Shape>& view, const Memory& memory, const Work& work, Flight* flights,
                                   std::size_t count, Tally& tally, index::Outcome& outcome) const {
    if constexpr (kInlinesChanges) {
      return flat_change_group(view, memory, work, flights, count, tally, outcome);
    } else {
      return change_group<false>(view, memory, work, flights, count, tally, outcome);
    }
  }

  HOLDFAST_FLATTEN std::size_t flat_change_group(const View<Shape>& view, const Memory& memory, const Work& work,
                                                 Flight* flights, std::size_t count, Tally& tally,
                                                 index::Outcome& outcome) const {
    return change_group<false>(view, memory, work, flights, count, tally, outcome);
  }

  index::Outcome change_one(const View<Shape>& view, const Memory& memory, const Work& work, const Flight& flight,
                            Tally& tally) const {
    if (!holdfast::changes(work.rows.op_of(flight.row))) {
      answer(view, memory, work.rows, flight.row, find_settled(memory, flight.candidates, tally).item);
      return index::Outcome::done;
    }
    index::Run<std::uint32_t> run;
    run.first = flight.row;
    for (unsigned tries = 1;; ++tries) {
      const Tile tile;
      const auto outcome = index::apply_run(tile, memory, view, work.rows, run, flight.candidates, work.permits);
      if (outcome != index::Outcome::claim_missed) return outcome;
      ++tally.claim_misses;
      if (tries % 64 == 0) {
        sched_yield();
      } else {
        pause();
      }
    }
  }

  std::string cell_name(std::uint64_t word) const {
    if constexpr (Shape::kVariable) {
      const index::PairWord pair{word};
      return std::to_string(pair.begin()) + " of class " + std::to_string(pair.size_class());
    }
    return std::to_string(word - 1);
  }

  std::string name_of(std::uint64_t key) const {
    return view_.has_fingerprints() ? "a key with fingerprint " + std::to_string(key) : "key " + std::to_string(key);
  }

  /// False, with a report, if a slot of a drained level holds what cannot be.
  bool belongs(const Memory& memory, unsigned level, std::uint64_t bucket, const Slot* slot, Drained& drained) const {
    const std::uint64_t key = slot->key, word = slot->word;
    if (!view_.key_decides() && (key == 0 || word == 0)) return true;  // torn: rehash_slot empties it
    const Candidate candidates(view_, index::slot_key(view_, slot, key, word));
    bool here = false;
    for (unsigned j = 0; j < view_.shape.hashes(); ++j) here |= top_bits(candidates.location(j), level) == bucket;
    here &= !view_.wide() || index::has_own_hash(memory, view_, slot, key);
    if (here && (view_.in_slot() || index::has_cell(memory, view_, word))) return true;
    drained.damage.push_back("level " + std::to_string(level) + " bucket " + std::to_string(bucket) + " holds " +
                             name_of(key) + ", which does not belong there");
    return false;
  }

  void report(std::vector<std::string>& damage, index::SlotState state, unsigned rank, std::uint64_t bucket,
              unsigned slot, std::uint64_t key, std::uint64_t word) const {
    if (damage.size() >= 16) return;
    const std::string where = "level " + std::to_string(view_.top_level - rank) + " bucket " + std::to_string(bucket) +
                              " slot " + std::to_string(slot);
    damage.push_back(state == index::SlotState::no_cell
                         ? where + " names cell " + cell_name(word) + " of " + std::to_string(view_.cells) +
                               (Shape::kVariable ? " slabs" : "")
                         : where + " holds " + name_of(key) + ", which does not belong there");
  }

  index::View<Shape> view_;
  memory::Persist persist_;
};

template <class Tile>
std::unique_ptr<Driver> make_driver_for(const index::RuntimeShape& shape, bool variable,
                                        const memory::Persist& persist) {
  const auto make = [&]<class Shape>(Shape) -> std::unique_ptr<Driver> {
    if (persist.flushes()) return std::make_unique<DriverImpl<Tile, Shape, true>>(shape, persist);
    return std::make_unique<DriverImpl<Tile, Shape, false>>(shape, persist);
  };
  // Each shape that is compiled takes half a minute, so only the keys of 8 bytes have one of their own.
  if (variable) return make(index::RuntimeVariableShape{});
  if (shape.wide() || !index::is_default(shape)) return make(index::RuntimeShape{});
  return make(index::DefaultShape{});
}

}  // namespace holdfast::machine::cpu
