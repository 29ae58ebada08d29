// layout.hpp: how a machine sees the pool that it was given, with the options that it was given.
#pragma once

#include "structures/gphash/machine.hpp"
#include "structures/gphash/table_object.hpp"
#include "structures/gphash/view.hpp"

namespace holdfast::gphash {

/// The view that addresses `top_level` and the levels below it, without tags.
inline Layout layout_of(const gphash::TableObject& pool, const MachineOptions& options, unsigned top_level) {
  return layout_of(pool, options.shared_bias, options.moves, top_level);
}

}  // namespace holdfast::gphash
