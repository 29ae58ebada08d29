// md5.hpp: MD5 (RFC 1321), the fingerprints of the trace Fingerprint. Not for security.
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace holdfast::bench::structures {

namespace md5_detail {

inline constexpr unsigned kBlock = 64;
inline constexpr int kShifts[4][4] = {{7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}};

/// The integer part of 2^32 times |sin(i + 1)|.
inline const std::array<std::uint32_t, 64>& sines() {
  static const std::array<std::uint32_t, 64> all = [] {
    std::array<std::uint32_t, 64> table{};
    for (unsigned i = 0; i < table.size(); ++i) {
      table[i] = static_cast<std::uint32_t>(std::floor(std::ldexp(std::fabs(std::sin(i + 1.0)), 32)));
    }
    return table;
  }();
  return all;
}

using State = std::array<std::uint32_t, 4>;

inline void absorb(State& state, const unsigned char* block) {
  std::uint32_t word[16];
  std::memcpy(word, block, kBlock);
  State now = state;
  for (unsigned i = 0; i < 64; ++i) {
    auto& [a, b, c, d] = now;
    std::uint32_t mixed = 0;
    unsigned index = 0;
    switch (i / 16) {
      case 0: mixed = (b & c) | (~b & d), index = i; break;
      case 1: mixed = (d & b) | (~d & c), index = (5 * i + 1) % 16; break;
      case 2: mixed = b ^ c ^ d, index = (3 * i + 5) % 16; break;
      default: mixed = c ^ (b | ~d), index = 7 * i % 16; break;
    }
    const std::uint32_t next = b + std::rotl(a + mixed + word[index] + sines()[i], kShifts[i / 16][i % 4]);
    now = {d, next, b, c};
  }
  for (unsigned i = 0; i < 4; ++i) state[i] += now[i];
}

}  // namespace md5_detail

/// The digest, as two little-endian words.
inline std::array<std::uint64_t, 2> md5(const void* data, std::size_t bytes) {
  using namespace md5_detail;
  State state = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476};
  const auto* at = static_cast<const unsigned char*>(data);
  std::size_t left = bytes;
  for (; left >= kBlock; at += kBlock, left -= kBlock) absorb(state, at);
  unsigned char last[2 * kBlock] = {};
  if (left != 0) std::memcpy(last, at, left);
  last[left] = 0x80;
  const std::size_t length = left + 9 <= kBlock ? kBlock : 2 * kBlock;
  const std::uint64_t bits = std::uint64_t{bytes} * 8;
  std::memcpy(last + length - 8, &bits, 8);
  for (std::size_t from = 0; from < length; from += kBlock) absorb(state, last + from);
  std::array<std::uint64_t, 2> digest{};
  std::memcpy(digest.data(), state.data(), sizeof digest);
  return digest;
}

}  // namespace holdfast::bench::structures
