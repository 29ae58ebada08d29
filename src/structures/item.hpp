// item.hpp: the items of persistent hash tables: a key and a value of one or two words each. docs/format.md, "Group hashing table".
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "core/hash.hpp"

namespace holdfast::structures {

template <unsigned kSize>
struct Words {
  static constexpr unsigned kCount = kSize;
  std::uint64_t word[kSize];
  bool operator==(const Words&) const = default;
};

/// An item of `kWords` words, as it is stored: the key, then the value. Every value of a key and of a value is usable.
template <unsigned kKeyWords, unsigned kValueWords>
struct Item {
  using Key = Words<kKeyWords>;
  using Value = Words<kValueWords>;
  static constexpr unsigned kWords = kKeyWords + kValueWords;
  static constexpr unsigned kBytes = kWords * 8;
  /// A crash leaves the old value or the new one, so it may be changed in place.
  static constexpr bool kAtomicValue = kValueWords == 1;
};
using Item16 = Item<1, 1>;
using Item32 = Item<2, 2>;
static_assert(Item16::kBytes == 16 && Item32::kBytes == 32);

/// The hash of a key. `seed` is the object's own.
template <unsigned kSize>
std::uint64_t hash_of(const Words<kSize>& key, std::uint64_t seed) {
  if constexpr (kSize == 1) {
    return hash_key(key.word[0], seed);
  } else {
    return hash_words(kSize, seed, [&](unsigned i) { return key.word[i]; });
  }
}

}  // namespace holdfast::structures
