// assertions_test.cpp: broken preconditions of the table in memory end a checked build.
#include "support/assertions.hpp"

#include <memory>

#include "structures/dramhit/change_queue.hpp"

namespace holdfast::dramhit {
namespace {

struct NoForm {};
using Queue = ChangeQueue<NoForm, Line*, false>;

TEST(DramhitAssertionDeathTest, QueuesAreNeitherOverfilledNorRead) {
  const auto queue = std::make_unique<Queue>();
  EXPECT_ASSERTION(queue->front(), "empty");
  queue->add(kMostDepth, [](unsigned, Queue::Task&) {});
  EXPECT_ASSERTION(queue->add(1, [](unsigned, Queue::Task&) {}), "kMostDepth");
}

TEST(DramhitAssertionDeathTest, WhatIsFollowedWaits) {
  const auto queue = std::make_unique<Queue>();
  Queue::Task alone = {};
  EXPECT_ASSERTION(queue->advance(alone), "kNone");
}

TEST(DramhitAssertionDeathTest, KeysLieWithinReach) {
  EXPECT_ASSERTION(reach_step(kMostDistance + 1), "kMostDistance");
}

}  // namespace
}  // namespace holdfast::dramhit
