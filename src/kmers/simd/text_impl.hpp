// text_impl.hpp: text by vectors: letters to codes, and the number of lines.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kmers/bases.hpp"
#include "kmers/simd/vectors.hpp"

namespace holdfast::kmers {

template <class Isa>
struct Texts {
  using Bytes = typename VectorOf<std::uint8_t, Isa::kBytes>::type;
  using Words = typename VectorOf<std::uint64_t, Isa::kBytes>::type;
  static constexpr std::size_t kStep = Isa::kBytes;

  static std::uint64_t sum_of_bytes(const Bytes& bytes) {
    const Words words = reinterpret_cast<const Words&>(bytes);
    constexpr std::uint64_t kEven = 0x00FF00FF00FF00FF, kOnes = 0x0001000100010001;
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < kStep / 8; ++i) {
      sum += ((words[i] & kEven) + (words[i] >> 8 & kEven)) * kOnes >> 48;
    }
    return sum;
  }

  static std::size_t newlines(const char* text, std::size_t n) {
    constexpr std::size_t kMostRounds = 255;  // of a counter of one byte
    std::size_t count = 0, at = 0;
    while (at + kStep <= n) {
      Bytes counters{};
      for (std::size_t round = 0; round < kMostRounds && at + kStep <= n; ++round, at += kStep) {
        counters -= reinterpret_cast<const Bytes&>(static_cast<const Bytes&>(load<Bytes>(text + at) == '\n'));
      }
      count += sum_of_bytes(counters);
    }
    for (; at < n; ++at) count += text[at] == '\n';
    return count;
  }

  static bool encode(const char* text, std::size_t n, std::uint8_t* codes) {
    static const Bytes numbers = iota<Bytes, std::uint8_t>();
    Bytes others{};  // a bit where a letter is no base
    for (std::size_t at = 0; at < n; at += kStep) {
      const Bytes letters = load<Bytes>(text + at) & 0xDF;  // capitals
      const Bytes middle = letters >> 1 & 3;                // A 0, C 1, T 2, G 3
      Bytes other = static_cast<Bytes>((letters != 'A') & (letters != 'C') & (letters != 'G') & (letters != 'T'));
      store(codes + at, Bytes(((middle >> 1) ^ middle) | (other & kNoBase)));
      if (at + kStep > n) other &= static_cast<Bytes>(numbers < static_cast<std::uint8_t>(n - at));
      others |= other;
    }
    const Words words = reinterpret_cast<const Words&>(others);
    std::uint64_t any = 0;
    for (std::size_t i = 0; i < kStep / 8; ++i) any |= words[i];
    return any == 0;
  }
};

}  // namespace holdfast::kmers
