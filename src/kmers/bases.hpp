// bases.hpp: bases as codes, A 0, C 1, G 2, T 3; words of 32 bases, the first one in the highest bits.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace holdfast::kmers {

inline constexpr std::uint8_t kNoBase = 4;  ///< codes from here on are no bases
inline constexpr std::uint8_t kAmbiguous = 4, kWrong = 5;
inline constexpr unsigned kBasesOfWord = 32;
/// Bytes that may be read and written behind texts, codes and super-k-mers.
inline constexpr std::size_t kSlack = 64;

/// The lowest 2k bits.
constexpr std::uint64_t mask_of(unsigned k) { return ~std::uint64_t{0} >> (64 - 2 * k); }

/// Of all 32 bases of a word.
constexpr std::uint64_t reverse_complement(std::uint64_t word) {
  word = __builtin_bswap64(~word);
  word = (word >> 4 & 0x0F0F0F0F0F0F0F0F) | (word & 0x0F0F0F0F0F0F0F0F) << 4;
  return (word >> 2 & 0x3333333333333333) | (word & 0x3333333333333333) << 2;
}

/// Of a k-mer.
constexpr std::uint64_t reverse_complement(std::uint64_t kmer, unsigned k) {
  return reverse_complement(kmer) >> (64 - 2 * k);
}

/// The code of every byte: a base; a letter or sign that stands for an unknown base or a gap; or wrong in a sequence.
inline constexpr std::array<std::uint8_t, 256> kCodes = [] {
  std::array<std::uint8_t, 256> codes{};
  codes.fill(kWrong);
  for (unsigned c = 'A'; c <= 'Z'; ++c) codes[c] = codes[c + 32] = kAmbiguous;
  for (const unsigned char c : {'-', '*', '.'}) codes[c] = kAmbiguous;
  unsigned code = 0;
  for (const unsigned char c : {'A', 'C', 'G', 'T'}) {
    codes[c] = codes[c + 32u] = static_cast<std::uint8_t>(code++);
  }
  return codes;
}();

}  // namespace holdfast::kmers
