// item_kind.hpp: the policy of what a slot's words stand for, and what of an item lies in a cell. The protocol asks it, and never which
// kind it is: a key of one length in its slot with a value in it or in a cell; or a hash and a pair of any length.
#pragma once

#include <cstdint>

#include "core/both.hpp"
#include "structures/gphash/protocol/geometry.hpp"
#include "structures/gphash/protocol/key.hpp"
#include "structures/gphash/protocol/memory_concept.hpp"
#include "structures/gphash/protocol/pair.hpp"
#include "structures/gphash/protocol/slot.hpp"

namespace holdfast::gphash {

template <class Shape>
class Candidates;

template <bool kVariable>
struct ItemKind;
template <class Shape>
using ItemKindOf = ItemKind<Shape::kVariable>;

/// Keys in slots, and values in slots or in cells of one size, which have numbers.
template <>
struct ItemKind<false> {
  static constexpr bool kHasColumns = true;

  /// The key of a slot whose words are `head` and `word`.
  template <class Shape>
  HOLDFAST_BOTH static Key key_of(const View<Shape>& view, const Slot* slot, std::uint64_t head, std::uint64_t) {
    if (!view.wide()) return head;
    return {head, reinterpret_cast<const std::byte*>(wide_key(slot)), true};
  }
  /// False if the slot of an item that is about to move is empty after all. `word`: what `key_of` asks for.
  template <class Tile, class Memory>
  HOLDFAST_BOTH static bool load_word_to_move(const Tile&, const Memory&, const Slot*, std::uint64_t&) {
    return true;
  }
  /// True if the slot, whose first word is that of the candidates' key, holds that key.
  template <class Memory, class Shape>
  HOLDFAST_BOTH static bool holds_key(const Memory& memory, const View<Shape>& view,
                                      const Candidates<Shape>& candidates, const Slot* slot) {
    if constexpr (Shape::kMayBeWide) {
      if (view.wide()) return memory.same_words(wide_key(slot), candidates, view.key_words());
    }
    return true;
  }
  /// True if the slot is occupied by the candidates' key. `word`: what it says then, of the item that was compared.
  template <class Memory, class Shape>
  HOLDFAST_BOTH static bool load_item(const Memory& memory, const View<Shape>& view,
                                      const Candidates<Shape>& candidates, const Slot* slot, std::uint64_t& word) {
    if (memory.load(&slot->key) != candidates.stored_key() || !holds_key(memory, view, candidates, slot)) return false;
    word = memory.load(&slot->word);
    return word != 0 || view.in_slot();
  }

  /// True if what the slot names is as it was written, as far as there is a checksum.
  template <class Memory, class Shape>
  static bool is_whole(const Memory&, const View<Shape>&, std::uint64_t, std::uint64_t) {
    return true;
  }
  /// True if the heap has the cell that an occupied slot's word names.
  template <class Memory, class Shape>
  HOLDFAST_BOTH static bool has_cell(const Memory&, const View<Shape>& view, std::uint64_t word) {
    return word - 1 < view.cells;
  }
  /// Retires the cell that a slot named by `word`.
  template <class Memory>
  HOLDFAST_BOTH static void retire(const Memory& memory, std::uint64_t word) {
    memory.retire_cell(word - 1);
  }
  /// Gives back a cell that no slot ever named.
  template <class Memory>
  HOLDFAST_BOTH static void give_back(const Memory& memory, std::uint64_t cell) {
    memory.return_cell(cell);
  }
  /// Bytes that an item leaves of its cell, where they are counted.
  HOLDFAST_BOTH static constexpr std::uint64_t left(std::uint64_t) { return 0; }
};

/// Pairs in cells by size class; a slot has the hash of the key, and a heap::CellWord. The members are those above.
template <>
struct ItemKind<true> {
  static constexpr bool kHasColumns = false;

  template <class Shape>
  HOLDFAST_BOTH static Key key_of(const View<Shape>&, const Slot*, std::uint64_t head, std::uint64_t word) {
    return Key::of_pair(head, word);
  }
  template <class Tile, class Memory>
  HOLDFAST_BOTH static bool load_word_to_move(const Tile& tile, const Memory& memory, const Slot* slot,
                                              std::uint64_t& word) {
    word = tile.once([&] { return memory.load(&slot->word); });
    return word != 0;
  }
  template <class Memory, class Shape>
  HOLDFAST_BOTH static bool holds_key(const Memory& memory, const View<Shape>& view,
                                      const Candidates<Shape>& candidates, const Slot* slot) {
    return TrustsHashes<Memory> || pair_has_key(memory, view, candidates, memory.load(&slot->word));
  }
  template <class Memory, class Shape>
  HOLDFAST_BOTH static bool load_item(const Memory& memory, const View<Shape>& view,
                                      const Candidates<Shape>& candidates, const Slot* slot, std::uint64_t& word) {
    if (memory.load(&slot->key) != candidates.stored_key()) return false;
    word = memory.load(&slot->word);
    return TrustsHashes<Memory> ? word != 0 : pair_has_key(memory, view, candidates, word);
  }

  template <class Memory, class Shape>
  static bool is_whole(const Memory& memory, const View<Shape>& view, std::uint64_t head, std::uint64_t word) {
    return is_whole_pair(memory, view, head, word);
  }
  template <class Memory, class Shape>
  HOLDFAST_BOTH static bool has_cell(const Memory& memory, const View<Shape>& view, std::uint64_t word) {
    return heap::names_cell(memory, view.heap_view(), word);
  }
  template <class Memory>
  HOLDFAST_BOTH static void retire(const Memory& memory, std::uint64_t word) {
    memory.retire_pair(word);
  }
  template <class Memory>
  HOLDFAST_BOTH static void give_back(const Memory& memory, std::uint64_t word) {
    memory.return_pair(word);
  }
  HOLDFAST_BOTH static constexpr std::uint64_t left(std::uint64_t word) { return heap::CellWord{word}.left(); }
};

/// The key of a slot whose words are `head` and `word`.
template <class Shape>
HOLDFAST_BOTH Key slot_key(const View<Shape>& view, const Slot* slot, std::uint64_t head, std::uint64_t word) {
  return ItemKindOf<Shape>::key_of(view, slot, head, word);
}

}  // namespace holdfast::gphash
