// salvage.cpp: one pass over the slots of every level to find the cells' owners, one to empty what does not verify.
#include "table/recovery/salvage.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>
#include <type_traits>
#include <unordered_map>
#include <vector>

#include "structures/gphash/slot_walk.hpp"

namespace holdfast::table {

namespace {

using gphash::Slot;
using gphash::SlotState;

struct Owner {
  std::uint64_t key = 0;
  const Slot* slot = nullptr;
  enum : std::uint8_t { none, one, several } count = none;
};

/// The owner of each cell, by the word that names it: a number, or of a pair where it begins.
template <bool kVariable>
class Owners {
 public:
  explicit Owners(std::uint64_t cells) : owners_(cells) {}
  Owner& of(std::uint64_t word) { return owners_[word - 1]; }
  static std::span<const std::byte> cell(const gphash::TableObject& pool, std::uint64_t word) {
    const std::uint64_t bytes = pool.shape().cell_bytes;
    return {pool.heap() + (word - 1) * bytes, bytes};
  }

 private:
  std::vector<Owner> owners_;
};
template <>
class Owners<true> {
 public:
  explicit Owners(std::uint64_t) {}
  Owner& of(std::uint64_t word) { return owners_[heap::CellWord{word}.begin()]; }
  static std::span<const std::byte> cell(const gphash::TableObject& pool, std::uint64_t word) {
    const heap::CellWord cell{word};
    return {pool.heap() + cell.begin(), cell.pair_bytes()};
  }

 private:
  std::unordered_map<std::uint64_t, Owner> owners_;
};

template <class Shape>
class Salvage {
  using Kind = gphash::ItemKindOf<Shape>;

 public:
  explicit Salvage(gphash::TableObject& pool)
      : pool_(pool), in_slot_(pool.shape().cell_bytes == 0), lost_(pool.lost()), owners_(in_slot_ ? 0 : pool.cells()) {}

  std::uint64_t run() {
    each_item([this](Slot* slot, SlotState state, std::uint64_t key) { note_owner(slot, state, key); });
    each_item([this](Slot* slot, SlotState state, std::uint64_t) { empty_if_damaged(slot, state); });
    return emptied_;
  }

 private:
  /// The slots that are not empty; those whose pair is not as it was written, or was lost, count as misplaced.
  template <class Visit>
  void each_item(const Visit& visit) {
    const gphash::View<Shape> view = gphash::view_of<Shape>(pool_, pool_.shape().top_level);
    gphash::each_slot<Shape>(pool_, [&](Slot* slot, SlotState state, std::uint64_t key) {
      if (state == SlotState::occupied &&
          (loses(slot) || !Kind::is_whole(pool::QuietMemory{}, view, key, slot->word))) {
        state = SlotState::misplaced;
      }
      visit(slot, state, key);
    });
  }

  /// Whether a part of an occupied slot or of its cell is zero because the file was cut short.
  bool loses(const Slot* slot) const {
    if (lost_.empty()) return false;
    const std::span own{reinterpret_cast<const std::byte*>(slot), gphash::slot_bytes_of(pool_.shape().key_bytes)};
    return is_lost(own) || (!in_slot_ && is_lost(Owners<Shape::kVariable>::cell(pool_, slot->word)));
  }

  bool is_lost(std::span<const std::byte> bytes) const {
    const auto ends_before = [](const auto& range, const std::byte* address) {
      return range.data() + range.size() <= address;
    };
    const auto range = std::lower_bound(lost_.begin(), lost_.end(), bytes.data(), ends_before);
    return range != lost_.end() && range->data() < bytes.data() + bytes.size();
  }

  bool has_cell(SlotState state) const { return state == SlotState::occupied && !in_slot_; }

  /// Two copies of one key may share a cell: a move or a resize was interrupted.
  void note_owner(Slot* slot, SlotState state, std::uint64_t key) {
    if (!has_cell(state)) return;
    Owner& owner = owners_.of(slot->word);
    const bool same = owner.count == Owner::none || (owner.count == Owner::one && owner.key == key &&
                                                     owner.slot->word == slot->word && same_wide_key(owner.slot, slot));
    owner = {key, slot, same ? Owner::one : Owner::several};
  }

  bool same_wide_key(const Slot* a, const Slot* b) const {
    const std::uint32_t bytes = pool_.shape().key_bytes;
    return gphash::key_words(bytes) == 1 || std::memcmp(gphash::wide_key(a), gphash::wide_key(b), bytes) == 0;
  }

  void empty_if_damaged(Slot* slot, SlotState state) {
    const bool shared = has_cell(state) && owners_.of(slot->word).count == Owner::several;
    if (!shared && state != SlotState::misplaced && state != SlotState::no_cell) return;
    *slot = Slot{};
    ++emptied_;
  }

  gphash::TableObject& pool_;
  const bool in_slot_;
  const std::vector<std::span<const std::byte>> lost_;
  Owners<Shape::kVariable> owners_;
  std::uint64_t emptied_ = 0;
};

}  // namespace

std::uint64_t leave_out_damage(gphash::TableObject& pool) {
  return gphash::with_shape(pool.shape().key_bytes == kVariableBytes,
                            [&]<class Shape>(std::type_identity<Shape>) { return Salvage<Shape>(pool).run(); });
}

}  // namespace holdfast::table
