// bits.hpp: masks of lanes, and the few bit operations that the index decides with.
#pragma once

#include <bit>
#include <cstdint>

#include "core/both.hpp"

namespace holdfast {

/// One bit for each candidate slot of a key, at most 32 (GPHash §3.1 "One-shot warp access").
using LaneMask = std::uint32_t;

HOLDFAST_BOTH constexpr unsigned count_bits(std::uint32_t x) { return static_cast<unsigned>(std::popcount(x)); }
HOLDFAST_BOTH constexpr unsigned lowest_bit(std::uint32_t x) {
#if defined(__CUDA_ARCH__)
  // nvcc 13.0 compiles std::countr_zero of libstdc++ into the constant 32, without a warning.
  return count_bits(~x & (x - 1));
#else
  return static_cast<unsigned>(std::countr_zero(x));
#endif
}

/// The lowest `n` lanes, n ≤ 32.
HOLDFAST_BOTH constexpr LaneMask lanes(unsigned n) { return n >= 32 ? ~LaneMask{0} : (LaneMask{1} << n) - 1; }

/// The top `n` bits of `x`, n ≤ 63: the bucket that a hash addresses at level n.
HOLDFAST_BOTH constexpr std::uint64_t top_bits(std::uint64_t x, unsigned n) { return n == 0 ? 0 : x >> (64 - n); }

/// The upper 64 bits of a product.
HOLDFAST_BOTH constexpr std::uint64_t high_product(std::uint64_t a, std::uint64_t b) {
  __extension__ using Product = unsigned __int128;
  return static_cast<std::uint64_t>(static_cast<Product>(a) * b >> 64);
}

/// Where bit `i` of an array of words lies: in which word, and which of its bits it is.
HOLDFAST_BOTH constexpr std::uint64_t word_of(std::uint64_t i) { return i / 64; }
HOLDFAST_BOTH constexpr std::uint64_t bit_of(std::uint64_t i) { return std::uint64_t{1} << (i % 64); }

HOLDFAST_BOTH constexpr std::uint64_t round_up(std::uint64_t x, std::uint64_t unit) {
  return (x + unit - 1) / unit * unit;
}

}  // namespace holdfast
