// recover.hpp: opening after a crash: undoes the change that the log names, and finishes an erase that had items to move. Repeatable.
#pragma once

#include <string>

#include "structures/cells/change.hpp"
#include "structures/persistent_table.hpp"

namespace holdfast::cells {

/// What is wrong with the words of line 0 and of the reserved cell; empty: nothing. Recovery relies on it.
template <bool kLogged, class Memory>
std::string flaw_in_log(const Memory& memory, const View& view) {
  const Shape& shape = view.shape;
  const std::uint64_t state = memory.load(view.words + word::kState);
  const std::uint64_t other = memory.load(view.words + word::kOther);
  const auto mode = static_cast<Mode>(state & 7);
  const Cell cell = state >> 3;
  if (memory.load(view.words + word::kCount) > shape.cells() + 1) return "it says that it has more items than cells";
  if (!kLogged && (state != 0 || other != 0)) return "its log has an entry, and it has no log";
  if (mode > Mode::clear || cell > shape.reserved() || ((mode == Mode::none || mode == Mode::clear) && cell != 0)) {
    return "its log entry has the state " + std::to_string(state) + ", which there is not";
  }
  if (mode != Mode::change && mode != Mode::move) return {};
  if (other > shape.reserved() || other == cell + 1 || (mode == Mode::move && other == 0)) {
    return "its log entry names the cell " + std::to_string(other) + " - 1, which there is not";
  }
  if (memory.load(view.words + word::kOldCount) > shape.cells() + 1) {
    return "its log entry has a count of more items than cells";
  }
  for (unsigned i = shape.item_words; i < 4; ++i) {
    if (memory.load(view.words + word::kOld + i) != 0)
      return "its log entry has words behind the item that are not zero";
  }
  return {};
}

/// Undoes a change whose entry is in the log. Returns the cell that an interrupted erase left empty, or kNoCell.
template <class Scheme, class Item, class Memory>
Cell undo(const Cells<Item, Memory>& cells, Mode mode, Cell cell) {
  const Memory& memory = cells.memory;
  std::uint64_t* const words = cells.view.words;
  const std::uint64_t stored = memory.load(words + word::kOther);
  const Cell other = stored == 0 ? kNoCell : stored - 1;
  const Change<Scheme, true, Item, Memory> change(cells);
  if (memory.keeps(Step::undo)) {
    std::uint64_t* const to = cells.view.cell(cell);
    for (unsigned i = 0; i < Item::kWords; ++i) memory.store(to + i, memory.load(words + word::kOld + i));
  }
  if (other != kNoCell && memory.keeps(Step::undo_other)) cells.empty(other);
  if (memory.keeps(Step::flush_undo)) change.flush_cells(cell, other);
  if (memory.keeps(Step::fence_undo)) memory.fence();
  HOLDFAST_FAILPOINT(change_undone);
  const std::uint64_t count = memory.keeps(Step::undo_count) ? memory.load(words + word::kOldCount) : cells.count();
  const bool goes_on = mode == Mode::move;
  change.settle(count, goes_on ? state_of(Mode::hole, other) : 0);
  return goes_on ? other : kNoCell;
}

/// Empties every cell. Its callers keep all others out.
template <class Scheme, bool kLogged, class Item, class Memory>
void clear(const Cells<Item, Memory>& cells) {
  const Memory& memory = cells.memory;
  const View& view = cells.view;
  const Change<Scheme, kLogged, Item, Memory> change(cells);
  if (kLogged && memory.keeps(Step::note_clear)) change.settle(cells.count(), state_of(Mode::clear, 0));
  for (std::uint64_t i = kLineWords; i < view.shape.words(); ++i) memory.store(view.words + i, 0);
  if (memory.keeps(Step::flush_clear)) memory.flush(view.words + kLineWords, (view.shape.words() - kLineWords) * 8);
  if (memory.keeps(Step::fence_clear)) memory.fence();
  change.settle(0, 0);
}

/// No other thread may use the table. Without a log it does nothing.
template <class Scheme, bool kLogged, class Item, class Memory>
structures::Recovered recover(const Cells<Item, Memory>& cells) {
  const std::uint64_t state = cells.memory.load(cells.view.words + word::kState);
  const auto mode = static_cast<Mode>(state & 7);
  if (kLogged && mode == Mode::clear) clear<Scheme, kLogged>(cells);
  if (kLogged && mode != Mode::none && mode != Mode::clear) {
    const Change<Scheme, true, Item, Memory> change(cells);
    const Cell hole = mode == Mode::hole ? state >> 3 : undo<Scheme>(cells, mode, state >> 3);
    if (hole != kNoCell) {
      if (cells.memory.keeps(Step::continue_shift)) change.fill_hole(hole);
      change.settle(cells.count(), 0);
    }
  }
  return {.items = cells.count(), .undone = kLogged && mode != Mode::none ? 1u : 0u};
}

}  // namespace holdfast::cells
