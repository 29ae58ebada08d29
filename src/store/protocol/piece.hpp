// piece.hpp: which class and group a piece of the heap belongs to, durably. A piece is a slab of heap::View.
//
//   every line's first word   durable   zero: a cell of any class may begin there. All items of the piece are durably dead, so recovery finds
//                                       nothing in it that counts, as long as its entry names the old class
//   entry, of the new group   durable   before an item in the piece is acknowledged
//
// So bytes that an item of one class had are never taken for the header of an item of another.
#pragma once

#include <cstdint>

#include "core/failpoint.hpp"
#include "core/hash.hpp"
#include "heap/slab.hpp"
#include "store/protocol/cell.hpp"
#include "store/protocol/item_memory.hpp"
#include "store/protocol/step.hpp"

namespace holdfast::store {

/// A piece's entry in the directory; zero: it belongs to no group. Bits 48 to 63 are check bits of the others.
struct PieceWord {
  std::uint64_t word = 0;

  static constexpr unsigned kCheckAt = 48;
  static constexpr std::uint64_t kChecked = (std::uint64_t{1} << kCheckAt) - 1;

  HOLDFAST_BOTH static constexpr PieceWord of(unsigned size_class, std::uint32_t group, std::uint32_t place) {
    return sealed(std::uint64_t{place} << 32 | std::uint64_t{group} << 8 | (size_class + 1));
  }
  HOLDFAST_BOTH static constexpr PieceWord sealed(std::uint64_t checked) {
    return {mix(checked) >> kCheckAt << kCheckAt | checked};
  }
  HOLDFAST_BOTH constexpr bool none() const { return word == 0; }
  HOLDFAST_BOTH constexpr unsigned size_class() const { return static_cast<unsigned>(word & 0xff) - 1; }
  HOLDFAST_BOTH constexpr std::uint32_t group() const { return static_cast<std::uint32_t>(word >> 8) & 0xff'ffff; }
  /// Which of its group's pieces it is.
  HOLDFAST_BOTH constexpr std::uint32_t place() const { return static_cast<std::uint32_t>(word >> 32) & 0xffff; }
  /// Whether a piece may say so: otherwise it is damaged.
  HOLDFAST_BOTH constexpr bool is_valid() const {
    return none() || (word == sealed(word & kChecked).word && size_class() < kClasses && group() < kGroups &&
                      place() < kGroupCells);
  }
};

/// Gives a piece to a group, from which its cells may be taken. All items in it are durably dead. `zero`: its bytes are as a new file has
/// them.
template <ItemMemory Memory>
HOLDFAST_BOTH void enter_piece(Memory& memory, const heap::View& view, std::uint64_t piece, PieceWord next, bool zero) {
  std::uint64_t* const entry = view.entry(piece);
  if (!zero && memory.keeps(Step::zero_piece)) {
    std::byte* const begin = view.base + piece * view.slab_bytes();
    for (std::uint64_t at = 0; at < view.slab_bytes(); at += kLineBytes) {
      if (at == view.slab_bytes() / 2) HOLDFAST_FAILPOINT(piece_half_zeroed);
      memory.store(reinterpret_cast<std::uint64_t*>(begin + at) + kSequenceWord, 0);
    }
    if (memory.keeps(Step::flush_zeros)) memory.flush(begin, view.slab_bytes());
    if (memory.keeps(Step::fence_after_zeros)) memory.fence();
    HOLDFAST_FAILPOINT(piece_zeroed);
  }
  memory.store(entry, next.word);
  if (memory.keeps(Step::flush_enter)) memory.flush(entry, 8);
  if (memory.keeps(Step::fence_after_enter)) memory.fence();
  HOLDFAST_FAILPOINT(piece_entered);
}

}  // namespace holdfast::store
