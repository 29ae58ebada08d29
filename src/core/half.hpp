// half.hpp: numbers of 16 bits, fp16 and bf16, as they are widened to fp32 and rounded back: the same on every machine.
#pragma once

#include <bit>
#include <cstdint>

#include "core/both.hpp"

namespace holdfast {

/// IEEE 754 binary16: 5 bits of exponent, 10 of mantissa.
struct Half {
  std::uint16_t bits;
};
/// bfloat16: the upper half of a binary32.
struct BFloat16 {
  std::uint16_t bits;
};
static_assert(sizeof(Half) == 2 && sizeof(BFloat16) == 2);

HOLDFAST_BOTH constexpr float widened(BFloat16 number) {
  return std::bit_cast<float>(std::uint32_t{number.bits} << 16);
}

HOLDFAST_BOTH constexpr float widened(Half number) {
  const std::uint32_t sign = std::uint32_t{number.bits & 0x8000u} << 16;
  const std::uint32_t rest = number.bits & 0x7fffu;
  if (rest >= 0x7c00)
    return std::bit_cast<float>(sign | 0x7f80'0000u | (rest & 0x3ffu) << 13);          // infinity, not a number
  if (rest >= 0x400) return std::bit_cast<float>(sign | (rest + (112u << 10)) << 13);  // the exponents' bias
  const float subnormal = static_cast<float>(rest) * 0x1p-24f;
  return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(subnormal));
}

/// To nearest, ties to even; a NaN stays one.
HOLDFAST_BOTH constexpr BFloat16 to_bfloat16(float number) {
  const auto bits = std::bit_cast<std::uint32_t>(number);
  if ((bits & 0x7fff'ffffu) > 0x7f80'0000u) return {static_cast<std::uint16_t>(bits >> 16 | 0x40)};
  return {static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16)};
}

/// To nearest, ties to even; what is too large becomes infinite, a NaN stays one.
HOLDFAST_BOTH constexpr Half to_half(float number) {
  const auto bits = std::bit_cast<std::uint32_t>(number);
  const std::uint32_t sign = bits >> 16 & 0x8000;
  const std::uint32_t rest = bits & 0x7fff'ffff;
  std::uint32_t half = 0;
  if (rest > 0x7f80'0000) {
    half = 0x7e00;
  } else if (rest >= 0x477f'f000) {  // 65520 and more
    half = 0x7c00;
  } else if (rest >= 0x3880'0000) {  // normal in fp16: 2^-14 and more
    half = (rest + 0xfff + (rest >> 13 & 1) - (112u << 23)) >> 13;
  } else {
    // At 0.5 the steps of fp32 are 2^-24, those of fp16's subnormals: the addition rounds, and leaves them in the mantissa.
    half = std::bit_cast<std::uint32_t>(std::bit_cast<float>(rest) + 0.5f) - std::bit_cast<std::uint32_t>(0.5f);
  }
  return {static_cast<std::uint16_t>(sign | half)};
}

}  // namespace holdfast
