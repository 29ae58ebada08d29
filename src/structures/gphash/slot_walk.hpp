// slot_walk.hpp: a walk over the slots of an unchanging table, directly in the pool.
#pragma once

#include <cstdint>

#include "structures/gphash/protocol/recover.hpp"
#include "structures/gphash/table_object.hpp"

namespace holdfast::gphash {

/// The geometry with `top_level` on top. While a resize is unfinished there is one more level at the bottom.
template <class Shape>
gphash::View<Shape> view_of(const TableObject& pool, unsigned top_level) {
  const TableShape& super = pool.shape();
  gphash::View<Shape> view;
  const gphash::RuntimeShape shape{super.levels, super.hash_locations, super.slots, key_words(super.key_bytes)};
  view.shape = Shape(shape);
  view.top_level = top_level;
  view.value_bytes = super.value_bytes;
  view.cell_bytes = static_cast<std::uint32_t>(super.cell_bytes);
  view.seed = super.seed;
  view.cells = pool.cells();
  for (unsigned rank = 0; rank < super.levels; ++rank) view.level[rank] = pool.level(top_level - rank);
  view.reserved_slot = pool.reserved_slot();
  view.heap = pool.heap();
  return view;
}

/// Calls `visit` for the slots of one level of `view` that are not empty.
template <class Shape, class Visit>
void each_slot_of_level(const gphash::View<Shape>& view, unsigned rank, const Visit& visit) {
  for (std::uint64_t bucket = 0; bucket < view.buckets(rank); ++bucket) {
    for (unsigned s = 0; s < view.shape.slots(); ++s) {
      gphash::Slot* const slot = view.slot(rank, bucket, s);
      std::uint64_t key = 0, word = 0;
      std::uint8_t tag = 0;
      const gphash::SlotState state =
          gphash::inspect_slot(pool::QuietMemory{}, view, rank, bucket, slot, key, word, tag);
      if (state != gphash::SlotState::empty) visit(slot, state, key);
    }
  }
}

/// Calls `visit(slot, state, key)` for every slot that is not empty: those of the levels that hashes address, those of the level
/// below that an unfinished resize leaves, and the reserved-key slot.
template <class Shape, class Visit>
void each_slot(const TableObject& pool, const Visit& visit) {
  const unsigned top = pool.shape().top_level;
  const gphash::View<Shape> view = view_of<Shape>(pool, top);
  for (unsigned rank = 0; rank < view.shape.levels(); ++rank) each_slot_of_level(view, rank, visit);
  for (unsigned below = view.bottom_level(); below-- > 0 && pool.level(below) != nullptr;) {
    const unsigned rank = view.shape.levels() - 1;
    each_slot_of_level(view_of<Shape>(pool, below + rank), rank, visit);
  }
  std::uint64_t word = 0;
  const gphash::SlotState state = gphash::inspect_reserved(pool::QuietMemory{}, view, word);
  if (state != gphash::SlotState::empty) visit(view.reserved_slot, state, 0);
}

}  // namespace holdfast::gphash
