// cell_space.cpp: taking cells, giving them back, and moving pieces between classes.
#include "store/cpu/cell_space.hpp"

#include <algorithm>

#include "core/both.hpp"

namespace holdfast::store::cpu {

CellSpace::CellSpace(const heap::View& heap, bool zero)
    : heap_(heap), groups_(std::make_unique<std::atomic<Group*>[]>(kGroups)), pieces_(heap.count) {
  std::vector<std::uint32_t>& pieces = zero ? fresh_ : unused_;
  for (std::uint64_t piece = heap.count; piece-- > 0;) {
    if (!heap.is_directory(piece)) pieces.push_back(static_cast<std::uint32_t>(piece));
  }
}

Cell CellSpace::at(Location location) const {
  const Group* const group = groups_[location.group()].load(std::memory_order_acquire);
  if (group == nullptr) return {};
  const std::uint32_t place = location.cell() / group->cells_in_piece;
  const std::uint32_t piece = group->pieces[place].load(std::memory_order_acquire);
  if (piece == kNoPiece) return {};
  const std::uint32_t bytes = class_bytes(group->size_class);
  const std::uint64_t begin =
      piece * heap_.slab_bytes() + std::uint64_t{location.cell() % group->cells_in_piece} * bytes;
  return {reinterpret_cast<std::uint64_t*>(heap_.base + begin), bytes / 8, location};
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
  HOLDFAST_ASSERT(piece.open && piece.free > 0);
  const auto found = std::find(piece.is_free.begin() + piece.first, piece.is_free.end(), true);
  HOLDFAST_ASSERT(found != piece.is_free.end());
  *found = false;
  piece.first = static_cast<std::uint32_t>(found - piece.is_free.begin()) + 1;
  if (--piece.free == 0) {
    piece.open = false;
    open.pop_back();
  }
  return cell_of(number, piece.first - 1);
}

Cell CellSpace::take(const Memory& memory, std::uint64_t words) {
  const unsigned size_class = class_of(8 * words);
  if (size_class == kClasses) return {};
  const std::lock_guard lock(mutex_);
  if (open_[size_class].empty() && !open_piece(memory, size_class)) return {};
  return take_from_open(size_class);
}

void CellSpace::give(const Cell& cell) {
  const std::lock_guard lock(mutex_);
  const auto at = static_cast<std::uint64_t>(reinterpret_cast<std::byte*>(cell.words) - heap_.base);
  const std::uint64_t number = at / heap_.slab_bytes();
  Piece& piece = pieces_[number];
  const auto index = static_cast<std::uint32_t>(at % heap_.slab_bytes() / (8 * cell.size));
  HOLDFAST_ASSERT(piece.used && !piece.is_free[index]);
  piece.is_free[index] = true;
  piece.first = std::min(piece.first, index);
  ++piece.free;
  std::vector<std::uint32_t>& open = open_[piece.entry.size_class()];
  if (!piece.open) {
    piece.open = true;
    open.push_back(static_cast<std::uint32_t>(number));
  }
  // The class keeps one piece without an item, so that a cell that is taken and given again and again moves none.
  if (piece.free == piece.is_free.size() && open.size() > 1) release_piece(number);
}

std::uint64_t CellSpace::free_pieces() const {
  const std::lock_guard lock(mutex_);
  return unused_.size() + fresh_.size();
}

/// The piece has no item: its class looks there no more, and its locations lie nowhere. Its entry still names its place, which no other
/// piece gets meanwhile: a class that needs a piece takes such a one first.
void CellSpace::release_piece(std::uint64_t number) {
  Piece& piece = pieces_[number];
  std::vector<std::uint32_t>& open = open_[piece.entry.size_class()];
  open.erase(std::find(open.begin(), open.end(), static_cast<std::uint32_t>(number)));
  place_of(piece.entry).store(kNoPiece, std::memory_order_release);
  piece.used = piece.open = false;
  piece.is_free.clear();
  piece.free = piece.first = 0;
  unused_.push_back(static_cast<std::uint32_t>(number));
}

std::atomic<std::uint32_t>& CellSpace::place_of(PieceWord entry) {
  return groups_[entry.group()].load(std::memory_order_relaxed)->pieces[entry.place()];
}

/// A class keeps a piece without an item (`give`): another may have it.
void CellSpace::release_any() {
  for (const std::vector<std::uint32_t>& open : open_) {
    for (const std::uint32_t number : open) {
      if (pieces_[number].free == pieces_[number].is_free.size()) return release_piece(number);
    }
  }
}

/// Gives a piece without an item to the class. False: there is none.
bool CellSpace::open_piece(const Memory& memory, unsigned size_class) {
  if (unused_.empty() && fresh_.empty()) release_any();
  const auto same = std::find_if(unused_.begin(), unused_.end(), [&](std::uint32_t number) {
    const PieceWord entry = pieces_[number].entry;
    return !entry.none() && entry.size_class() == size_class;
  });
  std::uint32_t number = 0;
  if (same != unused_.end()) {  // which is the same piece as before, for recovery too
    number = *same;
    unused_.erase(same);
  } else {
    std::vector<std::uint32_t>& pieces = fresh_.empty() ? unused_ : fresh_;
    const PieceWord entry = new_place(size_class);
    if (pieces.empty() || entry.none()) return false;
    number = pieces.back();
    enter_piece(memory, heap_, number, entry, !fresh_.empty());
    pieces.pop_back();
    pieces_[number].entry = entry;
  }
  name_piece(number);
  Piece& piece = pieces_[number];
  piece.is_free.assign(cells_in(size_class), true);
  piece.free = cells_in(size_class);
  piece.open = true;
  open_[size_class].push_back(number);
  return true;
}

/// A place for a piece in a group of the class; none: there are no more groups.
PieceWord CellSpace::new_place(unsigned size_class) {
  for (const std::uint32_t number : groups_of_[size_class]) {
    const Group& group = *groups_[number].load(std::memory_order_relaxed);
    for (std::uint32_t place = 0; place < group.pieces.size(); ++place) {
      if (group.pieces[place].load(std::memory_order_relaxed) == kNoPiece)
        return PieceWord::of(size_class, number, place);
    }
  }
  for (std::uint32_t number = 0; number + 1 < kGroups; ++number) {  // the last one's last location would be none
    if (groups_[number].load(std::memory_order_relaxed) == nullptr) return PieceWord::of(size_class, number, 0);
  }
  return {};
}

/// The locations of the piece's group lie in it from here on.
void CellSpace::name_piece(std::uint64_t number) {
  const PieceWord entry = pieces_[number].entry;
  if (groups_[entry.group()].load(std::memory_order_relaxed) == nullptr) {
    owned_.push_back(std::make_unique<Group>(entry.size_class(), cells_in(entry.size_class())));
    groups_of_[entry.size_class()].push_back(entry.group());
    groups_[entry.group()].store(owned_.back().get(), std::memory_order_release);
  }
  pieces_[number].used = true;
  place_of(entry).store(static_cast<std::uint32_t>(number), std::memory_order_release);
}

bool CellSpace::enter(std::uint64_t number, PieceWord entry) {
  if (entry.none()) return true;
  if (!entry.is_valid() || heap_.is_directory(number)) return false;
  const Group* const group = groups_[entry.group()].load(std::memory_order_relaxed);
  const std::uint32_t places = (kGroupCells + cells_in(entry.size_class()) - 1) / cells_in(entry.size_class());
  if (entry.place() >= places) return false;
  if (group != nullptr &&
      (group->size_class != entry.size_class() || group->pieces[entry.place()].load() != kNoPiece)) {
    return false;
  }
  unused_.erase(std::find(unused_.begin(), unused_.end(), static_cast<std::uint32_t>(number)));
  pieces_[number].entry = entry;
  name_piece(number);
  pieces_[number].is_free.assign(cells_in(entry.size_class()), false);
  return true;
}

void CellSpace::end_recovery() {
  for (std::uint64_t number = 0; number < pieces_.size(); ++number) {
    const Piece& piece = pieces_[number];
    if (piece.used && piece.free == piece.is_free.size()) release_piece(number);
  }
}

}  // namespace holdfast::store::cpu
