// key_limits.hpp: a range of keys, as the host gives it and kernels ask it. Keys of 8 bytes are numbers; wider ones are compared
// byte by byte.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "core/both.hpp"

namespace holdfast {

/// Trivially copyable: it travels into kernels by value.
struct KeyLimits {
  static constexpr unsigned kMostWords = 16;
  std::uint32_t words = 1;  ///< of a key
  bool has_first = false, has_last = false;
  std::uint64_t first[kMostWords] = {}, last[kMostWords] = {};  ///< in the order of comparison

  KeyLimits() = default;
  /// From `least` to `greatest`, which belong to it; null: no limit.
  KeyLimits(const void* least, const void* greatest, std::uint32_t key_bytes)
      : words(key_bytes / 8), has_first(least != nullptr), has_last(greatest != nullptr) {
    take(first, least);
    take(last, greatest);
  }

  HOLDFAST_BOTH bool any() const { return has_first || has_last; }
  /// Is the key of these words in the range?
  HOLDFAST_BOTH bool hold(const std::uint64_t* key) const {
    return (!has_first || compare(key, first) >= 0) && (!has_last || compare(key, last) <= 0);
  }

 private:
  void take(std::uint64_t* to, const void* from) const {
    if (from == nullptr) return;
    std::memcpy(to, from, std::size_t{8} * words);
    for (unsigned i = 0; i < words; ++i) to[i] = in_order(to[i]);
  }
  /// A number that is compared as the word's bytes are.
  HOLDFAST_BOTH std::uint64_t in_order(std::uint64_t word) const {
    if (words == 1) return word;
    word = (word & 0x00ff'00ff'00ff'00ff) << 8 | (word >> 8 & 0x00ff'00ff'00ff'00ff);
    word = (word & 0x0000'ffff'0000'ffff) << 16 | (word >> 16 & 0x0000'ffff'0000'ffff);
    return word << 32 | word >> 32;
  }
  /// Below, at or above zero.
  HOLDFAST_BOTH int compare(const std::uint64_t* key, const std::uint64_t* limit) const {
    for (unsigned i = 0; i < words; ++i) {
      const std::uint64_t word = in_order(key[i]);
      if (word != limit[i]) return word < limit[i] ? -1 : 1;
    }
    return 0;
  }
};

}  // namespace holdfast
