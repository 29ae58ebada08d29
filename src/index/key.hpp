// key.hpp: a key, wherever it is: in an operation's array, or in a slot of the pool.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/both.hpp"
#include "core/hash.hpp"
#include "index/geometry.hpp"
#include "index/slot.hpp"

namespace holdfast::index {

/// A key of 8 bytes; or a wide one, by its hash and by where its bytes are.
struct Key {
  HOLDFAST_BOTH Key(std::uint64_t narrow) : word(narrow) {}  // NOLINT(google-explicit-constructor): it is the key
  HOLDFAST_BOTH Key(std::uint64_t hash, const std::byte* at, bool of_slot) : word(hash), bytes(at), in_pool(of_slot) {}

  std::uint64_t word;                ///< the key itself; the hash of a wide one
  const std::byte* bytes = nullptr;  ///< of a wide one
  bool in_pool = false;              ///< they are in a slot
};

/// Where a wide key's bytes are; nothing in code that is compiled for narrow ones.
template <bool kMayBeWide>
struct KeyBytes {
  HOLDFAST_BOTH explicit KeyBytes(const Key&) {}
};
template <>
struct KeyBytes<true> {
  HOLDFAST_BOTH explicit KeyBytes(const Key& key) : bytes(key.bytes), in_pool(key.in_pool) {}
  const std::byte* bytes;
  bool in_pool;
};

/// The key at `bytes`, in an operation's array.
template <class Memory, class Shape>
HOLDFAST_BOTH Key given_key(const View<Shape>& view, const std::byte* bytes) {
  if (!view.wide()) return Memory::given_word(bytes);
  const auto word = [&](unsigned i) { return Memory::given_word(bytes + 8 * i); };
  return {hash_words(view.key_words(), view.seed, word), bytes, false};
}

/// The key of a slot whose first word is `head`.
template <class Shape>
HOLDFAST_BOTH Key slot_key(const View<Shape>& view, const Slot* slot, std::uint64_t head) {
  if (!view.wide()) return head;
  return {head, reinterpret_cast<const std::byte*>(wide_key(slot)), true};
}

/// True if the wide key in a slot has the hash that stands before it.
template <class Memory, class Shape>
HOLDFAST_BOTH bool has_own_hash(const Memory& memory, const View<Shape>& view, const Slot* slot, std::uint64_t head) {
  const auto word = [&](unsigned i) { return memory.load(wide_key(slot) + i); };
  return hash_words(view.key_words(), view.seed, word) == head;
}

}  // namespace holdfast::index
