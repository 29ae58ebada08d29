// combine.hpp: how `accumulate` combines two values, eight bytes at a time.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

#include "core/both.hpp"
#include "holdfast/status.hpp"

namespace holdfast::index {

template <class T>
HOLDFAST_BOTH constexpr T combine_elements(T a, T b, Combine how) {
  switch (how) {
    case Combine::min: return b < a ? b : a;
    case Combine::max: return a < b ? b : a;
    case Combine::add: break;
  }
  return static_cast<T>(a + b);
}

/// Both halves of a word. Signed sums are taken as unsigned, so they wrap.
template <class T>
HOLDFAST_BOTH constexpr std::uint64_t combine_halves(std::uint64_t a, std::uint64_t b, Combine how) {
  const auto half = [how](std::uint64_t x, std::uint64_t y) {
    const T left = std::bit_cast<T>(static_cast<std::uint32_t>(x));
    const T right = std::bit_cast<T>(static_cast<std::uint32_t>(y));
    return std::uint64_t{std::bit_cast<std::uint32_t>(combine_elements(left, right, how))};
  };
  return half(a, b) | (half(a >> 32, b >> 32) << 32);
}

/// Combines the elements in one word of a value. Padding is zero in both words, and stays zero.
HOLDFAST_BOTH constexpr std::uint64_t combine_word(std::uint64_t a, std::uint64_t b, Combine how, Element element) {
  const bool adds = how == Combine::add;
  switch (element) {
    case Element::u32: return combine_halves<std::uint32_t>(a, b, how);
    case Element::i32: return adds ? combine_halves<std::uint32_t>(a, b, how) : combine_halves<std::int32_t>(a, b, how);
    case Element::f32: return combine_halves<float>(a, b, how);
    case Element::u64: return combine_elements(a, b, how);
    case Element::i64:
      return adds ? a + b
                  : std::bit_cast<std::uint64_t>(
                        combine_elements(std::bit_cast<std::int64_t>(a), std::bit_cast<std::int64_t>(b), how));
    case Element::f64:
      return std::bit_cast<std::uint64_t>(combine_elements(std::bit_cast<double>(a), std::bit_cast<double>(b), how));
  }
  return a;
}

/// Up to eight bytes of a user's array, zero-padded; the array need not be aligned.
HOLDFAST_BOTH inline std::uint64_t load_bytes(const std::byte* from, std::size_t bytes) {
  std::uint64_t word = 0;
  if (bytes >= 8) {
    memcpy(&word, from, 8);
  } else {
    memcpy(&word, from, bytes);
  }
  return word;
}

HOLDFAST_BOTH inline void store_bytes(std::byte* to, std::uint64_t word, std::size_t bytes) {
  memcpy(to, &word, bytes < 8 ? bytes : 8);
}

}  // namespace holdfast::index
