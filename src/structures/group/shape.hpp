// shape.hpp: where the cells of a group hashing table are, and the words that say which are occupied. §3.2; docs/format.md.
//
//   table   groups, one behind the other
//   group   occupancy words of level 1, then of level 2, zero up to a whole line;
//           `group_size` cells of level 1, addressed by the hash; as many of level 2, for collisions of this group
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "core/both.hpp"

namespace holdfast::group {

inline constexpr std::uint32_t kLeastGroup = 64, kMostGroup = 1024;
inline constexpr unsigned kLineWords = 8;

struct Shape {
  std::uint64_t groups;      ///< a power of two
  std::uint32_t group_size;  ///< cells of a level in a group, a power of two
  std::uint32_t item_words;

  std::uint32_t cells_of_group() const { return 2 * group_size; }
  std::uint64_t cells() const { return groups * cells_of_group(); }
  std::uint64_t locks() const { return groups; }
  std::uint32_t level_words() const { return (group_size + 63) / 64; }
  std::uint32_t occupancy_words() const { return 2 * level_words(); }
  std::uint32_t header_words() const { return (occupancy_words() + kLineWords - 1) / kLineWords * kLineWords; }
  std::uint64_t group_words() const { return header_words() + std::uint64_t{cells_of_group()} * item_words; }
  std::uint64_t words() const { return groups * group_words(); }
  std::uint64_t bytes() const { return words() * 8; }

  /// The group of a hash: its top bits, so that a group of a table of twice the size has items of one group alone.
  std::uint64_t group_of(std::uint64_t hash) const {
    return groups == 1 ? 0 : hash >> (64 - static_cast<unsigned>(std::countr_zero(groups)));
  }
  /// The cell of level 1 that a hash addresses: the bits behind those of the group.
  std::uint32_t position_of(std::uint64_t hash) const {
    const auto group_bits = static_cast<unsigned>(std::countr_zero(groups));
    const auto position_bits = static_cast<unsigned>(std::countr_zero(group_size));
    return static_cast<std::uint32_t>((hash << group_bits) >> (64 - position_bits));
  }
};

/// A cell of a group: from 0 in level 1, from `group_size` in level 2.
using Cell = std::uint32_t;
inline constexpr Cell kNoCell = ~Cell{0};

/// The occupancy word that has the bit of a cell, and the bit.
inline std::uint32_t word_of(const Shape& shape, Cell cell) {
  HOLDFAST_ASSERT(cell < shape.cells_of_group());
  const bool second = cell >= shape.group_size;
  return (second ? shape.level_words() : 0) + (second ? cell - shape.group_size : cell) / 64;
}
inline std::uint64_t bit_of(const Shape& shape, Cell cell) {
  return std::uint64_t{1} << (cell % shape.group_size % 64);
}

}  // namespace holdfast::group
