// space_test.cpp: where extents go, apart from any file.
#include "pool/space.hpp"

#include <gtest/gtest.h>

#include "system/mapping.hpp"

namespace holdfast::pool {
namespace {

/// A directory with extents from page to page behind the first.
Directory with(std::initializer_list<std::pair<std::uint64_t, std::uint64_t>> pages) {
  Directory directory;
  for (const auto& [from, to] : pages) directory.add({kFirstExtent + from * kPage, (to - from) * kPage, 1, 1, 0});
  return directory;
}
constexpr std::uint64_t at(std::uint64_t page) { return kFirstExtent + page * kPage; }

TEST(Space, AnExtentTakesTheSmallestGapThatHasSpace) {
  Space space(with({{16, 20}, {22, 40}, {43, 50}}), kPage);  // gaps of 16, 2 and 3 pages
  EXPECT_EQ(space.free_bytes(), 21 * kPage);
  EXPECT_EQ(space.take_gap({3 * kPage})->offset, at(40));
  EXPECT_EQ(space.take_gap({kPage})->offset, at(20));
  EXPECT_EQ(space.take_gap({kPage})->offset, at(21));
  EXPECT_EQ(space.take_gap({16 * kPage})->offset, at(0));
  EXPECT_FALSE(space.take_gap({kPage}));
  EXPECT_EQ(space.free_bytes(), 0u);
  EXPECT_EQ(space.take_behind({kPage}).offset, at(50));
  EXPECT_EQ(space.end(), at(51));
}

TEST(Space, ARangeTakesWhatIsBehindItAndThenLargeGaps) {
  Space space(with({{0, 4}, {10, 20}, {40, 41}}), kPage);  // gaps of 6 and 20 pages
  const system::FileRange next = space.take_next(at(4), 100 * kPage);
  EXPECT_EQ(next.offset, at(4));
  EXPECT_EQ(next.bytes, 6 * kPage);
  EXPECT_EQ(space.take_next(at(10), kPage).bytes, 0u) << "an extent begins there";
  EXPECT_EQ(space.take_next(at(41), kPage).bytes, 0u) << "behind the last extent there is no gap";
  EXPECT_FALSE(space.take_part({100 * kPage}, 21 * kPage));
  EXPECT_EQ(space.take_part({8 * kPage}, kPage)->bytes, 8 * kPage);
  EXPECT_EQ(space.take_part({100 * kPage}, kPage)->bytes, 12 * kPage);
}

TEST(Space, LargeExtentsLeaveTheRestThatTheirAddressHas) {
  Space space(with({{0, 3}}), kPage);
  const system::FileRange large = space.take_behind({4 * system::kHugePage});
  EXPECT_EQ(large.offset % system::kHugePage, 0u);
  EXPECT_EQ(space.take_behind({4 * system::kHugePage, 12345 * kPage}).offset % system::kHugePage,
            12345 * kPage % system::kHugePage);
  EXPECT_GT(space.free_bytes(), 0u) << "what alignment leaves is a gap";
}

TEST(Space, PagesOfAHugetlbfsAreTakenWhole) {
  Space space(with({{0, 3}, {600, 601}}), system::kHugePage);
  EXPECT_EQ(space.end() % system::kHugePage, 0u);
  EXPECT_EQ(space.take_behind({system::kHugePage}).offset % system::kHugePage, 0u);
  Space empty(Directory{}, system::kHugePage);
  EXPECT_EQ(empty.take_behind({system::kHugePage}).offset, system::kHugePage);
}

}  // namespace
}  // namespace holdfast::pool
