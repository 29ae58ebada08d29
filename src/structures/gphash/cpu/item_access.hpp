// item_access.hpp: the policy of a group of operations (groups.hpp): where their keys are, what of their items is prefetched, and how
// rows are answered. One for values of one size, one for pairs of any length. Everything here depends on `Tile`, so that files compiled
// for different instruction sets share none of it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "structures/gphash/cpu/driver.hpp"
#include "structures/gphash/cpu/prefetch.hpp"
#include "structures/gphash/cpu/simd/tile.hpp"
#include "structures/gphash/cpu/verify.hpp"

namespace holdfast::gphash::cpu {

inline constexpr std::size_t kGroup =
    64;  ///< operations in flight: enough for every line-fill buffer; a bit of a word each
inline constexpr std::size_t kLinesAhead = 16;  ///< of one value or pair

template <class Tile, class Shape, bool kMayFlush, bool kVariable>
struct ItemAccess;

/// Keys of one length, in the batch's array; values in slots or in cells of one size.
template <class Tile, class Shape, bool kMayFlush>
struct ItemAccess<Tile, Shape, kMayFlush, false> {
  using View = gphash::View<Shape>;
  using Memory = CpuMemory<Tile, kMayFlush>;
  using Ask = Prefetch<Tile, Shape>;
  /// A key and its value alone are a gphash::OneRow.
  static constexpr bool kHasOneRow = true;

  static gphash::Key key_of(const View& view, const Work& work, std::size_t row) {
    return gphash::given_key<Memory>(view, work.keys + row * view.key_bytes());
  }

  /// Asks for what a search compares behind the slots that it looks at.
  template <class Flight>
  static void prefetch_compared(const View&, const Memory&, const gphash::Rows&, const Flight*, std::size_t) {}

  /// Asks for what the answers of searches are copied from.
  template <class Flight>
  static void prefetch_found(const View& view, const gphash::Rows& rows, const Flight* flights, std::size_t count) {
    const bool reads = !view.in_slot() && rows.out != nullptr && rows.value_bytes != 0;
    const bool scores = !view.in_slot() && rows.scores != nullptr;
    if (!reads && !scores) return;
    const std::byte* cells[kGroup];
    std::size_t asked = 0;
    for (const Flight* flight = flights; flight != flights + count; ++flight) {
      if (flight->slot != nullptr) cells[asked++] = view.cell(flight->word - 1);
    }
    for (std::size_t i = 0; i < asked; ++i) {
      if (reads) prefetch_value(rows, cells[i] + rows.column);
      if (scores) Ask::line(cells[i] + view.score_at());
    }
  }

  /// Among changes: asks for the value that a key's slots name now, or its score. Others may change them before it is read, so this is a
  /// hint.
  template <class Flight>
  static void prefetch_changed(const View& view, const Memory& memory, const gphash::Rows& rows, const Flight* flights,
                               std::size_t count) {
    const bool reads = rows.ops != nullptr && rows.out != nullptr && !view.in_slot() && rows.value_bytes != 0;
    const bool counts = view.score == Score::frequency;
    if (!Memory::kLooksAhead || (!reads && !counts)) return;
    const Tile tile;
    for (const Flight* flight = flights; flight != flights + count; ++flight) {
      const bool reads_this = reads && reads_value(rows.op_of(flight->row));
      if (!reads_this && !counts) continue;
      const auto tags = tile.load_tags(memory, view, flight->candidates);
      const LaneMask hits = tile.match(view, flight->candidates, tags, flight->candidates.tag());
      const Item item = tile.first_item(memory, view, flight->candidates, hits);
      if (!item || item.word - 1 >= view.cells) continue;
      if (reads_this) prefetch_value(rows, view.cell(item.word - 1) + rows.column);
      if (counts) Ask::line(view.score_of(item.word - 1));
    }
  }

  /// True if a pair that the row met, or that its answer was read from, is damaged.
  template <class Flight>
  static bool is_damaged(const View&, const Memory&, const Flight&, bool) {
    return false;  // values have no checksums
  }

  /// The value of a row that was searched for, or zeros.
  static void answer(const View& view, const Memory& memory, const gphash::Rows& rows, std::size_t row,
                     const Item& item) {
    if (rows.scores) rows.scores[row] = item ? memory.load_value(view.score_of(item.word - 1)) : 0;
    std::byte* const to = reads_value(rows.op_of(row)) ? rows.result(row) : nullptr;
    if (to == nullptr) return;
    if (item) {
      copy_value(view, memory, rows, to, item);
    } else {
      std::memset(to, 0, rows.value_bytes);
    }
  }

 private:
  static void prefetch_value(const gphash::Rows& rows, const std::byte* cell) {
    const std::size_t bytes = std::min<std::size_t>(rows.value_bytes, kLinesAhead * pool::kLine);
    for (std::size_t at = 0; at < bytes; at += pool::kLine) Ask::line(cell + at);
    Ask::line(cell + bytes - 1);
  }

  static void copy_value(const View& view, const Memory& memory, const gphash::Rows& rows, std::byte* to,
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
};

/// Pairs. The members are those above.
template <class Tile, class Shape, bool kMayFlush>
struct ItemAccess<Tile, Shape, kMayFlush, true> {
  using View = gphash::View<Shape>;
  using Memory = CpuMemory<Tile, kMayFlush>;
  using Candidate = Candidates<Shape>;
  static constexpr bool kHasOneRow = false;

  static gphash::Key key_of(const View& view, const Work& work, std::size_t row) {
    const gphash::Part key = work.key_part(row);
    return {gphash::hash_of(key, view.seed), key};
  }

  template <class Flight>
  static void prefetch_compared(const View& view, const Memory& memory, const gphash::Rows& rows, const Flight* flights,
                                std::size_t count) {
    for (const Flight* flight = flights; flight != flights + count; ++flight)
      prefetch_pairs(view, memory, flight->candidates, flight->seen.hits, rows.blobs != nullptr);
  }
  template <class Flight>
  static void prefetch_found(const View&, const gphash::Rows&, const Flight*, std::size_t) {}  // with what is compared

  template <class Flight>
  static void prefetch_changed(const View& view, const Memory& memory, const gphash::Rows&, const Flight* flights,
                               std::size_t count) {
    const Tile tile;
    for (const Flight* flight = flights; flight != flights + count; ++flight) {
      const Candidate& candidates = flight->candidates;
      const auto tags = tile.load_tags(memory, view, candidates);
      prefetch_pairs(view, memory, candidates, tile.match(view, candidates, tags, candidates.tag()), false);
    }
  }

  template <class Flight>
  static bool is_damaged(const View& view, const Memory& memory, const Flight& flight, bool answered) {
    return cpu::is_damaged(Tile{}, memory, view, flight.candidates, answered && flight.slot ? flight.word : 0);
  }

  static void answer(const View& view, const Memory& memory, const gphash::Rows& rows, std::size_t row,
                     const Item& item) {
    if (!item || rows.blobs == nullptr || !reads_value(rows.op_of(row))) return;
    const gphash::Part value = gphash::pair_at(memory, view, item.word).value;
    std::byte* const to = rows.arena->take(value.size);
    memory.read_bytes(to, value.data, value.size);
    rows.blobs[row] = {to, value.size};
  }

 private:
  /// Asks for the pairs of the slots that have the key's fingerprint: those that a search compares. `whole`: it copies them, too.
  static void prefetch_pairs(const View& view, const Memory& memory, const Candidate& candidates, LaneMask hits,
                             bool whole) {
    for (; hits != 0; hits &= hits - 1) {
      const Slot* const slot = candidates.slot(view, lowest_bit(hits));
      if (memory.load(&slot->key) != candidates.stored_key()) continue;
      const std::uint64_t word = memory.load(&slot->word);
      if (word == 0) continue;
      const heap::CellWord pair{word};
      const std::byte* const cell = view.heap + pair.begin();
      const std::size_t lines = whole ? kLinesAhead : 2;
      const std::size_t bytes = std::min<std::size_t>(pair.pair_bytes(), lines * pool::kLine);
      for (std::size_t at = 0; at < bytes; at += pool::kLine) Prefetch<Tile, Shape>::line(cell + at);
    }
  }
};

}  // namespace holdfast::gphash::cpu
