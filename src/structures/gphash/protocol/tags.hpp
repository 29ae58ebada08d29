// tags.hpp: one volatile byte for each slot: is it empty, claimed, or holding a key with this fingerprint?
//
// Tags are where machines arbitrate: a slot is won by a compare-and-swap on its tag, in DRAM or GPU memory, and the
// pool itself receives plain stores only (rule 13). They are also what readers look at first, so an item becomes
// visible exactly when its tag is published, after it is durable. Recovery rebuilds them from the slots.
#pragma once

#include <cstdint>

#include "core/both.hpp"
#include "structures/gphash/protocol/memory_concept.hpp"

namespace holdfast::gphash {

inline constexpr std::uint8_t kTagEmpty = 0;
inline constexpr std::uint8_t kTagClaimed = 1;  ///< taken by an operation that has not published it

/// The tag of an occupied slot: 2 to 255, from hash bits that do not address a bucket.
HOLDFAST_BOTH constexpr std::uint8_t tag_of(std::uint64_t hash) {
  return static_cast<std::uint8_t>(2 + (((hash & 0xff) * 254) >> 8));
}

HOLDFAST_BOTH constexpr std::uint8_t tag_at(std::uint64_t word, unsigned slot) {
  return static_cast<std::uint8_t>(word >> (8 * (slot & 7)));
}

/// Bit i: byte i of `word` equals `tag`. Exact: no carry from a neighbour can set a bit.
HOLDFAST_BOTH constexpr std::uint32_t match_word(std::uint64_t word, std::uint8_t tag) {
  constexpr std::uint64_t kLow = 0x7f7f'7f7f'7f7f'7f7f;
  const std::uint64_t x = word ^ (std::uint64_t{0x0101'0101'0101'0101} * tag);
  const std::uint64_t zero = ~(((x & kLow) + kLow) | x | kLow);  // 0x80 in each byte of x that is zero
  return static_cast<std::uint32_t>(((zero >> 7) * 0x0102'0408'1020'4080) >> 56);
}

/// Wins the slot if it is empty: EMPTY → claimed.
template <TagMemory Memory>
HOLDFAST_BOTH bool claim_tag(const Memory& memory, std::uint64_t* word, unsigned slot) {
  const unsigned shift = 8 * (slot & 7);
  for (std::uint64_t seen = memory.peek(word); ((seen >> shift) & 0xff) == kTagEmpty;) {
    if (memory.swap(word, seen, seen | (std::uint64_t{kTagClaimed} << shift))) return true;
    const std::uint64_t now = memory.peek(word);
    if (now == seen) return false;  // only a weak swap fails so; the caller looks again
    seen = now;
  }
  return false;
}

/// Changes the tag of a slot that the caller holds, leaving its neighbours to others.
template <TagMemory Memory>
HOLDFAST_BOTH void retag(const Memory& memory, std::uint64_t* word, unsigned slot, std::uint8_t from, std::uint8_t to) {
  memory.put_byte(word, slot & 7, from, to);
}

/// What a retagging adds to the whole word, for machines that store no single bytes.
HOLDFAST_BOTH constexpr std::uint64_t byte_change(unsigned byte, std::uint8_t from, std::uint8_t to) {
  return (std::uint64_t{to} - std::uint64_t{from}) << (8 * byte);
}

}  // namespace holdfast::gphash
