// recover.hpp: opening after a crash. §3.5, Algorithm 4.
//
// A cell whose bit is clear is free, whatever is in it, so nothing is reset; and the items are counted by their bits. What is left is an
// assignment that was interrupted between its two bits: two cells of a group have one key. The first in scan order, which a search
// finds, is the item, and the other is cleared. (The new value was neither acknowledged nor read, so either would do.)
// There is at most one such pair in a group, for a writer holds the group. Values of one word are changed in place and leave none.
#pragma once

#include <array>

#include "structures/group/change.hpp"
#include "structures/persistent_table.hpp"

namespace holdfast::group {

/// Calls `visit(cell)` for the occupied cells of a group, level 1 before level 2, each in order, until it returns false.
template <class Memory, class Visit>
void visit_cells(const Memory& memory, const View& view, const std::uint64_t* group, const Visit& visit) {
  for (std::uint32_t w = 0; w < view.shape.occupancy_words(); ++w) {
    const std::uint32_t level = w / view.shape.level_words();
    const Cell begin = level * view.shape.group_size + w % view.shape.level_words() * 64;
    for (std::uint64_t bits = memory.load(group + w); bits != 0; bits &= bits - 1) {
      const auto bit = static_cast<Cell>(std::countr_zero(bits));
      if (bit < view.shape.group_size && !visit(begin + bit)) return;
    }
  }
}

/// Cells of a group by the hash of their keys. On the stack: 8 KiB.
class CellsByHash {
 public:
  CellsByHash() { slots_.fill(kEmpty); }
  /// Adds a cell. Returns one before it for which `is_same` is true, or kNoCell.
  template <class IsSame>
  Cell add(std::uint64_t hash, Cell cell, const IsSame& is_same) {
    for (std::uint64_t at = hash;; ++at) {  // ends: more slots than cells
      std::uint16_t& slot = slots_[at % kSlots];
      if (slot == kEmpty) {
        slot = static_cast<std::uint16_t>(cell);
        return kNoCell;
      }
      if (is_same(slot)) return slot;
    }
  }

 private:
  static constexpr unsigned kSlots = 4 * kMostGroup;
  static constexpr std::uint16_t kEmpty = 0xffff;
  std::array<std::uint16_t, kSlots> slots_;
};

/// Calls `found(first, second)` for each two cells of a group that have one key, the first in scan order before the other.
template <class Item, class Memory, class Found>
void find_duplicates(const Memory& memory, const View& view, const std::uint64_t* group, const Found& found) {
  CellsByHash cells;
  visit_cells(memory, view, group, [&](Cell cell) {
    const std::uint64_t* const at = view.cell(const_cast<std::uint64_t*>(group), cell);
    const auto key = load_words<typename Item::Key>(memory, at);
    const Cell first = cells.add(structures::hash_of(key, view.seed), cell, [&](Cell other) {
      return has_key(memory, view.cell(const_cast<std::uint64_t*>(group), other), key);
    });
    if (first != kNoCell) found(first, cell);
    return true;
  });
}

/// Clears what is left of an interrupted assignment in a group. Returns how many cells it cleared.
template <class Item, class Memory>
unsigned recover_group(const Memory& memory, const View& view, std::uint64_t* group) {
  unsigned cleared = 0;
  find_duplicates<Item>(memory, view, group, [&](Cell, Cell second) {
    std::uint64_t* const word = group + word_of(view.shape, second);
    memory.store(word, memory.load(word) & ~bit_of(view.shape, second));
    persist(memory, word, 1, Step::flush_recovery, Step::fence_recovery);
    HOLDFAST_FAILPOINT(duplicate_cleared);
    ++cleared;
  });
  return cleared;
}

template <class Memory>
std::uint64_t count_items(const Memory& memory, const View& view, std::uint64_t number) {
  std::uint64_t items = 0;
  const std::uint64_t* const group = view.group(number);
  for (std::uint32_t w = 0; w < view.shape.occupancy_words(); ++w) {
    items += static_cast<std::uint64_t>(std::popcount(memory.load(group + w)));
  }
  return items;
}

/// No other thread may use the table.
template <class Item, class Memory>
structures::Recovered recover(const Memory& memory, const View& view) {
  structures::Recovered recovered;
  for (std::uint64_t number = 0; number < view.shape.groups; ++number) {
    if (!Item::kAtomicValue && memory.keeps(Step::clear_duplicate)) {
      recovered.duplicates += recover_group<Item>(memory, view, view.group(number));
    }
    recovered.items += count_items(memory, view, number);
  }
  return recovered;
}

}  // namespace holdfast::group
