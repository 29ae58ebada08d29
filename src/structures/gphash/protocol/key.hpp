// key.hpp: a key, wherever it is: in an operation's array, or in a slot of the pool.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/both.hpp"
#include "core/hash.hpp"
#include "pool/medium/memory_concept.hpp"
#include "structures/gphash/protocol/geometry.hpp"
#include "structures/gphash/protocol/memory_concept.hpp"
#include "structures/gphash/protocol/pair.hpp"
#include "structures/gphash/protocol/slot.hpp"

namespace holdfast::gphash {

/// A key of 8 bytes; or a wide one, by its hash and by where its bytes are. One of variable length, too; in a slot it is the
/// pair that the slot names, for two slots that name one pair have one key.
struct Key {
  HOLDFAST_BOTH Key(std::uint64_t narrow) : word(narrow) {}  // NOLINT(google-explicit-constructor): it is the key
  HOLDFAST_BOTH Key(std::uint64_t hash, const std::byte* at, bool of_slot) : word(hash), bytes(at), in_pool(of_slot) {}
  HOLDFAST_BOTH Key(std::uint64_t hash, const Part& part) : word(hash), bytes(part.data), size(part.size) {}
  /// That of the item whose slot has these words.
  HOLDFAST_BOTH static Key of_pair(std::uint64_t hash, std::uint64_t pair) {
    Key key(hash);
    key.in_pool = true;
    key.pair = pair;
    return key;
  }

  std::uint64_t word;                ///< the key itself; the hash of a wide one
  const std::byte* bytes = nullptr;  ///< of a wide one
  bool in_pool = false;              ///< they are in a slot
  std::uint32_t size = 0;            ///< of a given key of variable length
  std::uint64_t pair = 0;            ///< the slot's word, of one in the pool
};

/// Where a key's bytes are; nothing in code that is compiled for narrow ones.
template <bool kMayBeWide, bool kVariable>
struct KeyBytes {
  HOLDFAST_BOTH explicit KeyBytes(const Key&) {}
};
template <>
struct KeyBytes<false, true> {
  HOLDFAST_BOTH explicit KeyBytes(const Key& key) : bytes(key.bytes), pair(key.pair), size(key.size) {}
  const std::byte* bytes;
  std::uint64_t pair;  ///< not 0: the item is known, not the bytes
  std::uint32_t size;
};
template <>
struct KeyBytes<true, false> {
  HOLDFAST_BOTH explicit KeyBytes(const Key& key) : bytes(key.bytes), in_pool(key.in_pool) {}
  const std::byte* bytes;
  bool in_pool;
};

/// The key at `bytes`, in an operation's array.
template <KeySource Memory, class Shape>
HOLDFAST_BOTH Key given_key(const View<Shape>& view, const std::byte* bytes) {
  if (!view.wide()) return Memory::given_word(bytes);
  const auto word = [&](unsigned i) { return Memory::given_word(bytes + 8 * i); };
  return {hash_words(view.key_words(), view.seed, word), bytes, false};
}

/// True if the wide key in a slot has the hash that stands before it.
template <pool::ReadableMemory Memory, class Shape>
HOLDFAST_BOTH bool has_own_hash(const Memory& memory, const View<Shape>& view, const Slot* slot, std::uint64_t head) {
  const auto word = [&](unsigned i) { return memory.load(wide_key(slot) + i); };
  return hash_words(view.key_words(), view.seed, word) == head;
}

}  // namespace holdfast::gphash
