// compact_table.cpp: counts a table's items, places them in smaller levels in memory, and numbers their cells anew.
#include "structures/gphash/compact_table.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <new>
#include <optional>
#include <utility>
#include <vector>

#include "core/bits.hpp"
#include "structures/gphash/slot_walk.hpp"

namespace holdfast::gphash {

namespace {

using gphash::Slot;
using gphash::SlotState;
using pool::Extent;

constexpr std::uint64_t kItemsBetweenAsking = 1 << 16;

/// Items, and of those of any length how many have a cell of each class.
struct ItemCounts {
  std::uint64_t items = 0;
  std::array<std::uint64_t, heap::kClasses> cells = {};
};

/// What the cell of an item holds, and where that goes in the copy's heap.
struct Piece {
  const std::byte* from;
  Slot* slot;        ///< of the copy
  std::uint64_t to;  ///< until its cell is chosen, a rank: pieces of lower ranks come first
  std::uint32_t bytes;
};

/// The policy of the copy's heap: what is counted for it, how large it is, and which cells its items get.
template <bool kVariable>
class CompactCells;

/// Cells of one size, numbered in the order of the pieces.
template <>
class CompactCells<false> {
 public:
  explicit CompactCells(const ItemCounts&) {}
  /// What need not be counted, since the number of items is known.
  static std::optional<ItemCounts> known(std::optional<std::uint64_t> items) {
    return items ? std::optional(ItemCounts{.items = *items}) : std::nullopt;
  }
  static void count(ItemCounts&, std::uint64_t) {}
  /// Cells, of the `sized` ones that a new table has; before they are counted, and then.
  static std::uint64_t least(std::uint64_t sized) { return sized; }
  static std::uint64_t cells(std::uint64_t sized) { return sized; }
  static Piece piece(const TableObject& table, Slot* slot) {
    const std::uint64_t bytes = table.shape().cell_bytes;
    return {table.heap() + (slot->word - 1) * bytes, slot, 0, static_cast<std::uint32_t>(bytes)};
  }
  static void place(std::vector<Piece>& pieces) {
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      pieces[i].to = i * pieces[i].bytes;
      pieces[i].slot->word = i + 1;
    }
  }
};

/// Slabs. If all pairs of a class fit into the cells that a larger class leaves free in its last slab, they go there. Otherwise a few
/// pairs of different lengths would take a slab each. The members are those above.
template <>
class CompactCells<true> {
 public:
  explicit CompactCells(const ItemCounts& counts);
  static std::optional<ItemCounts> known(std::optional<std::uint64_t>) { return std::nullopt; }
  static void count(ItemCounts& counts, std::uint64_t word) { ++counts.cells[heap::CellWord{word}.size_class()]; }
  static std::uint64_t least(std::uint64_t) { return 0; }
  std::uint64_t cells(std::uint64_t) const { return slabs_; }
  Piece piece(const TableObject& table, Slot* slot) const {
    const heap::CellWord word{slot->word};
    return {table.heap() + word.begin(), slot, heap::kClasses - classes_[word.size_class()], word.pair_bytes()};
  }
  void place(std::vector<Piece>& pieces);

 private:
  std::array<std::uint8_t, heap::kClasses> classes_;  ///< of a pair's cell in the copy, by its class in the table
  std::uint64_t slabs_ = 0;                           ///< directories included
  std::vector<std::uint64_t> entries_;                ///< of slabs: the words of their directories
};

CompactCells<true>::CompactCells(const ItemCounts& counts) {
  constexpr heap::View kHeap;
  constexpr std::uint32_t kMostLeft = 65536;  // a word says up to so many bytes of what a pair leaves of its cell
  std::uint64_t left = 0;
  unsigned current = 0;
  for (unsigned size_class = heap::kClasses; size_class-- > 0;) {
    const std::uint64_t n = counts.cells[size_class];
    if (n > left || heap::class_bytes(current) > kMostLeft) {
      current = size_class;
      const std::uint64_t in_slab = kHeap.cells(size_class), more = (n + in_slab - 1) / in_slab;
      slabs_ += more;
      left = more * in_slab;
    }
    classes_[size_class] = static_cast<std::uint8_t>(current);
    left -= n;
  }
  slabs_ = std::max<std::uint64_t>(slabs_, 1);
  slabs_ += (slabs_ + kHeap.a_directory() - 2) / (kHeap.a_directory() - 1);
}

void CompactCells<true>::place(std::vector<Piece>& pieces) {
  constexpr heap::View kHeap;
  entries_.assign(slabs_, 0);
  std::uint64_t slab = 0;  // the first directory: full
  unsigned current = heap::kClasses, used = 0;
  for (Piece& piece : pieces) {
    const auto size_class = static_cast<unsigned>(heap::kClasses - piece.to);
    if (size_class != current || used == kHeap.cells(size_class)) {
      current = size_class;
      used = 0;
      slab += kHeap.is_directory(slab + 1) ? 2 : 1;
      entries_.at(slab) = size_class + 1;
    }
    piece.to = slab * kHeap.slab_bytes() + std::uint64_t{used++} * heap::class_bytes(size_class);
    piece.slot->word = heap::CellWord::of(piece.to, size_class, piece.bytes).word;
  }
  for (std::uint64_t first = 0; first < slabs_; first += kHeap.a_directory()) {
    const auto words = static_cast<std::uint32_t>(std::min(kHeap.a_directory(), slabs_ - first));
    const Piece directory{reinterpret_cast<const std::byte*>(&entries_[first]), nullptr, first * kHeap.slab_bytes(),
                          8 * words};
    pieces.insert(std::lower_bound(pieces.begin(), pieces.end(), directory,
                                   [](const Piece& a, const Piece& b) { return a.to < b.to; }),
                  directory);
  }
}

/// None: the table is damaged. An unchanged copy keeps the damage visible to `check`.
template <class Shape>
std::optional<ItemCounts> count(const TableObject& table) {
  ItemCounts counts;
  bool whole = true;
  each_slot<Shape>(table, [&](const Slot* slot, SlotState state, std::uint64_t) {
    whole &= state == SlotState::occupied;
    if (!whole) return;
    ++counts.items;
    CompactCells<Shape::kVariable>::count(counts, slot->word);
  });
  return whole ? std::optional(counts) : std::nullopt;
}

std::uint64_t bytes_of(const TableShape& shape) {
  std::uint64_t bytes = shape.cells * shape.cell_bytes;
  for (unsigned rank = 0; rank < shape.levels; ++rank)
    bytes += level_bytes(shape.top_level - rank, shape.slots, shape.key_bytes);
  return bytes;
}

template <class Shape>
class CompactTable final : public pool::CompactCopy {
 public:
  using Cells = CompactCells<Shape::kVariable>;
  CompactTable(const TableObject& table, const TableShape& shape, const Cells& cells, const pool::CompactHow& how)
      : table_(table),
        shape_(shape),
        cells_(cells),
        heap_bytes_(round_up(round_up(shape.cells * shape.cell_bytes, pool::kPage), how.granule)) {}

  enum class Placed : std::uint8_t { all, no_slot, damaged, stopped };
  Placed place_items(const std::function<bool()>& go_on);
  /// False: two slots name one cell, or there are not so many items, so the table is damaged.
  bool place_cells(std::uint64_t items);
  void keep(std::unique_ptr<TableObject> table) { kept_ = std::move(table); }

  std::vector<Extent> extents() const override;
  void read(std::size_t which, std::uint64_t begin, std::byte* to, std::uint64_t bytes) const override;

 private:
  using Candidates = gphash::Candidates<Shape>;
  bool place(const Slot* from);
  Candidates candidates_of(const Slot* slot) const {
    return {view_, gphash::slot_key(view_, slot, slot->key, slot->word)};
  }
  LaneMask empty_lanes(const Candidates& candidates) const;
  Slot* chosen(const Candidates& candidates, LaneMask empty) const {
    return candidates.slot(view_, gphash::choose_lane(view_, candidates, empty));
  }
  Slot* clear_by_moving(const Candidates& candidates);
  void read_heap(std::uint64_t begin, std::byte* to, std::uint64_t bytes) const;

  const TableObject& table_;
  const TableShape shape_;
  Cells cells_;
  const std::uint64_t heap_bytes_;
  gphash::View<Shape> view_;                    ///< of the copy; it has no heap in memory
  std::vector<std::vector<std::byte>> levels_;  ///< by rank
  std::vector<std::byte> pages_;
  std::vector<Piece> pieces_;
  std::unique_ptr<TableObject> kept_;
};

template <class Shape>
typename CompactTable<Shape>::Placed CompactTable<Shape>::place_items(const std::function<bool()>& go_on) {
  const std::byte* const pages = table_.address_of(Extent{0, kPagesBytes, table_.number(), pool::kPagesRole, 0});
  pages_.assign(pages, pages + kPagesBytes);
  view_ = view_of<Shape>(table_, table_.shape().top_level);
  view_.top_level = shape_.top_level;
  view_.reserved_slot = reinterpret_cast<Slot*>(pages_.data() + kReservedSlotOffset);
  for (unsigned rank = 0; rank < shape_.levels; ++rank) {
    auto& level = levels_.emplace_back(level_bytes(shape_.top_level - rank, shape_.slots, shape_.key_bytes));
    view_.level[rank] = reinterpret_cast<Slot*>(level.data());
  }
  Placed placed = Placed::all;
  std::uint64_t items = 0;
  each_slot<Shape>(table_, [&](Slot* slot, SlotState state, std::uint64_t) {
    if (placed != Placed::all) return;
    if (items++ % kItemsBetweenAsking == 0 && !go_on()) {
      placed = Placed::stopped;
    } else if (state != SlotState::occupied) {
      placed = Placed::damaged;
    } else if (slot != table_.reserved_slot() && !place(slot)) {
      placed = Placed::no_slot;
    }
  });
  return placed;
}

template <class Shape>
bool CompactTable<Shape>::place(const Slot* from) {
  const Candidates candidates = candidates_of(from);
  const LaneMask empty = empty_lanes(candidates);
  Slot* const to = empty == 0 ? clear_by_moving(candidates) : chosen(candidates, empty);
  if (to == nullptr) return false;
  std::memcpy(to, from, slot_bytes_of(shape_.key_bytes));
  return true;
}

template <class Shape>
LaneMask CompactTable<Shape>::empty_lanes(const Candidates& candidates) const {
  LaneMask empty = 0;
  unsigned lane = 0;
  for (unsigned rank = 0; rank < shape_.levels; ++rank) {
    for (unsigned j = 0; j < shape_.hash_locations; ++j) {
      Slot* const bucket = view_.bucket(rank, candidates.bucket(view_, rank, j));
      for (unsigned s = 0; s < shape_.slots; ++s, ++lane) empty |= LaneMask{view_.after(bucket, s)->key == 0} << lane;
    }
  }
  return empty & candidates.distinct(view_);
}

/// Rule 26: one item in these slots that has an empty slot elsewhere moves there. Null: there is none.
template <class Shape>
Slot* CompactTable<Shape>::clear_by_moving(const Candidates& candidates) {
  for (LaneMask left = candidates.distinct(view_); left != 0; left &= left - 1) {
    Slot* const slot = candidates.slot(view_, lowest_bit(left));
    const Candidates others = candidates_of(slot);
    const LaneMask empty = empty_lanes(others);
    if (empty == 0) continue;
    std::memcpy(chosen(others, empty), slot, slot_bytes_of(shape_.key_bytes));
    return slot;
  }
  return nullptr;
}

template <class Shape>
bool CompactTable<Shape>::place_cells(std::uint64_t items) {
  if (shape_.cell_bytes == 0) return true;
  pieces_.reserve(items);
  const auto add = [&](Slot* slot) {
    if (slot->key != 0) pieces_.push_back(cells_.piece(table_, slot));
  };
  for (unsigned rank = 0; rank < shape_.levels; ++rank) {
    const std::uint64_t slots = view_.buckets(rank) * shape_.slots;
    for (std::uint64_t i = 0; i < slots; ++i) add(view_.after(view_.level[rank], i));
  }
  if (!view_.has_fingerprints()) add(view_.reserved_slot);
  if (pieces_.size() != items) return false;
  // Cells keep the order that they have in the table, so its heap is read from its begin to its end.
  std::sort(pieces_.begin(), pieces_.end(),
            [](const Piece& a, const Piece& b) { return a.to != b.to ? a.to < b.to : a.from < b.from; });
  const auto same_cell = [](const Piece& a, const Piece& b) { return a.from == b.from; };
  if (std::adjacent_find(pieces_.begin(), pieces_.end(), same_cell) != pieces_.end()) return false;
  cells_.place(pieces_);
  return true;
}

template <class Shape>
std::vector<Extent> CompactTable<Shape>::extents() const {
  const std::uint32_t number = table_.number();
  std::vector<Extent> extents{{0, kPagesBytes, number, pool::kPagesRole, 0}};
  for (unsigned rank = shape_.levels; rank-- > 0;)
    extents.push_back(
        {0, levels_[rank].size(), number, kLevelRole, static_cast<std::uint16_t>(shape_.top_level - rank)});
  if (heap_bytes_ != 0) extents.push_back({0, heap_bytes_, number, kHeapRole, 0});
  return extents;
}

template <class Shape>
void CompactTable<Shape>::read(std::size_t which, std::uint64_t begin, std::byte* to, std::uint64_t bytes) const {
  if (which > shape_.levels) return read_heap(begin, to, bytes);
  const std::vector<std::byte>& from = which == 0 ? pages_ : levels_[shape_.levels - which];
  HOLDFAST_ASSERT(begin + bytes <= from.size());
  std::memcpy(to, from.data() + begin, bytes);
}

template <class Shape>
void CompactTable<Shape>::read_heap(std::uint64_t begin, std::byte* to, std::uint64_t bytes) const {
  const std::uint64_t end = begin + bytes;
  std::memset(to, 0, bytes);
  auto piece =
      std::partition_point(pieces_.begin(), pieces_.end(), [&](const Piece& p) { return p.to + p.bytes <= begin; });
  for (; piece != pieces_.end() && piece->to < end; ++piece) {
    const std::uint64_t from = std::max(begin, piece->to), until = std::min(end, piece->to + piece->bytes);
    std::memcpy(to + (from - begin), piece->from + (from - piece->to), until - from);
  }
}

/// `items` is not counted where it is known.
template <class Shape>
std::unique_ptr<CompactTable<Shape>> make(const TableObject& table, std::optional<std::uint64_t> items,
                                          const pool::CompactHow& how) {
  const TableShape& large = table.shape();
  if (large.is_resizing) return nullptr;
  const std::uint64_t most = bytes_of(large) / 2;
  TableShape shape = large;
  using Cells = CompactCells<Shape::kVariable>;
  if (items) {
    size_for(shape, *items);
    shape.cells = Cells::least(shape.cells);
    if (bytes_of(shape) > most) return nullptr;
  }
  std::optional<ItemCounts> counts = Cells::known(items);
  if (!counts) counts = count<Shape>(table);
  if (!counts) return nullptr;
  size_for(shape, counts->items);
  const Cells cells(*counts);
  shape.cells = cells.cells(shape.cells);
  // An item may find no slot at any load: then in a table with one level more.
  for (; shape.top_level <= kMaxLevel && bytes_of(shape) <= most; ++shape.top_level) {
    auto compact = std::make_unique<CompactTable<Shape>>(table, shape, cells, how);
    const auto placed = compact->place_items(how.go_on);
    if (placed == CompactTable<Shape>::Placed::no_slot) continue;
    const bool whole = placed == CompactTable<Shape>::Placed::all && compact->place_cells(counts->items);
    return whole ? std::move(compact) : nullptr;
  }
  return nullptr;
}

std::unique_ptr<pool::CompactCopy> as_copy(auto compact, std::unique_ptr<TableObject> kept) {
  if (compact && kept) compact->keep(std::move(kept));
  return compact;
}

std::unique_ptr<pool::CompactCopy> make_any(const TableObject& table, std::optional<std::uint64_t> items,
                                            const pool::CompactHow& how, std::unique_ptr<TableObject> kept) {
  try {
    return gphash::with_shape(table.shape().key_bytes == kVariable, [&]<class Shape>(std::type_identity<Shape>) {
      return as_copy(make<Shape>(table, items, how), std::move(kept));
    });
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

}  // namespace

std::unique_ptr<pool::CompactCopy> compact(const TableObject& table, std::uint64_t items, const pool::CompactHow& how) {
  return make_any(table, items, how, nullptr);
}

std::unique_ptr<pool::CompactCopy> compact(std::unique_ptr<TableObject> table, const pool::CompactHow& how) {
  const TableObject& closed = *table;
  return closed.was_clean() ? make_any(closed, std::nullopt, how, std::move(table)) : nullptr;
}

}  // namespace holdfast::gphash
