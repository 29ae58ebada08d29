// find_test.cpp: a search ends, whatever others do: one that clearings overtake for ever gives up, and says so.
#include "gphash/protocol/find.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace holdfast::index {
namespace {

using Shape = DefaultShape;

/// Tags of which one always points to an item; the stripe is cleared before each look until `looks` of them are over.
struct ClearedTile {
  std::uint64_t* looks;
  std::uint64_t cleared_for;
  Slot* slot;

  template <class Memory>
  std::uint64_t peek(const Memory&, const std::uint64_t*) const {
    const std::uint64_t look = (*looks)++ / 2;  // before and after
    return look < cleared_for ? *looks << 8 : cleared_for << 9;
  }
  template <class Memory>
  int load_tags(const Memory&, const View<Shape>&, const Candidates<Shape>&) const {
    return 0;
  }
  LaneMask match(const View<Shape>&, const Candidates<Shape>&, int, std::uint8_t) const { return 1; }
  template <class Memory>
  Item first_item(const Memory&, const View<Shape>&, const Candidates<Shape>&, LaneMask) const {
    return {slot, 7, 0};
  }
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

class Settling : public testing::Test {
 protected:
  Settling() {
    view_.top_level = 4;
    tags_.resize(view_.tag_words());
    view_.tags = tags_.data();
  }
  Found find_among(std::uint64_t clearings) {
    looks_ = 0;
    const ClearedTile tile{&looks_, clearings, &slot_};
    return find_settled(tile, memory_, view_, Candidates<Shape>(view_, Key(5)));
  }

  View<Shape> view_{};
  std::vector<std::uint64_t> tags_;
  Slot slot_{};
  CountingMemory memory_;
  std::uint64_t looks_ = 0;
};

TEST_F(Settling, GoesOnUntilNothingIsClearedMeanwhile) {
  const Found found = find_among(1000);
  EXPECT_TRUE(found.settled);
  EXPECT_EQ(found.item.slot, &slot_);
  EXPECT_EQ(status_of(found), Status::found);
  EXPECT_EQ(memory_.retries, 1000 / kLooks);
}

TEST_F(Settling, GivesUpAndSaysThatItDidNotRun) {
  const Found found = find_among(~std::uint64_t{0});
  EXPECT_FALSE(found.settled);
  EXPECT_FALSE(found.item) << "what it saw last does not stand";
  EXPECT_EQ(status_of(found), Status::not_run);
  EXPECT_EQ(memory_.retries, kMostTurns - 1);
  EXPECT_EQ(looks_, 2ull * kLooks * kMostTurns);
}

}  // namespace
}  // namespace holdfast::index
