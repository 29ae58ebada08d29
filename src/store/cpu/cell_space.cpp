// cell_space.cpp: taking cells, giving them back, and moving pieces between classes.
#include "store/cpu/cell_space.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "core/both.hpp"

namespace holdfast::store::cpu {

CellSpace::CellSpace(const heap::View& heap)
    : heap_{heap.base, 0, heap.slab_bits}, groups_(std::make_unique<std::atomic<Group*>[]>(kGroups)) {
  extend(heap.count);
}

void CellSpace::extend(std::uint64_t slabs) {
  const std::lock_guard lock(mutex_);
  std::vector<std::uint32_t> added;
  pieces_.resize(slabs);
  for (std::uint64_t piece = slabs; piece-- > heap_.count;) {
    if (heap_.is_directory(piece)) {
      ++directories_;
    } else {
      added.push_back(static_cast<std::uint32_t>(piece));
    }
  }
  unused_.reserve(slabs);
  unused_.insert(unused_.begin(), added.begin(), added.end());  // the one with the lowest address is taken first
  heap_.count = slabs;
}

Cell CellSpace::cell_of(std::uint64_t piece, std::uint32_t index) const {
  const PieceWord entry = pieces_[piece].entry;
  const std::uint32_t bytes = class_bytes(entry.size_class());
  const std::uint32_t cell = entry.place() * cells_in(entry.size_class()) + index;
  const std::uint64_t begin = piece * heap_.slab_bytes() + std::uint64_t{index} * bytes;
  return {reinterpret_cast<std::uint64_t*>(heap_.base + begin), bytes / 8, Location::of(entry.group(), cell)};
}

Cell CellSpace::take_from_open(unsigned size_class) {
  std::vector<std::uint32_t>& open = open_[size_class];
  if (open.empty()) return {};
  const std::uint32_t number = open.back();
  Piece& piece = pieces_[number];
  HOLDFAST_ASSERT(piece.open);
  const std::uint32_t index = piece.free.take();
  if (piece.free.count() == 0) {
    piece.open = false;
    open.pop_back();
  }
  const Cell cell = cell_of(number, index);
  use(cell.location);
  return cell;
}

Cell CellSpace::take(const Memory& memory, std::uint64_t words) {
  const unsigned size_class = class_of(8 * words);
  if (size_class == kClasses) return {};
  const std::lock_guard lock(mutex_);
  if (open_[size_class].empty() && !open_piece(memory, size_class)) return {};
  return take_from_open(size_class);
}

Cell CellSpace::take_larger(unsigned size_class, std::uint64_t most_bytes) {
  const std::lock_guard lock(mutex_);
  for (unsigned larger = size_class + 1; larger < kClasses && class_bytes(larger) <= most_bytes; ++larger) {
    if (!open_[larger].empty()) return take_from_open(larger);
  }
  return {};
}

std::size_t CellSpace::take(const Memory& memory, unsigned size_class, std::span<Cell> cells) {
  const std::lock_guard lock(mutex_);
  std::size_t taken = 0;
  if (open_[size_class].empty() && !open_piece(memory, size_class)) return 0;
  while (taken < cells.size() && !open_[size_class].empty()) cells[taken++] = take_from_open(size_class);
  return taken;
}

void CellSpace::give(const Cell& cell) { give(std::span(&cell, 1)); }

void CellSpace::give(std::span<const Cell> cells, std::span<const Cell> others) {
  const std::lock_guard lock(mutex_);
  for (const std::span<const Cell> some : {cells, others}) {
    for (const Cell& cell : some) pieces_[piece_of(cell)].free.fetch(index_in_piece(cell));
  }
  for (const std::span<const Cell> some : {cells, others}) {
    for (const Cell& cell : some) give_locked(cell);
  }
}

bool CellSpace::lease(Location location) {
  const std::lock_guard lock(mutex_);
  return lease_locked(location);
}

void CellSpace::lease(std::span<Wanted> cells) {
  const std::lock_guard lock(mutex_);
  try {
    for (Wanted& cell : cells) cell.is_leased = lease_locked(cell.location);
  } catch (...) {  // no memory for the next one
    for (Wanted& cell : cells) {
      if (std::exchange(cell.is_leased, false)) end_lease_locked(cell.location);
    }
    throw;
  }
}

bool CellSpace::lease_locked(Location location) {
  if (leases_.size() >= kMostLeases) return false;
  const Group* const group = group_of(location.group());
  const std::uint32_t number = group == nullptr ? kNoPiece : piece_of(*group, location);
  if (number == kNoPiece || pieces_[number].free.has(location.cell() % group->cells_in_piece)) return false;
  if (++leases_[location.word].times == 1) ++pieces_[number].leased;
  leased_.store(leases_.size(), std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_seq_cst);  // before the caller looks whether the cell's item lives
  return true;
}

void CellSpace::end_lease(Location location) {
  const std::lock_guard lock(mutex_);
  end_lease_locked(location);
}

void CellSpace::end_lease_locked(Location location) {
  const auto at = leases_.find(location.word);
  HOLDFAST_ASSERT(at != leases_.end() && at->second.times > 0);
  if (--at->second.times != 0) return;
  const bool is_given = at->second.is_given;
  leases_.erase(at);
  --pieces_[piece_of(*group_of(location.group()), location)].leased;
  leased_.store(leases_.size(), std::memory_order_release);  // after what the leaser has read
  if (is_given) give_locked(this->at(location));
}

void CellSpace::give_locked(const Cell& cell) {
  if (!leases_.empty()) {
    if (const auto lease = leases_.find(cell.location.word); lease != leases_.end()) {
      lease->second.is_given = true;
      return;
    }
  }
  const std::uint64_t number = piece_of(cell);
  Piece& piece = pieces_[number];
  HOLDFAST_ASSERT(piece.used);
  piece.free.give(index_in_piece(cell));
  std::vector<std::uint32_t>& open = open_[piece.entry.size_class()];
  if (!piece.open) {
    try {
      open.push_back(static_cast<std::uint32_t>(number));
    } catch (const std::bad_alloc&) {
      return;  // it is found when another of its cells is given
    }
    piece.open = true;
  }
  // The class keeps one piece without an item, so that a cell that is taken and given again and again moves none.
  if (piece.free.all() && open.size() > 1) release_piece(number);
}

std::uint64_t CellSpace::free_pieces() const {
  const std::lock_guard lock(mutex_);
  return unused_.size();
}

std::uint64_t CellSpace::pieces_of(unsigned size_class) const {
  const std::lock_guard lock(mutex_);
  return used_[size_class];
}

std::uint64_t CellSpace::pieces() const {
  const std::lock_guard lock(mutex_);
  return pieces_.size() - directories_;
}

std::vector<Cell> CellSpace::all_cells(std::uint64_t piece) const {
  std::vector<Cell> cells;
  for (std::uint32_t index = 0; index < cells_in(pieces_[piece].entry.size_class()); ++index) {
    cells.push_back(cell_of(piece, index));
  }
  return cells;
}

std::vector<Cell> CellSpace::cells_of(std::uint64_t piece, std::uint64_t generation) const {
  const std::lock_guard lock(mutex_);
  const PieceWord entry = pieces_[piece].entry;
  const auto is_used = [&] {
    return group_of(entry.group())->generations[entry.place()].load(std::memory_order_relaxed) >= generation;
  };
  return pieces_[piece].used && is_used() ? all_cells(piece) : std::vector<Cell>();
}

std::vector<Cell> CellSpace::used_cells_of(std::uint64_t number) const {
  const std::lock_guard lock(mutex_);
  std::vector<Cell> cells;
  const Piece& piece = pieces_[number];
  if (!piece.used || piece.free.all()) return cells;
  for (std::uint32_t index = 0; index < cells_in(piece.entry.size_class()); ++index) {
    if (!piece.free.has(index)) cells.push_back(cell_of(number, index));
  }
  return cells;
}

/// The piece has no item: its class looks there no more, and its locations lie nowhere. Its entry still names its place, which no other
/// piece gets meanwhile: a class that needs a piece takes such a one first.
void CellSpace::release_piece(std::uint64_t number) {
  Piece& piece = pieces_[number];
  std::vector<std::uint32_t>& open = open_[piece.entry.size_class()];
  open.erase(std::find(open.begin(), open.end(), static_cast<std::uint32_t>(number)));
  place_of(piece.entry).store(kNoPiece, std::memory_order_release);
  piece.used = piece.open = false;
  piece.free.clear();
  --used_[piece.entry.size_class()];
  unused_.push_back(static_cast<std::uint32_t>(number));
}

std::atomic<std::uint32_t>& CellSpace::place_of(PieceWord entry) {
  return group_of(entry.group())->pieces[entry.place()];
}

/// A class keeps a piece without an item (`give`): another may have it.
void CellSpace::release_any() {
  for (const std::vector<std::uint32_t>& open : open_) {
    for (const std::uint32_t number : open) {
      if (pieces_[number].free.all()) return release_piece(number);
    }
  }
}

/// Gives a piece without an item to the class. False: there is none. Allocates before anything changes.
bool CellSpace::open_piece(const Memory& memory, unsigned size_class) {
  if (unused_.empty()) release_any();
  FreeCells free;
  free.assign(cells_in(size_class), true);
  open_[size_class].reserve(open_[size_class].size() + 1);
  auto chosen = std::find_if(unused_.rbegin(), unused_.rend(), [&](std::uint32_t number) {
    const PieceWord entry = pieces_[number].entry;
    return !entry.none() && entry.size_class() == size_class;  // it is the same piece as before, for recovery too
  });
  if (chosen == unused_.rend()) {
    const PieceWord entry = new_place(size_class);
    if (unused_.empty() || entry.none()) return false;
    chosen = unused_.rbegin();
    make_group(entry);
    enter_piece(memory, heap_, *chosen, entry, false);
    pieces_[*chosen].entry = entry;
  }
  const std::uint32_t number = *chosen;
  unused_.erase(std::next(chosen).base());
  name_piece(number);
  Piece& piece = pieces_[number];
  piece.free = std::move(free);
  piece.open = true;
  open_[size_class].push_back(number);
  return true;
}

/// A place for a piece in a group of the class; none: there are no more groups. No piece without items has an entry of the class.
PieceWord CellSpace::new_place(unsigned size_class) {
  for (const std::uint32_t number : groups_of_[size_class]) {
    const Group& group = *group_of(number);
    for (std::uint32_t place = 0; place < group.pieces.size(); ++place) {
      if (group.pieces[place].load(std::memory_order_relaxed) == kNoPiece)
        return PieceWord::of(size_class, number, place);
    }
  }
  for (std::uint32_t number = 0; number + 1 < kGroups; ++number) {  // the last one's last location would be none
    if (group_of(number) == nullptr) return PieceWord::of(size_class, number, 0);
  }
  return {};
}

/// The entry's group is there, with or without pieces.
void CellSpace::make_group(PieceWord entry) {
  if (group_of(entry.group()) != nullptr) return;
  std::vector<std::uint32_t>& groups = groups_of_[entry.size_class()];
  groups.reserve(groups.size() + 1);
  owned_.push_back(std::make_unique<Group>(entry.size_class(), cells_in(entry.size_class())));
  groups.push_back(entry.group());
  groups_[entry.group()].store(owned_.back().get(), std::memory_order_release);
}

/// The locations of the piece's group, which is there, lie in it from here on.
void CellSpace::name_piece(std::uint64_t number) {
  const PieceWord entry = pieces_[number].entry;
  pieces_[number].used = true;
  ++used_[entry.size_class()];
  group_of(entry.group())->soonest[entry.place()].store(kNever);
  place_of(entry).store(static_cast<std::uint32_t>(number), std::memory_order_release);
}

bool CellSpace::enter(std::uint64_t number, PieceWord entry) {
  if (entry.none()) return true;
  const auto leave = [&] {
    unused_.erase(std::find(unused_.begin(), unused_.end(), static_cast<std::uint32_t>(number)));
  };
  const Group* const group = entry.is_valid() ? group_of(entry.group()) : nullptr;
  const bool fits = entry.is_valid() && entry.place() < kGroupCells / cells_in(entry.size_class());
  const bool agrees = group == nullptr || (group->size_class == entry.size_class() && fits &&
                                           group->pieces[entry.place()].load() == kNoPiece);
  leave();
  if (!fits || !agrees) return false;
  pieces_[number].entry = entry;
  make_group(entry);
  name_piece(number);
  pieces_[number].free.assign(cells_in(entry.size_class()), false);
  return true;
}

void CellSpace::set_free(std::uint64_t number, std::span<const std::uint64_t> free) {
  const std::lock_guard lock(mutex_);
  Piece& piece = pieces_[number];
  piece.free.assign(free);
  if (piece.free.count() == 0) return;
  piece.open = true;
  open_[piece.entry.size_class()].push_back(static_cast<std::uint32_t>(number));
}

bool CellSpace::take_back(Location location) {
  const std::lock_guard lock(mutex_);
  const std::uint32_t number = piece_of(*group_of(location.group()), location);
  Piece& piece = pieces_[number];
  const std::uint32_t cell = location.cell() % group_of(location.group())->cells_in_piece;
  if (!piece.free.has(cell)) return false;
  piece.free.remove(cell);
  if (piece.free.count() != 0) return true;
  piece.open = false;
  std::erase(open_[piece.entry.size_class()], number);
  return true;
}

void CellSpace::give_piece(std::uint64_t piece) {
  const std::lock_guard lock(mutex_);
  HOLDFAST_ASSERT(!pieces_[piece].used && pieces_[piece].entry.none());
  unused_.push_back(static_cast<std::uint32_t>(piece));
}

void CellSpace::end_recovery(std::uint64_t flushed) {
  for (std::uint64_t number = 0; number < pieces_.size(); ++number) {
    Piece& piece = pieces_[number];
    piece.flushed = flushed;
    if (piece.used && piece.free.all()) release_piece(number);
  }
}

}  // namespace holdfast::store::cpu
