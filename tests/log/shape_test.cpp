// shape_test.cpp: where entries lie: no two words in one place, and a warp's words side by side.
#include "log/protocol/shape.hpp"

#include <gtest/gtest.h>

#include <set>

namespace holdfast::log {
namespace {

TEST(Shape, GivesEachWordAPlaceOfItsOwn) {
  for (const LogShape& shape :
       {LogShape{LogKind::hierarchical, 3, 4, 2, 70}, LogShape{LogKind::conventional, 3, 4, 7, 1}}) {
    std::set<std::uint64_t> seen;
    for (std::uint64_t place = 0; place < shape.places(); ++place) {
      for (std::uint32_t entry = 0; entry < shape.capacity; ++entry) {
        for (std::uint32_t k = 0; k < shape.entry_words; ++k) {
          const std::uint64_t word = shape.first(place, entry) + std::uint64_t{k} * shape.stride();
          EXPECT_LT(word, shape.words());
          EXPECT_TRUE(seen.insert(word).second);
        }
      }
    }
    EXPECT_EQ(seen.size(), shape.words());
  }
}

TEST(Shape, PutsTheWordsOfAWarpSideBySide) {
  const LogShape shape{LogKind::hierarchical, 5, 2, 2, 64};
  for (std::uint32_t lane = 1; lane < 32; ++lane) EXPECT_EQ(shape.first(64 + lane, 1), shape.first(64, 1) + lane);
  EXPECT_EQ(shape.first(64, 1) % 32, 0u);
}

TEST(Shape, HasNoPlaceForALargerLaunch) {
  const LogShape shape{LogKind::hierarchical, 1, 1, 3, 70};
  EXPECT_EQ(shape.places(), 3u * 96);
  EXPECT_EQ(shape.place(2, 69, 128), 2u * 96 + 69);
  EXPECT_EQ(shape.place(2, 70, 128), LogShape::none());
  EXPECT_EQ(shape.place(3, 0, 70), LogShape::none());
  const LogShape partitions{LogKind::conventional, 1, 1, 1000, 1};
  EXPECT_EQ(partitions.place(5, 3, 256), (5 * 256 + 3) % 1000u);
}

TEST(Shape, KnowsADamagedTail) {
  const LogShape shape{LogKind::hierarchical, 1, 1000, 1, 32};
  EXPECT_EQ(tail_of(0), 0u);
  for (std::uint32_t entries = 0; entries <= 1000; ++entries) {
    EXPECT_TRUE(is_tail(tail_of(entries), shape));
    for (unsigned bit = 0; bit < 32; ++bit) EXPECT_FALSE(is_tail(tail_of(entries) ^ 1u << bit, shape));
  }
  EXPECT_FALSE(is_tail(tail_of(1001), shape));
}

}  // namespace
}  // namespace holdfast::log
