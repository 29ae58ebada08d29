// cleared_tags.hpp: tags that are cleared under a search, as often as a test likes.
#pragma once

#include <cstdint>

#include "structures/gphash/protocol/find.hpp"

namespace holdfast::gphash {

/// A part of a tile. One tag always points to an item; the stripe is cleared during each look until `cleared_for` of them are over.
struct ClearedTags {
  using Shape = DefaultShape;
  inline static std::uint64_t looks, cleared_for;
  inline static Slot slot;

  template <class Memory>
  std::uint64_t peek(const Memory&, const std::uint64_t*) const {
    const std::uint64_t look = looks++ / 2;  // before and after
    return look < cleared_for ? looks << 8 : cleared_for << 9;
  }
  template <class Memory>
  int load_tags(const Memory&, const View<Shape>&, const Candidates<Shape>&) const {
    return 0;
  }
  LaneMask match(const View<Shape>&, const Candidates<Shape>&, int, std::uint8_t) const { return 1; }
  template <class Memory>
  Item first_item(const Memory&, const View<Shape>&, const Candidates<Shape>&, LaneMask) const {
    return {&slot, 7, 0};
  }
};

}  // namespace holdfast::gphash
