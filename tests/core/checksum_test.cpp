// checksum_test.cpp: the checksum finds every small change, and is the one that pools have.
#include "core/checksum.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <set>

#include "core/random.hpp"

namespace holdfast {
namespace {

std::array<unsigned char, 512> sample() {
  std::array<unsigned char, 512> data;
  Random random(7);
  for (unsigned char& byte : data) byte = static_cast<unsigned char>(random());
  return data;
}

TEST(Checksum, FindsEveryFlippedBit) {
  auto data = sample();
  std::set<std::uint64_t> seen{checksum(data.data(), data.size())};
  for (std::size_t bit = 0; bit < data.size() * 8; ++bit) {
    data[bit / 8] ^= static_cast<unsigned char>(1u << (bit % 8));
    EXPECT_TRUE(seen.insert(checksum(data.data(), data.size())).second) << "bit " << bit;
    data[bit / 8] ^= static_cast<unsigned char>(1u << (bit % 8));
  }
}

TEST(Checksum, FindsSwappedWordsAndOtherLengths) {
  auto data = sample();
  const std::uint64_t before = checksum(data.data(), data.size());
  std::swap_ranges(data.begin(), data.begin() + 8, data.begin() + 8);
  EXPECT_NE(checksum(data.data(), data.size()), before);
  const std::array<unsigned char, 32> zeros = {};
  std::set<std::uint64_t> lengths;
  for (std::size_t bytes = 0; bytes <= zeros.size(); ++bytes) lengths.insert(checksum(zeros.data(), bytes));
  EXPECT_EQ(lengths.size(), zeros.size() + 1);
}

TEST(Checksum, SpreadsOneBitOverAll) {
  auto data = sample();
  const std::uint64_t before = checksum(data.data(), data.size());
  data[0] ^= 1;
  const int changed = std::popcount(before ^ checksum(data.data(), data.size()));
  EXPECT_GT(changed, 16);
  EXPECT_LT(changed, 48);
}

TEST(Checksum, IsTheOneOfPoolVersion1) { EXPECT_EQ(checksum("holdfast", 8), 0x2f856dd3e6645173); }

}  // namespace
}  // namespace holdfast
