// view.hpp: how a machine sees a pool that is open: a view of any shape, and its change into one that a compiler knows.
#pragma once

#include <cstdint>

#include "structures/gphash/protocol/geometry.hpp"
#include "structures/gphash/table_shape.hpp"

namespace holdfast::gphash {

using Layout = gphash::View<gphash::RuntimeShape>;

/// The same view with a shape of another type, which must be the same shape.
template <class To>
gphash::View<To> view_as(const Layout& from) {
  gphash::View<To> to;
  if constexpr (!To::kFixed) to.shape = To(from.shape);
  if constexpr (To::kFixed && To::kMayBeWide) to.shape.key_words_ = from.shape.key_words_;
  to.top_level = from.top_level;
  to.value_bytes = from.value_bytes;
  to.cell_bytes = from.cell_bytes;
  to.shared_bias = from.shared_bias;
  to.slab_bits = from.slab_bits;
  to.may_move = from.may_move;
  to.score = from.score;
  to.seed = from.seed;
  to.cells = from.cells;
  for (unsigned i = 0; i < gphash::kMaxLevels; ++i) to.level[i] = from.level[i];
  to.reserved_slot = from.reserved_slot;
  to.heap = from.heap;
  to.tags = from.tags;
  return to;
}

inline gphash::RuntimeShape shape_of(const gphash::TableShape& super) {
  return {super.levels, super.hash_locations, super.slots, gphash::key_words(super.key_bytes),
          super.key_bytes == gphash::kVariable};
}

/// The view that addresses `top_level` of a pool and the levels below it, without tags. `Pool` is pool::Pool, or the model's.
template <class Pool>
Layout layout_of(const Pool& pool, std::uint32_t shared_bias, bool may_move, unsigned top_level) {
  const gphash::TableShape& super = pool.shape();
  Layout layout;
  layout.shape = shape_of(super);
  layout.top_level = top_level;
  layout.value_bytes = super.value_bytes;
  layout.cell_bytes = static_cast<std::uint32_t>(super.cell_bytes);
  layout.shared_bias = shared_bias;
  layout.slab_bits = pool.slab_bits();
  layout.may_move = may_move;
  layout.score = static_cast<Score>(super.score);
  layout.seed = super.seed;
  layout.cells = pool.cells();
  for (unsigned rank = 0; rank < super.levels; ++rank) layout.level[rank] = pool.level(top_level - rank);
  layout.reserved_slot = pool.reserved_slot();
  layout.heap = pool.heap();
  return layout;
}

}  // namespace holdfast::gphash
