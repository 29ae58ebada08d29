// entry.hpp: one entry of the index: the 32-bit signature of a key and the 32-bit location of its item, in one 8-byte word, which is read
// and replaced as a whole. Mega-KV §4.1.
#pragma once

#include <cstdint>

#include "core/both.hpp"

namespace holdfast::cuckoo {

/// The hash of a key, as callers bring it: the upper half addresses a bucket, the lower half is the signature.
using Hash = std::uint64_t;

/// Names an item of the store. Every value but kNone is a location.
using Location = std::uint32_t;
inline constexpr Location kNone = ~Location{0};

/// An empty cell. No entry is zero, since no signature is.
inline constexpr std::uint64_t kEmpty = 0;

HOLDFAST_BOTH constexpr std::uint64_t entry_of(std::uint32_t signature, Location location) {
  return std::uint64_t{signature} << 32 | location;
}
HOLDFAST_BOTH constexpr std::uint32_t signature_of(std::uint64_t entry) {
  return static_cast<std::uint32_t>(entry >> 32);
}
HOLDFAST_BOTH constexpr Location location_of(std::uint64_t entry) { return static_cast<Location>(entry); }

/// What a change did.
enum class Outcome : std::uint8_t {
  inserted,  ///< the entry is new
  replaced,  ///< the entry has the new location instead of the one that the caller named
  erased,
  absent,   ///< the index has no entry of this signature and location; nothing was changed
  no_cell,  ///< no cell is free for the entry, and the index cannot grow; nothing was changed
};

}  // namespace holdfast::cuckoo
