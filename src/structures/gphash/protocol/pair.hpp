// pair.hpp: a key and a value of any length, as they lie in one cell of the heap (docs/format.md, "Pair"). Rule 7.
//
// A pair is written once, durably, before a slot names it, and never changed: an update writes another and swaps one word.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "core/both.hpp"
#include "core/checksum.hpp"
#include "core/hash.hpp"
#include "heap/slab.hpp"
#include "pool/medium/memory_concept.hpp"
#include "structures/gphash/protocol/geometry.hpp"

namespace holdfast::gphash {

inline constexpr std::uint32_t kMaxPart = 65536;  ///< bytes of a key, and of a value

/// What precedes the key, which the value follows at once.
struct PairHeader {
  std::uint64_t lengths;   ///< of the key, and << 32 of the value
  std::uint64_t checksum;  ///< of the lengths, the key and the value
};
static_assert(sizeof(PairHeader) == 16);
static_assert(heap::class_of(sizeof(PairHeader) + 2 * kMaxPart) < heap::kClasses);

/// Some bytes. Null: none, which is not the same as no bytes.
struct Part {
  const std::byte* data = nullptr;
  std::uint32_t size = 0;
};

HOLDFAST_BOTH constexpr std::uint32_t pair_bytes(std::uint32_t key, std::uint32_t value) {
  return static_cast<std::uint32_t>(sizeof(PairHeader)) + key + value;
}

HOLDFAST_BOTH inline PairHeader header_of(const Part& key, const Part& value) {
  const std::uint64_t lengths = key.size | std::uint64_t{value.size} << 32;
  const std::uint64_t sum = checksum_step(checksum(key.data, key.size), checksum(value.data, value.size));
  return {lengths, checksum_step(sum, lengths)};
}

/// Word `i` of a part, padded with zeros.
HOLDFAST_BOTH inline std::uint64_t word_of(const Part& part, std::uint32_t i) {
  const std::size_t at = std::size_t{8} * i;
  std::uint64_t word = 0;
  if (part.size >= at + 8) {
    std::memcpy(&word, part.data + at, 8);
  } else {
    std::memcpy(&word, part.data + at, part.size - at);
  }
  return word;
}

HOLDFAST_BOTH inline std::uint64_t hash_of(const Part& key, std::uint64_t seed) {
  return hash_bytes(key.size, seed, [&](unsigned i) { return word_of(key, i); });
}

/// Word `i` of a pair as it lies in its cell, the last padded with zeros: the header's two, then the key, then the value.
HOLDFAST_BOTH inline std::uint64_t pair_word(const PairHeader& header, const Part& key, const Part& value,
                                             std::uint32_t i) {
  if (i < 2) return i == 0 ? header.lengths : header.checksum;
  const std::uint32_t at = 8 * (i - 2);
  if (at + 8 <= key.size) return word_of(key, i - 2);
  if (at >= key.size && (at - key.size) % 8 == 0) return word_of(value, (at - key.size) / 8);
  std::uint64_t word = 0;
  for (unsigned b = 0; b < 8 && at + b < key.size + value.size; ++b) {
    const std::byte one = at + b < key.size ? key.data[at + b] : value.data[at + b - key.size];
    word |= static_cast<std::uint64_t>(one) << (8 * b);
  }
  return word;
}

/// The parts of a pair that a slot names. They stay inside its cell, whatever the pair says of itself.
struct Pair {
  Part key, value;
};
template <pool::ReadableMemory Memory, class Shape>
HOLDFAST_BOTH Pair pair_at(const Memory& memory, const View<Shape>& view, std::uint64_t word) {
  const heap::CellWord place{word};
  const std::byte* const at = view.heap + place.begin();
  const std::uint64_t lengths = memory.load(reinterpret_cast<const std::uint64_t*>(at));
  const std::uint32_t space = heap::class_bytes(place.size_class()) - static_cast<std::uint32_t>(sizeof(PairHeader));
  const std::uint32_t key = std::min(static_cast<std::uint32_t>(lengths), space);
  const std::uint32_t value = std::min(static_cast<std::uint32_t>(lengths >> 32), space - key);
  const std::byte* const bytes = at + sizeof(PairHeader);
  return {{bytes, key}, {bytes + key, value}};
}

/// True if the pair that a slot names is as it was written. The caller is alone, or has joined an epoch.
template <pool::ReadableMemory Memory, class Shape>
HOLDFAST_BOTH bool is_whole_pair(const Memory& memory, const View<Shape>& view, std::uint64_t word) {
  const heap::CellWord place{word};
  PairHeader stored;
  std::memcpy(&stored, view.heap + place.begin(), sizeof stored);
  const Pair pair = pair_at(memory, view, word);
  const std::uint64_t lengths = pair.key.size | std::uint64_t{pair.value.size} << 32;
  if (lengths != stored.lengths || pair.key.size > kMaxPart || pair.value.size > kMaxPart) return false;
  if ((pair_bytes(pair.key.size, pair.value.size) + 7) / 8 * 8 != place.pair_bytes()) return false;
  return header_of(pair.key, pair.value).checksum == stored.checksum;
}

/// The same, and its key has the hash before it.
template <pool::ReadableMemory Memory, class Shape>
bool is_whole_pair(const Memory& memory, const View<Shape>& view, std::uint64_t hash, std::uint64_t word) {
  return is_whole_pair(memory, view, word) && hash_of(pair_at(memory, view, word).key, view.seed) == hash;
}

}  // namespace holdfast::gphash
