// checked.hpp: arithmetic on sizes that come from outside: a result, or the fact that there is none.
#pragma once

#include <cstdint>
#include <optional>

namespace holdfast {

/// a + b, or nothing if it does not fit 64 bits.
constexpr std::optional<std::uint64_t> checked_add(std::uint64_t a, std::uint64_t b) {
  std::uint64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) return std::nullopt;
  return sum;
}

/// a × b, or nothing if it does not fit 64 bits.
constexpr std::optional<std::uint64_t> checked_mul(std::uint64_t a, std::uint64_t b) {
  std::uint64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) return std::nullopt;
  return product;
}

/// The smallest multiple of `unit` that is not below `x`, or nothing if it does not fit 64 bits. `unit` is not 0.
constexpr std::optional<std::uint64_t> checked_round_up(std::uint64_t x, std::uint64_t unit) {
  const std::uint64_t rest = x % unit;
  return rest == 0 ? x : checked_add(x, unit - rest);
}

}  // namespace holdfast
