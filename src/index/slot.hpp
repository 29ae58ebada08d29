// slot.hpp: one item of a bucket, as it lies in the pool (docs/format.md, "Slot"). GPHash §3.1, RULES.md 3.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/both.hpp"

namespace holdfast::index {

/// An item. All zero bits is EMPTY, so a fresh level needs no writing.
///
/// Values over 8 bytes live in a cell of the heap: the slot is occupied only if both words are non-zero, so a
/// torn write is visibly empty. Values up to 8 bytes live in `word`: then `key` alone decides, and `word` is
/// durable before it.
struct Slot {
  std::uint64_t key;   ///< 0 is EMPTY; the key 0 itself lives aside, as kAsideKey (RULES.md 4)
  std::uint64_t word;  ///< 1 + the number of the value's cell; or the value itself, zero-padded
};
static_assert(sizeof(Slot) == 16 && alignof(Slot) == 8);
static_assert(offsetof(Slot, key) == 0 && offsetof(Slot, word) == 8);

/// What stands in the key word of an occupied aside slot.
inline constexpr std::uint64_t kAsideKey = 1;

}  // namespace holdfast::index
