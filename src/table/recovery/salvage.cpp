// salvage.cpp: one pass over the slots of every level to find the cells' owners, one to empty what does not verify.
#include "table/recovery/salvage.hpp"

#include <cstring>
#include <type_traits>
#include <unordered_map>
#include <vector>

#include "structures/gphash/slot_walk.hpp"

namespace holdfast::table {

namespace {

using index::Slot;
using index::SlotState;

template <class Shape>
class Salvage {
 public:
  explicit Salvage(gphash::TableObject& pool) : pool_(pool), in_slot_(pool.shape().cell_bytes == 0) {
    if constexpr (!Shape::kVariable) owners_.resize(in_slot_ ? 0 : pool.cells());
  }

  std::uint64_t run() {
    each_item([this](Slot* slot, SlotState state, std::uint64_t key) { note_owner(slot, state, key); });
    each_item([this](Slot* slot, SlotState state, std::uint64_t) { empty_if_damaged(slot, state); });
    return emptied_;
  }

 private:
  struct Owner {
    std::uint64_t key = 0;
    const Slot* slot = nullptr;
    enum : std::uint8_t { nobody, one, several } count = nobody;
  };

  /// The slots that are not empty; those whose pair is not as it was written count as misplaced.
  template <class Visit>
  void each_item(const Visit& visit) {
    [[maybe_unused]] const index::View<Shape> view = gphash::view_of<Shape>(pool_, pool_.shape().top_level);
    gphash::each_slot<Shape>(pool_, [&](Slot* slot, SlotState state, std::uint64_t key) {
      if constexpr (Shape::kVariable) {
        const bool occupied = state == SlotState::occupied;
        if (occupied && !index::is_whole_pair(memory::QuietMemory{}, view, key, slot->word))
          state = SlotState::misplaced;
      }
      visit(slot, state, key);
    });
  }

  bool has_cell(SlotState state) const { return state == SlotState::occupied && !in_slot_; }

  /// Two copies of one key may share a cell: a move or a resize was interrupted.
  void note_owner(Slot* slot, SlotState state, std::uint64_t key) {
    if (!has_cell(state)) return;
    Owner& owner = owner_of(slot);
    const bool same =
        owner.count == Owner::nobody || (owner.count == Owner::one && owner.key == key &&
                                         owner.slot->word == slot->word && same_wide_key(owner.slot, slot));
    owner = {key, slot, same ? Owner::one : Owner::several};
  }

  Owner& owner_of(const Slot* slot) {
    if constexpr (Shape::kVariable) return owners_[heap::CellWord{slot->word}.begin()];
    return owners_[slot->word - 1];
  }

  bool same_wide_key(const Slot* a, const Slot* b) const {
    const std::uint32_t bytes = pool_.shape().key_bytes;
    return bytes == 8 || Shape::kVariable || std::memcmp(index::wide_key(a), index::wide_key(b), bytes) == 0;
  }

  void empty_if_damaged(Slot* slot, SlotState state) {
    const bool shared = has_cell(state) && owner_of(slot).count == Owner::several;
    if (!shared && state != SlotState::misplaced && state != SlotState::no_cell) return;
    *slot = Slot{};
    ++emptied_;
  }

  gphash::TableObject& pool_;
  const bool in_slot_;
  /// By the cell that a slot names.
  std::conditional_t<Shape::kVariable, std::unordered_map<std::uint64_t, Owner>, std::vector<Owner>> owners_;
  std::uint64_t emptied_ = 0;
};

}  // namespace

std::uint64_t leave_out_damage(gphash::TableObject& pool) {
  if (pool.shape().key_bytes == kVariableBytes) return Salvage<index::RuntimeVariableShape>(pool).run();
  return Salvage<index::RuntimeShape>(pool).run();
}

}  // namespace holdfast::table
