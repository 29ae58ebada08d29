// victims.cpp: what a space knows of cells and pieces whose items may have to go: which were read lately, which are leased, and when items end.
#include <bit>

#include "core/both.hpp"
#include "store/cpu/cell_space.hpp"

namespace holdfast::store::cpu {

void CellSpace::mark(Location location) const {
  const Group* const group = groups_[location.group()].load(std::memory_order_acquire);
  std::atomic<std::uint64_t>& word = group->marks[location.cell() / 64];
  const std::uint64_t bit = std::uint64_t{1} << location.cell() % 64;
  if ((word.load(std::memory_order_relaxed) & bit) == 0) word.fetch_or(bit, std::memory_order_relaxed);
}

bool CellSpace::unmark(Location location) const {
  const Group* const group = groups_[location.group()].load(std::memory_order_acquire);
  std::atomic<std::uint64_t>& word = group->marks[location.cell() / 64];
  const std::uint64_t bit = std::uint64_t{1} << location.cell() % 64;
  return (word.load(std::memory_order_relaxed) & bit) != 0 &&
         (word.fetch_and(~bit, std::memory_order_relaxed) & bit) != 0;
}

bool CellSpace::is_marked(Location location) const {
  const Group* const group = groups_[location.group()].load(std::memory_order_acquire);
  return (group->marks[location.cell() / 64].load(std::memory_order_relaxed) >> location.cell() % 64 & 1) != 0;
}

bool CellSpace::is_leased(Location location) const {
  if (leased_.load(std::memory_order_acquire) == 0) return false;
  const std::lock_guard lock(mutex_);
  return leases_.contains(location.word);
}

std::size_t CellSpace::sweep(unsigned size_class, std::span<Cell> victims) {
  const std::lock_guard lock(mutex_);
  const std::vector<std::uint32_t>& groups = groups_of_[size_class];
  if (used_[size_class] == 0) return 0;
  Hand& hand = hands_[size_class];
  std::size_t found = 0;
  for (unsigned left = kSweepCells; left > 0 && found < victims.size(); --left, ++hand.cell) {
    if (hand.group >= groups.size()) hand = {};
    const Group& group = *group_of(groups[hand.group]);
    if (hand.cell >= group.pieces.size() * group.cells_in_piece || hand.cell >= kGroupCells) {
      hand = {hand.group + 1 < groups.size() ? hand.group + 1 : 0, ~std::uint32_t{0}};
      continue;
    }
    const std::uint32_t place = hand.cell / group.cells_in_piece, index = hand.cell % group.cells_in_piece;
    const std::uint32_t piece = group.pieces[place].load(std::memory_order_relaxed);
    if (piece == kNoPiece) {
      hand.cell += group.cells_in_piece - 1 - index;
      continue;
    }
    const Location here = Location::of(groups[hand.group], hand.cell);
    if (!leases_.empty() && leases_.contains(here.word)) continue;
    if (!unmark(here) && !pieces_[piece].free.has(index)) victims[found++] = cell_of(piece, index);
  }
  return found;
}

CellSpace::Use CellSpace::use_of(std::uint64_t number) const {
  const std::lock_guard lock(mutex_);
  const Piece& piece = pieces_[number];
  if (!piece.used) return {};
  const std::uint32_t cells = cells_in(piece.entry.size_class());
  Use use{piece.entry.size_class(), cells, cells - piece.free.count(), 0, piece.leased != 0};
  const Group& group = *group_of(piece.entry.group());
  const std::uint32_t first = piece.entry.place() * use.cells;
  for (std::uint32_t cell = 0; cell < use.cells; cell += 64) {
    use.read += static_cast<std::uint32_t>(std::popcount(group.marks_from(first + cell) & piece.free.used_from(cell)));
  }
  return use;
}

/// The fence orders the item's state before the loads: if a look at the piece has forgotten an earlier time in between, or does so
/// afterwards, it finds the state.
void CellSpace::expires(Location location, std::uint64_t time) {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  const Group& group = *group_of(location.group());
  lower(group.soonest[location.cell() / group.cells_in_piece], time);
  lower(soonest_, time);
}

std::uint64_t CellSpace::soonest_of(std::uint64_t number, std::uint64_t flushed) const {
  const std::lock_guard lock(mutex_);
  const Piece& piece = pieces_[number];
  if (!piece.used || piece.free.all()) return kNever;
  return piece.flushed < flushed ? 0 : group_of(piece.entry.group())->soonest[piece.entry.place()].load();
}

std::vector<Cell> CellSpace::look_at(std::uint64_t number, std::uint64_t flushed) {
  const std::lock_guard lock(mutex_);
  Piece& piece = pieces_[number];
  if (!piece.used) return {};
  std::vector<Cell> cells = all_cells(number);
  piece.flushed = flushed;
  group_of(piece.entry.group())->soonest[piece.entry.place()].store(kNever);
  std::atomic_thread_fence(std::memory_order_seq_cst);  // as in `expires`
  return cells;
}

}  // namespace holdfast::store::cpu
