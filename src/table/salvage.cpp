// salvage.cpp: one pass over the slots of every level to find the cells' owners, one to empty what does not verify.
#include "table/salvage.hpp"

#include <cstring>
#include <type_traits>
#include <unordered_map>
#include <vector>

#include "gphash/protocol/recover.hpp"

namespace holdfast::table {

namespace {

using index::Slot;
using index::SlotState;

/// Nobody else sees the private copy: plain loads do.
struct Quiet {
  static std::uint64_t load(const std::uint64_t* word) { return *word; }
};

/// The geometry with `top_level` on top. While a resize is unfinished there is one more level at the bottom.
template <class Shape>
index::View<Shape> view_of(const gphash::TableObject& pool, unsigned top_level) {
  const gphash::TableShape& super = pool.shape();
  index::View<Shape> view;
  const index::RuntimeShape shape{super.levels, super.hash_locations, super.slots, gphash::key_words(super.key_bytes)};
  view.shape = Shape(shape);
  view.top_level = top_level;
  view.value_bytes = super.value_bytes;
  view.cell_bytes = static_cast<std::uint32_t>(super.cell_bytes);
  view.seed = super.seed;
  view.cells = pool.cells();
  for (unsigned rank = 0; rank < super.levels; ++rank) view.level[rank] = pool.level(top_level - rank);
  view.aside = pool.aside();
  view.heap = pool.heap();
  return view;
}

template <class Shape>
class Salvage {
  using View = index::View<Shape>;

 public:
  explicit Salvage(gphash::TableObject& pool) : pool_(pool), in_slot_(pool.shape().cell_bytes == 0) {
    if constexpr (!Shape::kVariable) owners_.resize(in_slot_ ? 0 : pool.cells());
  }

  std::uint64_t run() {
    each([this](Slot* slot, SlotState state, std::uint64_t key) { note_owner(slot, state, key); });
    each([this](Slot* slot, SlotState state, std::uint64_t) { empty_if_damaged(slot, state); });
    return emptied_;
  }

 private:
  struct Owner {
    std::uint64_t key = 0;
    const Slot* slot = nullptr;
    enum : std::uint8_t { nobody, one, several } count = nobody;
  };

  /// Calls `visit` for every slot that is not empty: those of the levels that hashes address, those of the level below
  /// that an unfinished resize leaves, and the aside slot.
  template <class Visit>
  void each(Visit visit) {
    const unsigned top = pool_.shape().top_level;
    const View view = view_of<Shape>(pool_, top);
    for (unsigned rank = 0; rank < view.shape.levels(); ++rank) each_of_level(view, rank, visit);
    for (unsigned below = view.bottom_level(); below-- > 0 && pool_.level(below) != nullptr;) {
      const unsigned rank = view.shape.levels() - 1;
      each_of_level(view_of<Shape>(pool_, below + rank), rank, visit);
    }
    std::uint64_t word = 0;
    const SlotState state = index::inspect_aside(Quiet{}, view, word);
    if (state != SlotState::empty) visit(view.aside, state, 0);
  }

  template <class Visit>
  void each_of_level(const View& view, unsigned rank, Visit visit) {
    for (std::uint64_t bucket = 0; bucket < view.buckets(rank); ++bucket) {
      for (unsigned s = 0; s < view.shape.slots(); ++s) {
        Slot* const slot = view.slot(rank, bucket, s);
        std::uint64_t key = 0, word = 0;
        std::uint8_t tag = 0;
        SlotState state = index::inspect_slot(Quiet{}, view, rank, bucket, slot, key, word, tag);
        if constexpr (Shape::kVariable) {
          const bool whole = state == SlotState::occupied && index::is_whole_pair(Quiet{}, view, key, word);
          if (state == SlotState::occupied && !whole) state = SlotState::misplaced;
        }
        if (state != SlotState::empty) visit(slot, state, key);
      }
    }
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
    if constexpr (Shape::kVariable) return owners_[index::PairWord{slot->word}.begin()];
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
