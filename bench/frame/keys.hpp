// keys.hpp: which keys and values a benchmark uses, so that every answer can be checked without storing what was put.
//
// Item i has key mix(i + seed): a bijection, so items 0..n-1 have n distinct 64-bit keys, and the keys of other items
// are known to be absent. A value is a function of its key and of a version.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace holdfast::bench {

inline constexpr std::uint64_t kOdd = 0x9e37'79b9'7f4a'7c15;
inline constexpr std::uint64_t kVersionMask = 0xff'ffff;              ///< the low bits of a value's first word
inline constexpr std::uint64_t kAbsentItem = std::uint64_t{1} << 60;  ///< no benchmark inserts an item from here on

/// A bijection of 64-bit words (xor-shifts and odd multiplications), every output bit depending on every input bit.
constexpr std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58'476d'1ce4'e5b9;
  x = (x ^ (x >> 27)) * 0x94d0'49bb'1331'11eb;
  return x ^ (x >> 31);
}

constexpr std::uint64_t key_of(std::uint64_t item, std::uint64_t seed) { return mix(item + seed * kOdd); }

/// A random word as a number in [0, 1).
constexpr double unit_of(std::uint64_t word) { return static_cast<double>(word >> 11) * 0x1p-53; }

/// A small generator of random words: mix over a counter.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(mix(seed * kOdd + 1)) {}
  std::uint64_t next() { return mix(state_ += kOdd); }
  /// Uniform in [0, bound), by multiplication; the bias is below bound / 2^64.
  std::uint64_t below(std::uint64_t bound) {
    __extension__ using Product = unsigned __int128;
    return static_cast<std::uint64_t>((static_cast<Product>(next()) * bound) >> 64);
  }
  /// Uniform in [0, 1).
  double real() { return unit_of(next()); }

 private:
  std::uint64_t state_;
};

constexpr std::uint64_t first_value_word(std::uint64_t key, std::uint64_t version) {
  return (mix(key ^ kOdd) & ~kVersionMask) | (version & kVersionMask);
}

/// Writes the value of `key` at `version`; `bytes` is a multiple of 8.
inline void fill_value(std::byte* out, std::size_t bytes, std::uint64_t key, std::uint64_t version) {
  const std::uint64_t first = first_value_word(key, version);
  for (std::size_t i = 0; i * 8 < bytes; ++i) {
    const std::uint64_t word = i == 0 ? first : mix(first + i);
    std::memcpy(out + i * 8, &word, 8);
  }
}

/// Whether `value` is what some version up to `newest` gave to `key`, whole.
inline bool right_value(const std::byte* value, std::size_t bytes, std::uint64_t key, std::uint64_t newest) {
  std::uint64_t first = 0;
  if (bytes == 0) return true;
  std::memcpy(&first, value, 8);
  if ((first ^ first_value_word(key, 0)) > kVersionMask || (first & kVersionMask) > newest) return false;
  for (std::size_t i = 1; i * 8 < bytes; ++i) {
    std::uint64_t word = 0;
    std::memcpy(&word, value + i * 8, 8);
    if (word != mix(first + i)) return false;
  }
  return true;
}

}  // namespace holdfast::bench
