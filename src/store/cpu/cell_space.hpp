// cell_space.hpp: where locations lie, and which cells are free: volatile, derived from the pieces' entries and the items when a store is
// opened.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "heap/slab.hpp"
#include "store/cpu/memory.hpp"
#include "store/protocol/change.hpp"
#include "store/protocol/piece.hpp"

namespace holdfast::store::cpu {

/// The cells of a store's heap. `at` takes no lock; all members may be called by several threads at once, except those for recovery.
class CellSpace {
 public:
  /// `zero`: no byte of the heap has been written since its file was made.
  CellSpace(const heap::View& heap, bool zero);

  /// Where a location lies now; none if its piece went to another group.
  Cell at(Location location) const;
  /// A free cell of at least `words` words, or none. It may give a piece another class.
  Cell take(const Memory& memory, std::uint64_t words);
  /// The cell is free: its item is durably dead, or it has none.
  void give(const Cell& cell);
  std::uint64_t free_pieces() const;

  /// Of recovery: takes over what the entry of a piece says; its cells are neither free nor taken until `give` says so of some. False: the
  /// entry is damaged.
  bool enter(std::uint64_t piece, PieceWord entry);
  /// Of recovery, when every free cell was given: pieces without an item may go to any class.
  void end_recovery();
  /// Calls `visit(cell)` for every cell of the heap, in pieces that were entered.
  template <class Visit>
  void each_cell(const Visit& visit) const {
    for (std::uint64_t piece = 0; piece < pieces_.size(); ++piece) {
      if (!pieces_[piece].used) continue;
      for (std::uint32_t i = 0; i < cells_in(pieces_[piece].entry.size_class()); ++i) visit(cell_of(piece, i));
    }
  }

 private:
  /// Which pieces its cells lie in. Stays as long as the store is open.
  struct Group {
    Group(unsigned its_class, std::uint32_t its_cells_in_piece)
        : size_class(its_class),
          cells_in_piece(its_cells_in_piece),
          pieces((kGroupCells + its_cells_in_piece - 1) / its_cells_in_piece) {}
    const unsigned size_class;
    const std::uint32_t cells_in_piece;
    std::vector<std::atomic<std::uint32_t>> pieces;  ///< by place
  };
  static constexpr std::uint32_t kNoPiece = 0;  ///< is a directory

  struct Piece {
    PieceWord entry;            ///< as its entry in the directory says
    bool used = false;          ///< cells are taken from it, and its locations are valid
    std::uint32_t free = 0;     ///< cells
    std::uint32_t first = 0;    ///< no cell before it is free
    std::vector<bool> is_free;  ///< of each cell
    bool open = false;          ///< its class looks for free cells in it
  };

  std::uint32_t cells_in(unsigned size_class) const {
    return static_cast<std::uint32_t>(heap_.slab_bytes() / class_bytes(size_class));
  }
  Cell cell_of(std::uint64_t piece, std::uint32_t index) const;
  Cell take_from_open(unsigned size_class);
  bool open_piece(const Memory& memory, unsigned size_class);
  PieceWord new_place(unsigned size_class);
  std::atomic<std::uint32_t>& place_of(PieceWord entry);
  void name_piece(std::uint64_t piece);
  void release_piece(std::uint64_t piece);
  void release_any();

  const heap::View heap_;
  std::unique_ptr<std::atomic<Group*>[]> groups_;
  std::vector<std::unique_ptr<Group>> owned_;

  mutable std::mutex mutex_;  // of all that follows
  std::vector<Piece> pieces_;
  std::array<std::vector<std::uint32_t>, kClasses> open_;       ///< pieces with free cells
  std::array<std::vector<std::uint32_t>, kClasses> groups_of_;  ///< groups of a class
  std::vector<std::uint32_t> unused_;                           ///< pieces without an item
  std::vector<std::uint32_t> fresh_;                            ///< whose bytes are zero
};

}  // namespace holdfast::store::cpu
