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

/// The hash of an 8-byte key. `seed` is the pool's own, so that no user can choose keys that collide.
HOLDFAST_BOTH constexpr std::uint64_t hash_key(std::uint64_t key, std::uint64_t seed) { return mix(key + seed) ^ seed; }

/// The hash of a key of `words` words, which `word(i)` gives: hash_key, over one word after the other. It is the key's
/// fingerprint, so it is never 0, the state of an empty slot (rule 3).
template <class Word>
HOLDFAST_BOTH constexpr std::uint64_t hash_words(unsigned words, std::uint64_t seed, const Word& word) {
  std::uint64_t state = seed;
  for (unsigned i = 0; i < words; ++i) state = mix(state + word(i));
  const std::uint64_t hash = state ^ seed;
  return hash != 0 ? hash : 1;
}

/// The hash of a key of `bytes` bytes, any number of them, of which `word(i)` gives eight, the last padded with zeros.
template <class Word>
HOLDFAST_BOTH constexpr std::uint64_t hash_bytes(std::uint64_t bytes, std::uint64_t seed, const Word& word) {
  return hash_words(static_cast<unsigned>((bytes + 7) / 8), mix(seed ^ bytes), word);
}

/// Hash location `j` of a key with hash `hash` (GPHash §3.1 "Multiple hash locations"); location 0 is the hash itself.
HOLDFAST_BOTH constexpr std::uint64_t hash_location(std::uint64_t hash, unsigned j) {
  return j == 0 ? hash : mix(hash + j * 0x9e37'79b9'7f4a'7c15);
}

}  // namespace holdfast
