// space.cpp: cells for new items: free ones, then more of the heap, then those of items that have expired or were not read lately.
#include <algorithm>
#include <array>
#include <limits>
#include <memory>

#include "store/cpu/parts.hpp"

namespace holdfast::store::cpu {

namespace {

constexpr std::size_t kVictims = 32;  ///< evicted at once

struct KeySpace {
  std::array<std::uint64_t, (kMostKeyBytes + 7) / 8> words;
};

/// Of each thread: keys of items that it evicts.
KeySpace& key_space() {
  static thread_local const auto space = std::make_unique_for_overwrite<KeySpace>();
  return *space;
}

}  // namespace

Cell Engine::take(std::uint64_t words) {
  const unsigned size_class = class_of(8 * words);
  if (size_class == kClasses) return {};
  for (;;) {  // ends: there is a cell each time, unless other threads take what this one freed
    Cell cell = stocks_.take(memory_, words);
    if (cell.none() && !is_full_.load(std::memory_order_relaxed)) cell = take_kept(words);
    if (!cell.none()) return cell;
    if (!grow() && !make_space(size_class)) return take_kept(words);
  }
}

/// As if no thread kept cells.
Cell Engine::take_kept(std::uint64_t words) {
  stocks_.gather();
  return stocks_.take(memory_, words);
}

/// True: there are more pieces than before.
bool Engine::grow() {
  const std::uint64_t before = slabs_.load(std::memory_order_acquire);
  const std::lock_guard lock(growing_);
  if (slabs_.load(std::memory_order_relaxed) != before) return true;  // another thread was first
  const std::uint64_t slabs = options_.grow ? options_.grow() : before;
  is_full_.store(slabs == before, std::memory_order_relaxed);
  if (slabs == before) return false;
  cells_.extend(slabs);
  slabs_.store(slabs, std::memory_order_release);
  return true;
}

/// The cell of the item that a chunk belongs to, unless that was read lately: then none. Of another cell: itself.
Cell Engine::owner_of(const Cell& cell) const {
  const std::uint64_t owner = memory_.load(cell.words + kOwnerWord);
  if (memory_.load(cell.words + kSequenceWord) != 0 || owner >> 63 == 0) return cell;
  const Cell item = cells_.at({static_cast<std::uint32_t>(owner)});
  return item.none() || cells_.unmark(item.location) ? Cell{} : item;
}

/// Removes those items in the cells that are there still, unless their keys are being changed.
std::uint64_t Engine::evict_some(std::span<const Cell> cells) {
  Parts parts(*this);
  std::uint64_t evicted = 0;
  std::uint64_t* const key = key_space().words.data();
  for (const Cell& victim : cells) {
    const Cell cell = owner_of(victim);
    Glance seen;
    if (cell.none() || !glance(memory_, cell, seen, key)) continue;
    const Key its = key_of(reinterpret_cast<const std::byte*>(key), seen.header.key_bytes);
    evicted += evict(parts, its, cell, seen, [](State) { return true; }) ? 1 : 0;
  }
  evicted_.fetch_add(evicted, std::memory_order_relaxed);
  return evicted;
}

/// The class, other than `size_class`, of whose pieces the fewest items had to go lately; kClasses: no other has a piece.
unsigned Engine::class_with_least_pressure(unsigned size_class) const {
  unsigned least = kClasses;
  double least_pressure = std::numeric_limits<double>::max();
  for (unsigned other = 0; other < kClasses; ++other) {
    const std::uint64_t pieces = cells_.pieces_of(other);
    if (other == size_class || pieces == 0) continue;
    // Of bytes: a class of large cells has few items.
    const double pressure = static_cast<double>(pressure_[other].load(std::memory_order_relaxed)) * class_bytes(other) /
                            static_cast<double>(pieces);
    if (pressure < least_pressure) {
      least_pressure = pressure;
      least = other;
    }
  }
  return least;
}

/// Evicts items so that a cell of the class may be free. A class that has evicted a piece's worth of items while another lost less than half as
/// much of each of its pieces, or that has no piece at all, gets one of the other's. False: nothing can be evicted.
bool Engine::make_space(unsigned size_class) {
  if (!options_.evicts) return false;
  const std::uint64_t pieces = cells_.pieces_of(size_class);
  const std::uint64_t a_piece = mapped_.heap.slab_bytes() / class_bytes(size_class);
  const std::uint64_t lost = pressure_[size_class].load(std::memory_order_relaxed);
  if (pieces == 0 || lost >= a_piece) {
    const std::uint64_t unused = cells_.free_pieces();
    stocks_.gather();
    if (cells_.free_pieces() > unused) return true;
    const unsigned other = class_with_least_pressure(size_class);
    bool moves = other != kClasses;
    if (moves && pieces != 0) {
      const double own = static_cast<double>(lost) * class_bytes(size_class) / static_cast<double>(pieces);
      const double others = static_cast<double>(pressure_[other].load(std::memory_order_relaxed)) * class_bytes(other) /
                            static_cast<double>(cells_.pieces_of(other) + 1);
      moves = others < own / 2;
    }
    for (auto& pressure : pressure_) pressure.store(pressure.load(std::memory_order_relaxed) / 2);
    if (moves && evict_some(cells_.piece_at_hand(other)) != 0) {
      stocks_.gather();  // that the piece is without cells in use
      return true;
    }
    if (pieces == 0) return moves;
  }
  std::array<Cell, kVictims> victims;
  // Twice around: the first time may clear the marks of all cells.
  const std::uint64_t sweeps =
      2 + 2 * pieces * a_piece / CellSpace::kSweepCells + 2 * kGroupCells / CellSpace::kSweepCells;
  for (std::uint64_t i = 0; i < sweeps; ++i) {
    const std::size_t found = cells_.sweep(size_class, victims);
    const std::uint64_t evicted = evict_some(std::span(victims).first(found));
    pressure_[size_class].fetch_add(evicted, std::memory_order_relaxed);
    if (evicted != 0) return true;
  }
  return false;
}

std::uint64_t Engine::reclaim(std::uint64_t slabs) {
  Parts parts(*this);
  const std::uint64_t all = slabs_.load(std::memory_order_acquire);
  const std::uint64_t first = reclaimed_to_.load(std::memory_order_relaxed) % all;
  const std::uint64_t last = std::min(all, first + slabs);
  reclaimed_to_.store(last, std::memory_order_relaxed);
  counters_.refresh();
  std::uint64_t* const key = key_space().words.data();
  std::uint64_t reclaimed = 0;
  for (std::uint64_t piece = first; piece < last; ++piece) {
    for (const Cell& cell : cells_.cells_of(piece)) {
      const Moment moment = counters_.moment();
      Glance seen;
      if (!glance(memory_, cell, seen, key) || !moment.is_over(seen.state, seen.sequence)) continue;
      const Key its = key_of(reinterpret_cast<const std::byte*>(key), seen.header.key_bytes);
      const auto is_over = [&](State state) { return moment.is_over(state, seen.sequence); };
      reclaimed += evict(parts, its, cell, seen, is_over) ? 1 : 0;
    }
  }
  return reclaimed;
}

}  // namespace holdfast::store::cpu
