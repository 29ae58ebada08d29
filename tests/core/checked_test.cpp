// checked_test.cpp: sizes at the edge of 64 bits.
#include "core/checked.hpp"

#include <gtest/gtest.h>

namespace holdfast {
namespace {

constexpr std::uint64_t kMost = ~std::uint64_t{0};

TEST(Checked, AddsUpToTheLargestNumber) {
  EXPECT_EQ(checked_add(kMost - 1, 1), kMost);
  EXPECT_EQ(checked_add(kMost, 1), std::nullopt);
  EXPECT_EQ(checked_add(kMost, kMost), std::nullopt);
}

TEST(Checked, MultipliesUpToTheLargestNumber) {
  EXPECT_EQ(checked_mul(std::uint64_t{1} << 32, (std::uint64_t{1} << 32) - 1), kMost - (kMost >> 32));
  EXPECT_EQ(checked_mul(std::uint64_t{1} << 32, std::uint64_t{1} << 32), std::nullopt);
  EXPECT_EQ(checked_mul(kMost, 0), 0u);
}

TEST(Checked, RoundsUpOrSaysThatItCannot) {
  EXPECT_EQ(checked_round_up(0, 4096), 0u);
  EXPECT_EQ(checked_round_up(1, 4096), 4096u);
  EXPECT_EQ(checked_round_up(4096, 4096), 4096u);
  EXPECT_EQ(checked_round_up(kMost - 4095, 4096), kMost - 4095);
  EXPECT_EQ(checked_round_up(kMost, 4096), std::nullopt);
}

}  // namespace
}  // namespace holdfast
