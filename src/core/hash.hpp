// hash.hpp: the seeded hash of a key, and the hash locations derived from it.
#pragma once

#include <cstdint>

#include "core/both.hpp"

namespace holdfast {

/// A bijection of 64 bits in which every input bit moves every output bit (two multiply-xorshift rounds).
HOLDFAST_BOTH constexpr std::uint64_t mix(std::uint64_t x) {
  x ^= x >> 32;
  x *= 0xd6e8'feb8'6659'fd93;
  x ^= x >> 32;
  x *= 0xd6e8'feb8'6659'fd93;
  x ^= x >> 32;
  return x;
}

/// The hash of an 8-byte key. `seed` is the pool's own, so that nobody can choose keys that collide.
HOLDFAST_BOTH constexpr std::uint64_t hash_key(std::uint64_t key, std::uint64_t seed) { return mix(key + seed) ^ seed; }

/// Hash location `j` of a key with hash `hash` (GPHash §3.1 "Multiple hash locations"); location 0 is the hash itself.
HOLDFAST_BOTH constexpr std::uint64_t hash_location(std::uint64_t hash, unsigned j) {
  return j == 0 ? hash : mix(hash + j * 0x9e37'79b9'7f4a'7c15);
}

}  // namespace holdfast
