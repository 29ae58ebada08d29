// layout_test.cpp: the directory as it is planned, apart from any file.
#include "memory/layout.hpp"

#include <gtest/gtest.h>

#include "memory/mapping.hpp"

namespace holdfast::memory {
namespace {

constexpr std::uint64_t K = 1024;

Extent free_extent(std::uint64_t offset, std::uint64_t bytes) {
  return {.offset = offset, .bytes = bytes, .kind = ExtentKind::free, .level = 0};
}

Layout with_free(std::initializer_list<Extent> extents) {
  Superblock block = {};
  std::copy(extents.begin(), extents.end(), block.extents);
  return Layout(block);
}

TEST(Layout, StoresWhatItRead) {
  Superblock block = {};
  block.extents[0] = {.offset = 64 * K, .bytes = 8 * K, .kind = ExtentKind::heap, .level = 0};
  block.extents[1] = {.offset = 16 * K, .bytes = 8 * K, .kind = ExtentKind::heap, .level = 0};
  block.extents[2] = {.offset = 32 * K, .bytes = 8 * K, .kind = ExtentKind::level, .level = 4};
  block.extents[3] = {.offset = 24 * K, .bytes = 4 * K, .kind = ExtentKind::level, .level = 3};
  const Layout layout(block);
  EXPECT_EQ(layout.end(), 72 * K);
  EXPECT_EQ(layout.heap_bytes(), 16 * K);
  EXPECT_EQ(layout.levels().front().level, 3u);
  Superblock stored = {};
  stored.extents[10].bytes = 1;
  layout.store(stored);
  EXPECT_EQ(stored.extents[0].level, 3u);
  EXPECT_EQ(stored.extents[2].offset, 64 * K) << "the heap keeps its order, which is that of its addresses";
  EXPECT_EQ(stored.extents[3].offset, 16 * K);
  EXPECT_EQ(stored.extents[10].bytes, 0u);
}

TEST(Layout, FreedNeighboursBecomeOne) {
  Superblock block = {};
  for (unsigned i = 0; i < 4; ++i) {
    block.extents[i] = {.offset = 16 * K + i * 4 * K, .bytes = 4 * K, .kind = ExtentKind::level, .level = i};
  }
  Layout layout(block);
  layout.free_lowest_level();
  layout.free_lowest_level();
  layout.free_lowest_level();
  ASSERT_EQ(layout.free().size(), 1u);
  EXPECT_EQ(layout.free()[0].offset, 16 * K);
  EXPECT_EQ(layout.free()[0].bytes, 12 * K);
  EXPECT_EQ(layout.levels().size(), 1u);
}

TEST(Layout, ALevelTakesTheSmallestPlaceThatFits) {
  Layout layout = with_free({free_extent(16 * K, 64 * K), free_extent(100 * K, 8 * K), free_extent(120 * K, 12 * K)});
  EXPECT_EQ(layout.take_free(12 * K, 4 * K), 120 * K);
  EXPECT_EQ(layout.free().size(), 2u);
  EXPECT_EQ(layout.take_free(4 * K, 4 * K), 100 * K);
  EXPECT_EQ(layout.take_free(65 * K, 4 * K), std::nullopt);
  EXPECT_EQ(layout.take_free(4 * K, 64 * K), std::nullopt) << "no place begins at such a multiple";
}

TEST(Layout, TheHeapTakesTheLargestPlaceFirst) {
  Layout layout = with_free({free_extent(16 * K, 8 * K), free_extent(32 * K, 16 * K)});
  EXPECT_EQ(layout.take_some_free(20 * K, 4 * K)->offset, 32 * K);
  const auto rest = layout.take_some_free(4 * K, 4 * K);
  ASSERT_TRUE(rest);
  EXPECT_EQ(rest->offset, 16 * K);
  EXPECT_EQ(rest->bytes, 4 * K);
  EXPECT_EQ(layout.free().size(), 1u);
  EXPECT_FALSE(layout.take_some_free(0, 4 * K));
  EXPECT_FALSE(layout.take_some_free(64 * K, 64 * K));
}

TEST(Layout, PlacesLeaveTheRestThatTheirAddressHas) {
  EXPECT_EQ(place_behind(12 * K, 4 * K, 0, 4 * K), 12 * K);
  EXPECT_EQ(place_behind(12 * K, kHugePage, 0, 4 * K), kHugePage);
  EXPECT_EQ(place_behind(kHugePage, kHugePage, 0, 4 * K), kHugePage);
  EXPECT_EQ(place_behind(kHugePage + 4 * K, kHugePage, 12 * K, 4 * K), kHugePage + 12 * K);
  EXPECT_EQ(place_behind(kHugePage + 16 * K, kHugePage, 12 * K, 4 * K), 2 * kHugePage + 12 * K);
  EXPECT_EQ(place_behind(12 * K, 4 * K, 0, kHugePage), kHugePage) << "a hugetlbfs maps whole pages";
}

}  // namespace
}  // namespace holdfast::memory
