// cell_space.hpp: where locations lie, which cells are free, and which were read lately: volatile, derived from the pieces' entries and the
// items when a store is opened.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>
#include <vector>

#include "heap/slab.hpp"
#include "store/cpu/memory.hpp"
#include "store/protocol/change.hpp"
#include "store/protocol/piece.hpp"
#include "threads/brief_mutex.hpp"

namespace holdfast::store::cpu {

/// The cells of a store's heap, which does not move. `at` and `mark` take no lock; all members may be called by several threads at once,
/// except those for recovery.
class CellSpace {
 public:
  explicit CellSpace(const heap::View& heap);

  /// Where a location lies now; none if its piece went to another group.
  Cell at(Location location) const {
    const Group* const group = groups_[location.group()].load(std::memory_order_acquire);
    if (group == nullptr) return {};
    const std::uint32_t place = group->place_of(location.cell());
    if (place >= group->pieces.size()) return {};
    const std::uint32_t piece = group->pieces[place].load(std::memory_order_acquire);
    if (piece == kNoPiece) return {};
    const std::uint64_t in_piece = location.cell() - place * group->cells_in_piece;
    std::byte* const words = heap_.base + piece * heap_.slab_bytes() + in_piece * group->cell_bytes;
    return {reinterpret_cast<std::uint64_t*>(words), group->cell_bytes / 8, location};
  }
  /// The item there was read: the next sweep passes over it.
  void mark(Location location) const;
  /// Whether it was read since the last sweep; from here on it was not.
  bool unmark(Location location) const;
  /// A free cell of at least `words` words, or none. It may give a piece another class.
  Cell take(const Memory& memory, std::uint64_t words);
  /// A free cell of the next larger class that has one, of at most `most_bytes` bytes; or none. It moves no piece.
  Cell take_larger(unsigned size_class, std::uint64_t most_bytes);
  /// Free cells of the class, as many as there are up to `cells.size()`. It may give one piece another class.
  std::size_t take(const Memory& memory, unsigned size_class, std::span<Cell> cells);
  /// The cell is free: its item is durably dead, or it has none.
  void give(const Cell& cell);
  void give(std::span<const Cell> cells, std::span<const Cell> others = {});
  /// The cell, which the caller has seen in use, is not used again until `end_lease`, also if it is given meanwhile: as often as it is leased. False:
  /// it is free, or kMostLeases cells are leased.
  static constexpr std::size_t kMostLeases = std::size_t{1} << 20;
  bool lease(Location location);
  void end_lease(Location location);
  /// Asked after items have died, before their cells are used again without `give`. False: all leases have ended, and who leases one of these
  /// cells from now on finds its item dead.
  bool may_be_leased() const {
    std::atomic_thread_fence(std::memory_order_seq_cst);  // as in `lease`
    return leased_.load(std::memory_order_acquire) != 0;
  }
  /// The same of many cells.
  struct Wanted {
    Location location;
    bool is_leased = false;
  };
  void lease(std::span<Wanted> cells);
  /// Items are made in generations, from 1 on: begins a new one, and returns its number. No change may run.
  std::uint64_t next_generation() { return ++generation_; }
  /// The cell gets an item of this generation. `take` calls it; others, whose cell was taken in an earlier one. Takes no lock.
  void use(Location location) {
    const Group& group = *group_of(location.group());
    std::atomic<std::uint64_t>& last = group.generations[location.cell() / group.cells_in_piece];
    const std::uint64_t now = generation_.load(std::memory_order_relaxed);
    if (last.load(std::memory_order_relaxed) != now) last.store(now, std::memory_order_relaxed);
  }
  std::uint64_t free_pieces() const;
  std::uint64_t pieces_of(unsigned size_class) const;
  /// That may belong to a class, of all classes.
  std::uint64_t pieces() const;
  /// The heap has so many slabs now.
  void extend(std::uint64_t slabs);

  /// Cells of the class that were not read since the last sweep passed over them, and may hold items. CLOCK (Corbató 1968): Mega-KV §5.3.
  /// Looks at kSweepCells cells at most, and clears their marks; there may be no victim among them.
  static constexpr unsigned kSweepCells = 1 << 14;
  std::size_t sweep(unsigned size_class, std::span<Cell> victims);
  bool is_marked(Location location) const;
  bool is_leased(Location location) const;
  /// How a piece is used.
  struct Use {
    unsigned size_class = kClasses;  ///< kClasses: it has none
    std::uint32_t cells = 0;
    std::uint32_t used = 0;  ///< cells that are not free
    std::uint32_t read = 0;  ///< of these, marked
    bool is_leased = false;  ///< some of its cells are
  };
  Use use_of(std::uint64_t piece) const;

  // When items end, so that their memory is found: of each piece, and of all, a time that is not later than the end of any item.
  static constexpr std::uint64_t kNever = ~std::uint64_t{0};
  /// The live item there ends at `time`, in milliseconds since 1970. Called after its state says so. Takes no lock.
  void expires(Location location, std::uint64_t time);
  std::uint64_t soonest() const { return soonest_.load(); }
  /// Before a look at all pieces; `lower_soonest` afterwards.
  std::uint64_t forget_soonest() { return soonest_.exchange(kNever); }
  void lower_soonest(std::uint64_t time) { lower(soonest_, time); }
  /// Of a piece. 0: it may have items that were flushed, as everything was up to the number `flushed`.
  std::uint64_t soonest_of(std::uint64_t piece, std::uint64_t flushed) const;
  /// The cells of a piece, before a look at all its items, after which the caller says when they end. None if it has no class.
  std::vector<Cell> look_at(std::uint64_t piece, std::uint64_t flushed);

  /// The cells of a piece, free or not; none if it has no class, or if none was used since that generation began.
  std::vector<Cell> cells_of(std::uint64_t piece, std::uint64_t generation = 0) const;

  /// Those that are not free.
  std::vector<Cell> used_cells_of(std::uint64_t piece) const;

  /// Of recovery: takes over what the entry of a piece says; its cells are neither free nor taken until `set_free` or `give` says so of some. False: the
  /// entry is damaged, and the piece is left alone.
  bool enter(std::uint64_t piece, PieceWord entry);
  /// Of recovery: those of its cells are free whose bits are set in `free`, a bit for each.
  void set_free(std::uint64_t piece, std::span<const std::uint64_t> free);
  /// Of recovery: the cell is not free after all. False: it was not.
  bool take_back(Location location);
  /// A piece whose entry was damaged, and says now that it belongs to no group, may go to any class.
  void give_piece(std::uint64_t piece);
  /// Of recovery, when every free cell is known: pieces without an item may go to any class. No piece has an item that was flushed, up to this number.
  void end_recovery(std::uint64_t flushed);
  /// Calls `visit(index, cell)` for every cell of a piece that has a class. Its free cells may change meanwhile.
  template <class Visit>
  void each_cell(std::uint64_t piece, const Visit& visit) const {
    if (!pieces_[piece].used) return;
    const std::uint32_t cells = cells_in(pieces_[piece].entry.size_class());
    Cell cell = cell_of(piece, 0);
    for (std::uint32_t i = 0; i < cells; ++i, cell.words += cell.size, ++cell.location.word) visit(i, cell);
  }
  /// Of recovery: the cells of all pieces that have a class.
  std::uint64_t cells() const {
    std::uint64_t cells = 0;
    for (unsigned size_class = 0; size_class < kClasses; ++size_class) {
      cells += used_[size_class] * cells_in(size_class);
    }
    return cells;
  }

 private:
  /// Which pieces its cells lie in. Stays as long as the store is open.
  struct Group {
    Group(unsigned its_class, std::uint32_t its_cells_in_piece)
        : size_class(its_class),
          cells_in_piece(its_cells_in_piece),
          cell_bytes(class_bytes(its_class)),
          per_cell((kUnit + its_cells_in_piece - 1) / its_cells_in_piece),
          pieces(kGroupCells / its_cells_in_piece),
          generations(pieces.size()),
          soonest(pieces.size()),
          marks((pieces.size() * its_cells_in_piece + 63) / 64) {}
    const unsigned size_class;
    const std::uint32_t cells_in_piece, cell_bytes;
    static constexpr std::uint64_t kUnit = std::uint64_t{1} << 32;
    const std::uint64_t per_cell;  ///< kUnit / cells_in_piece, rounded up
    /// cell / cells_in_piece, without a division: the rounding, less than 2^-32 for each of fewer than kGroupCells cells, does not reach the next piece.
    std::uint32_t place_of(std::uint32_t cell) const { return static_cast<std::uint32_t>(cell * per_cell / kUnit); }
    std::vector<std::atomic<std::uint32_t>> pieces;               ///< by place
    mutable std::vector<std::atomic<std::uint64_t>> generations;  ///< by place: in which a cell was used last
    mutable std::vector<std::atomic<std::uint64_t>> soonest;      ///< by place: no item ends earlier
    mutable std::vector<std::atomic<std::uint64_t>> marks;        ///< a bit for each cell
    /// Those of 64 cells.
    std::uint64_t marks_from(std::uint32_t cell) const {
      const std::uint32_t at = cell / 64, shift = cell % 64;
      const std::uint64_t low = marks[at].load(std::memory_order_relaxed) >> shift;
      if (shift == 0 || at + 1 == marks.size()) return low;
      return low | marks[at + 1].load(std::memory_order_relaxed) << (64 - shift);
    }
  };
  static constexpr std::uint32_t kNoPiece = 0;  ///< is a directory

  /// A bit for each cell of a piece: it is free.
  class FreeCells {
   public:
    void assign(std::uint32_t cells, bool free) {
      cells_ = cells;
      words_.assign((cells + 63) / 64, free ? ~std::uint64_t{0} : 0);
      if (free && cells % 64 != 0) words_.back() = (std::uint64_t{1} << cells % 64) - 1;
      count_ = free ? cells : 0;
      first_ = 0;
    }
    /// Those whose bits are set.
    void assign(std::span<const std::uint64_t> free) {
      std::copy(free.begin(), free.begin() + static_cast<std::ptrdiff_t>(words_.size()), words_.begin());
      count_ = 0;
      for (const std::uint64_t word : words_) count_ += static_cast<std::uint32_t>(std::popcount(word));
      first_ = 0;
    }
    void clear() { *this = FreeCells(); }
    std::uint32_t count() const { return count_; }
    bool all() const { return count_ == cells_; }
    bool has(std::uint32_t cell) const { return (words_[cell / 64] >> cell % 64 & 1) != 0; }
    /// A bit for each of 64 cells, from `cell` on, that is not free. `cell`: a multiple of 64.
    std::uint64_t used_from(std::uint32_t cell) const {
      const std::uint32_t behind = cells_ - cell;
      return ~words_[cell / 64] & (behind < 64 ? (std::uint64_t{1} << behind) - 1 : ~std::uint64_t{0});
    }
    /// One that is free, and is no more.
    std::uint32_t take() {
      HOLDFAST_ASSERT(count_ > 0);
      while (words_[first_] == 0) ++first_;  // ends: one is free
      const auto bit = static_cast<unsigned>(std::countr_zero(words_[first_]));
      words_[first_] &= words_[first_] - 1;
      --count_;
      return first_ * 64 + bit;
    }
    void remove(std::uint32_t cell) {
      HOLDFAST_ASSERT(has(cell));
      words_[cell / 64] &= ~(std::uint64_t{1} << cell % 64);
      --count_;
    }
    void fetch(std::uint32_t cell) const { __builtin_prefetch(&words_[cell / 64], 1); }
    void give(std::uint32_t cell) {
      HOLDFAST_ASSERT(!has(cell));
      words_[cell / 64] |= std::uint64_t{1} << cell % 64;
      first_ = cell / 64 < first_ ? cell / 64 : first_;
      ++count_;
    }

   private:
    std::vector<std::uint64_t> words_;
    std::uint32_t cells_ = 0, count_ = 0, first_ = 0;  ///< no word before `first_` has a free cell
  };

  struct Piece {
    PieceWord entry;            ///< as its entry in the directory says
    bool used = false;          ///< cells are taken from it, and its locations are valid
    bool open = false;          ///< its class looks for free cells in it
    std::uint32_t leased = 0;   ///< cells
    std::uint64_t flushed = 0;  ///< items up to this number that were flushed have been looked for
    FreeCells free;
  };
  /// Where a sweep of a class is: the cell of the group, in the order of `groups_of_`.
  struct Hand {
    std::size_t group = 0;
    std::uint32_t cell = 0;
  };

  std::uint32_t cells_in(unsigned size_class) const {
    return static_cast<std::uint32_t>(heap_.slab_bytes() / class_bytes(size_class));
  }
  Group* group_of(std::uint32_t number) const { return groups_[number].load(std::memory_order_relaxed); }
  Cell cell_of(std::uint64_t piece, std::uint32_t index) const;
  /// kNoPiece where the location lies nowhere: searches that meet a reused cell ask for any.
  std::uint64_t offset_of(const Cell& cell) const {
    return static_cast<std::uint64_t>(reinterpret_cast<std::byte*>(cell.words) - heap_.base);
  }
  std::uint64_t piece_of(const Cell& cell) const { return offset_of(cell) / heap_.slab_bytes(); }
  std::uint32_t index_in_piece(const Cell& cell) const {
    return static_cast<std::uint32_t>(offset_of(cell) % heap_.slab_bytes() / (8 * cell.size));
  }
  static std::uint32_t piece_of(const Group& group, Location location) {
    const std::uint32_t place = group.place_of(location.cell());
    return place < group.pieces.size() ? group.pieces[place].load(std::memory_order_acquire) : kNoPiece;
  }
  static void lower(std::atomic<std::uint64_t>& time, std::uint64_t to) {
    std::uint64_t now = time.load();
    while (now > to && !time.compare_exchange_weak(now, to)) {
    }  // ends: it only falls, or rises once for a look at all
  }
  std::vector<Cell> all_cells(std::uint64_t piece) const;
  bool lease_locked(Location location);
  void end_lease_locked(Location location);
  Cell take_from_open(unsigned size_class);
  void give_locked(const Cell& cell);
  bool open_piece(const Memory& memory, unsigned size_class);
  PieceWord new_place(unsigned size_class);
  std::atomic<std::uint32_t>& place_of(PieceWord entry);
  void make_group(PieceWord entry);
  void name_piece(std::uint64_t piece);
  void release_piece(std::uint64_t piece);
  void release_any();

  heap::View heap_;  ///< `count` is the mutex's
  std::unique_ptr<std::atomic<Group*>[]> groups_;
  std::atomic<std::uint64_t> generation_ = 1;
  alignas(64) std::atomic<std::size_t> leased_ = 0;  ///< size of `leases_`
  std::atomic<std::uint64_t> soonest_ = kNever;

  // Behind the line that every search reads.
  alignas(64) mutable threads::BriefMutex mutex_;  // of all that follows
  std::vector<std::unique_ptr<Group>> owned_;
  std::vector<Piece> pieces_;
  std::uint64_t directories_ = 0;                               ///< of the heap, which are no pieces
  std::array<std::vector<std::uint32_t>, kClasses> open_;       ///< pieces with free cells
  std::array<std::vector<std::uint32_t>, kClasses> groups_of_;  ///< groups of a class
  std::array<std::uint64_t, kClasses> used_{};                  ///< pieces of a class
  std::array<Hand, kClasses> hands_{};
  struct Lease {
    std::uint32_t times = 0;
    bool is_given = false;  ///< free at its end
  };
  std::unordered_map<std::uint32_t, Lease> leases_;  ///< by location
  std::vector<std::uint32_t> unused_;                ///< pieces without an item
};

}  // namespace holdfast::store::cpu
