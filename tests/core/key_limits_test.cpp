// key_limits_test.cpp: ranges of keys as kernels ask them, beside comparisons of numbers and of bytes.
#include "core/key_limits.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

namespace holdfast {
namespace {

TEST(KeyLimits, NumbersAsNumbers) {
  const std::uint64_t keys[] = {0, 1, 255, 256, 1ull << 32, ~0ull - 1, ~0ull};
  for (const std::uint64_t first : keys) {
    for (const std::uint64_t last : keys) {
      for (const std::uint64_t key : keys) {
        EXPECT_EQ(KeyLimits(&first, &last, 8).hold(&key), first <= key && key <= last);
        EXPECT_EQ(KeyLimits(&first, nullptr, 8).hold(&key), first <= key);
        EXPECT_EQ(KeyLimits(nullptr, &last, 8).hold(&key), key <= last);
      }
    }
  }
  EXPECT_FALSE(KeyLimits(nullptr, nullptr, 8).any());
  EXPECT_TRUE(KeyLimits(nullptr, nullptr, 8).hold(keys));
}

TEST(KeyLimits, WiderOnesByteByByte) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 20000; ++i) {
    const std::size_t words = 2 + random() % 15, bytes = 8 * words;
    std::uint64_t first[16], last[16], key[16];
    for (std::size_t w = 0; w < words; ++w) first[w] = last[w] = key[w] = random();
    // They differ in few bytes, anywhere.
    reinterpret_cast<unsigned char*>(first)[random() % bytes] = static_cast<unsigned char>(random());
    reinterpret_cast<unsigned char*>(last)[random() % bytes] = static_cast<unsigned char>(random());
    const bool above = std::memcmp(first, key, bytes) <= 0, below = std::memcmp(key, last, bytes) <= 0;
    const auto size = static_cast<std::uint32_t>(bytes);
    ASSERT_EQ(KeyLimits(first, last, size).hold(key), above && below);
    ASSERT_EQ(KeyLimits(first, nullptr, size).hold(key), above);
    ASSERT_EQ(KeyLimits(nullptr, last, size).hold(key), below);
  }
}

}  // namespace
}  // namespace holdfast
