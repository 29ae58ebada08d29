// value_view.hpp: the value cache as kernels see it: copies in GPU memory of the cells that hot keys' values lie in.
//
// A cell that a slot names does not change until no reader can see it (rule 5), so its copy stays right as long as the
// cell lives. Maps say where the copy of a cell is (map_view.hpp). Where the heap fits the budget, each cell's copy has the
// cell's own number (*resident*), and there are no maps.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/both.hpp"
#include "structures/gphash/cuda/map_view.hpp"

namespace holdfast::gphash::cuda {

/// Trivially copyable: it travels into kernels by value.
struct ValueView : MapView {
  std::byte* copies = nullptr;  ///< (positions, cell_bytes); null: no value is cached

  HOLDFAST_BOTH bool any() const { return copies != nullptr; }
  HOLDFAST_BOTH bool resident() const { return copies != nullptr && map == nullptr; }
};

}  // namespace holdfast::gphash::cuda
