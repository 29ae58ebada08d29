// effect_test.cpp: what runs of operations write, counted piece by piece and in one go.
#include "structures/gphash/protocol/effect.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "structures/gphash/protocol/run.hpp"

namespace holdfast::gphash {
namespace {

/// A run, row by row.
struct Counted {
  bool there;
  std::uint64_t writes = 0;
  bool goes_on;

  explicit Counted(bool was_there) : there(was_there), goes_on(was_there) {}
  void apply(Op op) {
    const Status status = status_of(op, there);
    if (op == Op::erase) {
      there = goes_on = false;
      writes = 0;
    } else if (status == Status::inserted || status == Status::updated) {
      there = true;
      ++writes;
    }
  }
};

Writes counted_in_halves(const std::vector<Writes>& each, std::size_t first, std::size_t last, std::mt19937& random) {
  if (first == last) return {};
  if (last - first == 1) return each[first];
  const std::size_t middle = first + 1 + random() % (last - first - 1);
  return combined(counted_in_halves(each, first, middle, random), counted_in_halves(each, middle, last, random));
}

TEST(Writes, CombineInAnyGrouping) {
  std::mt19937 random(5);
  for (int turn = 0; turn < 2000; ++turn) {
    const std::size_t n = 1 + random() % 12;
    std::vector<std::uint8_t> ops(n);
    for (std::uint8_t& op : ops) op = static_cast<std::uint8_t>(random() % kOps);
    Rows rows;
    rows.ops = ops.data();
    rows.scale = turn % 2 == 0 ? 1 : 0.5;
    rows.partial = turn % 3 == 0;
    Effect before;
    std::vector<Writes> each;
    Counted absent(false), there(true);
    for (std::size_t i = 0; i < n; ++i) {
      each.push_back(writes_of(rows, i, before));
      before = combined(before, effect_of(rows, i));
      absent.apply(static_cast<Op>(ops[i]));
      there.apply(static_cast<Op>(ops[i]));
    }
    const Writes all = counted_in_halves(each, 0, n, random);
    EXPECT_EQ(count_of(all, false), absent.writes);
    EXPECT_EQ(count_of(all, true), there.writes);
    EXPECT_EQ(counts_on(all, true), there.goes_on);
    EXPECT_FALSE(counts_on(all, false));
  }
}

TEST(Writes, NothingChangesNothing) {
  const Writes some{3, 4, 0};
  for (const Writes& same : {combined(some, Writes{}), combined(Writes{}, some)}) {
    EXPECT_EQ(same.if_absent, 3u);
    EXPECT_EQ(same.if_there, 4u);
    EXPECT_EQ(same.erases, 0u);
  }
}

}  // namespace
}  // namespace holdfast::gphash
