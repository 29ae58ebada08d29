// find_test.cpp: a search ends, whatever others do: one that clearings overtake for ever gives up, and says so.
#include "structures/gphash/protocol/find.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "cleared_tags.hpp"

namespace holdfast::gphash {
namespace {

using Shape = DefaultShape;

struct ClearedTile : ClearedTags {
  template <class Memory>
  void flush_slots(const Memory&, const View<Shape>&, const Candidates<Shape>&, LaneMask) const {}
  template <class Memory>
  bool stands(const Memory&, const View<Shape>&, const Candidates<Shape>&, LaneMask) const {
    return true;
  }
};

struct CountingMemory {
  static constexpr bool kReadersFlush = false;
  mutable std::uint64_t retries = 0;
  static bool keeps(Step) { return true; }
  static void fence() {}
  void count_retry() const { ++retries; }
};
static_assert(SearchMemory<CountingMemory> && SearchTile<ClearedTile, CountingMemory, Shape>);

class Settling : public testing::Test {
 protected:
  Settling() {
    view_.top_level = 4;
    tags_.resize(view_.tag_words());
    view_.tags = tags_.data();
  }
  Found find_among(std::uint64_t clearings) {
    ClearedTile::looks = 0;
    ClearedTile::cleared_for = clearings;
    return find_settled(ClearedTile{}, memory_, view_, Candidates<Shape>(view_, Key(5)));
  }

  View<Shape> view_{};
  std::vector<std::uint64_t> tags_;
  CountingMemory memory_;
};

TEST_F(Settling, GoesOnUntilNothingIsClearedMeanwhile) {
  const Found found = find_among(1000);
  EXPECT_TRUE(found.settled);
  EXPECT_EQ(found.item.slot, &ClearedTile::slot);
  EXPECT_EQ(status_of(found), Status::found);
  EXPECT_EQ(memory_.retries, 1000 / kLooks);
}

TEST_F(Settling, GivesUpAndSaysThatItDidNotRun) {
  const Found found = find_among(~std::uint64_t{0});
  EXPECT_FALSE(found.settled);
  EXPECT_FALSE(found.item) << "what it saw last does not stand";
  EXPECT_EQ(status_of(found), Status::not_run);
  EXPECT_EQ(memory_.retries, kMostRounds - 1);
  EXPECT_EQ(ClearedTile::looks, 2ull * kLooks * kMostRounds);
}

}  // namespace
}  // namespace holdfast::gphash
