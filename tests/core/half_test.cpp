// half_test.cpp: fp16 and bf16 against the compiler's own conversions.
#include "core/half.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace holdfast {
namespace {

float number(std::uint32_t bits) { return std::bit_cast<float>(bits); }

TEST(Half, EveryNumberIsWidenedAsTheCompilerDoes) {
  for (unsigned bits = 0; bits < 0x10000; ++bits) {
    const Half half{static_cast<std::uint16_t>(bits)};
    const float expected = static_cast<float>(std::bit_cast<_Float16>(half.bits));
    const float got = widened(half);
    if (std::isnan(expected)) {
      EXPECT_TRUE(std::isnan(got)) << bits;
      EXPECT_TRUE(std::isnan(widened(to_half(got)))) << bits;
    } else {
      EXPECT_EQ(std::bit_cast<std::uint32_t>(got), std::bit_cast<std::uint32_t>(expected)) << bits;
      EXPECT_EQ(to_half(got).bits, bits);
    }
  }
}

/// Every number of fp32 near those that fp16 can hold, near the middles between them, and a walk over all.
TEST(Half, IsRoundedAsTheCompilerDoes) {
  const auto agrees = [](std::uint32_t bits) {
    const float given = number(bits);
    if (std::isnan(given)) return std::isnan(widened(to_half(given)));
    return to_half(given).bits == std::bit_cast<std::uint16_t>(static_cast<_Float16>(given));
  };
  for (std::uint64_t bits = 0; bits <= 0xffff'ffff; bits += 997) ASSERT_TRUE(agrees(static_cast<std::uint32_t>(bits)));
  for (unsigned half = 0; half < 0x10000; ++half) {
    const auto bits = std::bit_cast<std::uint32_t>(widened(Half{static_cast<std::uint16_t>(half)}));
    for (const std::uint32_t middle : {0u, 0x1000u}) {
      for (std::uint32_t near = 0; near < 5; ++near) ASSERT_TRUE(agrees(bits + middle + near - 2)) << bits;
    }
  }
  for (std::uint32_t tiny = 0x3200'0000; tiny < 0x3880'1000; tiny += 61)
    ASSERT_TRUE(agrees(tiny)) << tiny;  // subnormal
}

TEST(BFloat16, IsTheUpperHalfRoundedToEven) {
  for (unsigned bits = 0; bits < 0x10000; ++bits) {
    const BFloat16 given{static_cast<std::uint16_t>(bits)};
    const float wide = widened(given);
    EXPECT_EQ(std::bit_cast<std::uint32_t>(wide), std::uint32_t{bits} << 16);
    if (std::isnan(wide)) {
      EXPECT_TRUE(std::isnan(widened(to_bfloat16(wide))));
    } else {
      EXPECT_EQ(to_bfloat16(wide).bits, bits);
    }
  }
  EXPECT_EQ(to_bfloat16(number(0x3f80'8000)).bits, 0x3f80);  // a tie goes to even
  EXPECT_EQ(to_bfloat16(number(0x3f81'8000)).bits, 0x3f82);
  EXPECT_EQ(to_bfloat16(number(0x3f80'8001)).bits, 0x3f81);
  EXPECT_EQ(to_bfloat16(number(0x7f7f'ffff)).bits, 0x7f80);  // the greatest becomes infinite
  EXPECT_TRUE(std::isnan(widened(to_bfloat16(number(0x7f80'0001)))));
}

}  // namespace
}  // namespace holdfast
