// change.hpp: inserts, assignments and erases of a table of cells, with and without an undo log.
//
//   with a log     entry durable; cells durable; entry void and count durable, which are in one line             three persists
//                  an erase that moves items: the same again for each of them
//   without        cells and count, then one fence: a crash leaves any part of it
//
// An entry is one line. Its state is stored last, and stores to one line become durable in order, so an entry is there whole or not at
// all. It has the old content of one cell. A second cell that a change fills was empty, so its number is enough.
//
// An erase empties the cell. If items have to move into it, the void entry says which cell is empty (Mode::hole), and from then on the
// erase is finished, not undone, after a crash: each move is undone alone and done again.
#pragma once

#include "core/failpoint.hpp"
#include "holdfast/status.hpp"
#include "structures/cells/cells.hpp"

namespace holdfast::cells {

/// What the undo log says is under way.
enum class Mode : std::uint8_t {
  none,    ///< nothing: the entry is void
  change,  ///< the cell, and the other one, are changed
  move,    ///< a part of an erase: the item of the cell moves to the other one
  hole,    ///< the entry is void; an erase has emptied the cell, and items may have to move into it
  clear    ///< every cell is emptied
};
inline std::uint64_t state_of(Mode mode, Cell cell) { return cell << 3 | static_cast<std::uint64_t>(mode); }

template <class Scheme, bool kLogged, class Item, class Memory>
class Change {
 public:
  using Key = typename Item::Key;
  using Value = typename Item::Value;
  using Cells = cells::Cells<Item, Memory>;

  explicit Change(const Cells& cells) : cells_(cells), memory_(cells.memory), words_(cells.view.words) {}

  void insert(const Placement& to, const Key& key, const Value& value) const {
    const std::uint64_t count = cells_.count();
    log(Mode::change, to.cell, to.moves_to);
    if (to.moves_to != kNoCell) cells_.store(to.moves_to, cells_.key(to.cell), cells_.value(to.cell));
    cells_.store(to.cell, key, value);
    finish(to.cell, to.moves_to, count + 1, state_of(Mode::none, 0));
  }
  void assign(Cell cell, const Value& value) const {
    const std::uint64_t count = cells_.count();
    log(Mode::change, cell, kNoCell);
    cells_.store_value(cell, value);
    finish(cell, kNoCell, count, state_of(Mode::none, 0));
  }
  void erase(Cell cell) const {
    const std::uint64_t count = cells_.count();
    log(Mode::change, cell, kNoCell);
    cells_.empty(cell);
    const Cell next = next_to_move(cell);
    finish(cell, kNoCell, count - 1, state_after(cell, next));
    fill_hole(cell, next);
  }
  /// Moves items into an empty cell until none needs to.
  void fill_hole(Cell hole) const { fill_hole(hole, next_to_move(hole)); }
  /// Makes the entry void, or a hole, with the count: one line.
  void settle(std::uint64_t count, std::uint64_t state) const {
    memory_.store(words_ + word::kCount, count);
    memory_.store(words_ + word::kState, state);
    if (memory_.keeps(Step::flush_void)) memory_.flush(words_, kLineWords * 8);
    if (memory_.keeps(Step::fence_void)) memory_.fence();
  }
  /// Writes back two cells, each line once.
  void flush_cells(Cell cell, Cell other) const {
    if (memory_.keeps(Step::flush_cells)) memory_.flush(cells_.view.cell(cell), Item::kBytes);
    if (other == kNoCell || cells_.view.line_of(other) == cells_.view.line_of(cell)) return;
    if (memory_.keeps(Step::flush_moved)) memory_.flush(cells_.view.cell(other), Item::kBytes);
  }

 private:
  Cell next_to_move(Cell hole) const {
    if (hole == cells_.shape().reserved() || !memory_.keeps(Step::shift_back)) return kNoCell;
    return Scheme::next_to_move(cells_, hole);
  }
  void fill_hole(Cell hole, Cell next) const {
    while (next != kNoCell) {  // ends: the cells behind the hole are fewer each time
      const std::uint64_t count = cells_.count();
      log(Mode::move, next, hole);
      cells_.store(hole, cells_.key(next), cells_.value(next));
      cells_.empty(next);
      const Cell after = next_to_move(next);
      finish(next, hole, count, state_after(next, after));
      hole = next;
      next = after;
    }
  }
  /// The state of the void entry behind an emptied cell, into which `next` has to move.
  std::uint64_t state_after(Cell emptied, Cell next) const {
    if (!kLogged || next == kNoCell || !memory_.keeps(Step::note_hole)) return 0;
    return state_of(Mode::hole, emptied);
  }
  /// Makes an entry durable: what `cell` holds, and that `other` is empty.
  void log(Mode mode, Cell cell, Cell other) const {
    if constexpr (!kLogged) return;
    if (!memory_.keeps(Step::state_last)) memory_.store(words_ + word::kState, state_of(mode, cell));
    memory_.store(words_ + word::kOther, other == kNoCell || !memory_.keeps(Step::note_other) ? 0 : other + 1);
    const std::uint64_t* const old = cells_.view.cell(cell);
    for (unsigned i = 0; i < Item::kWords; ++i) memory_.store(words_ + word::kOld + i, memory_.load(old + i));
    memory_.store(words_ + word::kOldCount, cells_.count());
    memory_.store(words_ + word::kState, state_of(mode, cell));
    if (memory_.keeps(Step::flush_entry)) memory_.flush(words_, kLineWords * 8);
    if (memory_.keeps(Step::fence_entry)) memory_.fence();
    HOLDFAST_FAILPOINT(undo_logged);
  }
  /// The cells are stored: makes them durable, then the count and the state of the log.
  void finish(Cell cell, Cell other, std::uint64_t count, std::uint64_t state) const {
    if constexpr (!kLogged) {
      flush_cells(cell, other);
      if (count != cells_.count()) {
        memory_.store(words_ + word::kCount, count);
        memory_.flush(words_ + word::kCount, 8);
      }
      memory_.fence();
      return;
    }
    flush_cells(cell, other);
    if (memory_.keeps(Step::fence_cells)) memory_.fence();
    HOLDFAST_FAILPOINT(cells_changed);
    settle(count, state);
    HOLDFAST_FAILPOINT(entry_void);
  }

  const Cells& cells_;
  const Memory& memory_;
  std::uint64_t* const words_;
};

}  // namespace holdfast::cells
