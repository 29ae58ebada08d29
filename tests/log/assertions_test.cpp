// assertions_test.cpp: broken preconditions of logs and transactions end a checked build.
#include "support/assertions.hpp"

#include "log/protocol/transaction.hpp"

namespace holdfast::log {
namespace {

TEST(LogAssertionDeathTest, PlacesAndEntriesAreThoseOfTheLog) {
  const LogShape shape{.entry_words = 2, .capacity = 3, .blocks = 1, .threads = 32};
  EXPECT_EQ(shape.first(31, 2), std::uint64_t{2} * 2 * kLanes + 31);
  EXPECT_ASSERTION(shape.first(32, 0), "place < places");
  EXPECT_ASSERTION(shape.first(0, 3), "entry < capacity");
}

TEST(LogAssertionDeathTest, UpdatesAndFlagsHaveTheirBits) {
  EXPECT_ASSERTION(Undo::of(0, kMostUpdateWords + 1), "kMostUpdateWords");
  EXPECT_ASSERTION(Undo::of(std::uint64_t{1} << 48, 1), "offset >> 48");
  EXPECT_ASSERTION(flag_of(kMostRegion + 1), "kMostRegion");
}

}  // namespace
}  // namespace holdfast::log
