// fullness.hpp: how many items a table takes before an insert is to be expected that finds no slot. Rule 18.
#pragma once

#include <cstdint>

#include "structures/gphash/protocol/geometry.hpp"

namespace holdfast::gphash {

/// The items up to which every insert finds a slot in practice, whatever the keys, in a table of `slots` slots of a shape; with
/// `may_move` a full insert moves one item (rule 26). 0: an insert may fail at any load, as where a key has one bucket a
/// level. The shares lie below the loads at which tables of millions of slots first failed: the less candidate slots a key has,
/// the sooner, and the more so the larger the table (tests/table/fullness_test.cpp).
inline std::uint64_t sure_items(const gphash::RuntimeShape& shape, std::uint64_t slots, bool may_move) {
  constexpr std::uint64_t kFewSlots = 1 << 16;  // a table that small may be full by chance sooner
  const unsigned candidates = shape.levels() * shape.hashes() * shape.slots();
  if (shape.hashes() == 1 || candidates < 8) return 0;
  std::uint64_t percent = candidates >= 32 ? 90 : candidates >= 16 ? 80 : 60;
  if (!may_move) percent = candidates >= 32 ? 70 : candidates >= 16 ? 50 : 20;
  if (slots < kFewSlots) percent = percent * 7 / 9;
  return slots / 100 * percent;
}

}  // namespace holdfast::gphash
