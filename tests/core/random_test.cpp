// random_test.cpp: repeatable numbers are repeatable and spread; unforeseeable ones differ.
#include "core/random.hpp"

#include <gtest/gtest.h>

#include <array>

namespace holdfast {
namespace {

TEST(Random, RepeatsFromItsSeed) {
  Random a(1), b(1), c(2);
  bool differs = false;
  for (int i = 0; i < 100; ++i) {
    const std::uint64_t value = a();
    EXPECT_EQ(value, b());
    differs |= value != c();
  }
  EXPECT_TRUE(differs);
}

TEST(Random, FillsEveryBucketAlike) {
  Random random(3);
  std::array<int, 10> counts = {};
  for (int i = 0; i < 100'000; ++i) ++counts.at(random.below(10));
  for (const int count : counts) EXPECT_NEAR(count, 10'000, 500);
}

TEST(Random, SplitmixIsTheKnownOne) {
  EXPECT_EQ(splitmix64(0), 0xe220a8397b1dcdafu);  // first output of the published generator from seed 0
}

TEST(Random, BytesOfTheSystemDiffer) {
  std::array<unsigned char, 300> a = {}, b = {};
  random_bytes(a.data(), a.size());
  random_bytes(b.data(), b.size());
  EXPECT_NE(a, b);
  EXPECT_NE(random_word(), 0u);
}

}  // namespace
}  // namespace holdfast
