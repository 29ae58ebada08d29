// slot.hpp: one item of a bucket, as it lies in the pool (docs/format.md, "Slot"). GPHash §3.1, rule 3.
//
// A key of 8 bytes is its slot's first word. A wider one follows the two words, and the first is its fingerprint: the hash.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/both.hpp"

namespace holdfast::gphash {

/// An item. All zero bits is EMPTY, so a fresh level needs no writing.
///
/// Values over 8 bytes live in a cell of the heap: the slot is occupied only if both words are non-zero, so a
/// torn write is visibly empty. Values up to 8 bytes live in `word`: then `key` alone decides, and `word` is
/// durable before it.
///
/// With wide keys `key` alone decides, too, and all that follows it is durable before it. No key is reserved: the hash is
/// never 0. What stands behind an empty one means nothing.
struct Slot {
  std::uint64_t
      key;  ///< 0 is EMPTY; the key 0 itself has the reserved slot, as kReservedKey (rule 4). A wide key's fingerprint
  std::uint64_t word;  ///< 1 + the number of the value's cell; or the value itself, zero-padded
};
static_assert(sizeof(Slot) == 16 && alignof(Slot) == 8);
/// Slots of a line of the pool.
inline constexpr unsigned kLineSlots = 64 / sizeof(Slot);
static_assert(offsetof(Slot, key) == 0 && offsetof(Slot, word) == 8);

/// The words of a wide key.
HOLDFAST_BOTH inline std::uint64_t* wide_key(Slot* slot) { return reinterpret_cast<std::uint64_t*>(slot + 1); }
HOLDFAST_BOTH inline const std::uint64_t* wide_key(const Slot* slot) {
  return reinterpret_cast<const std::uint64_t*>(slot + 1);
}

inline constexpr unsigned kMaxKeyWords = 16;

/// From a slot to the next.
HOLDFAST_BOTH constexpr unsigned slot_bytes(unsigned key_words) {
  return sizeof(Slot) + (key_words == 1 ? 0 : 8 * key_words);
}

/// What stands in the key word of an occupied reserved slot.
inline constexpr std::uint64_t kReservedKey = 1;

}  // namespace holdfast::gphash
