// gate_test.cpp: gates let pass whom they should, and builds with assertions end a thread that passes them in a wrong order.
#include "threads/gate.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <shared_mutex>
#include <thread>

namespace holdfast {
namespace {

using Rank = threads::Gate::Rank;

struct Gates : testing::Test {
  static constexpr int kPool = 0, kOne = 1, kTwo = 2, kOther = 3;
  const int names[4] = {};
  threads::Gate pool{Rank::pool, &names[kPool], nullptr};
  threads::Gate changes{Rank::changes, &names[kPool], &names[kOne]}, use{Rank::use, &names[kPool], &names[kOne]};
  threads::Gate changes_two{Rank::changes, &names[kPool], &names[kTwo]},
      use_two{Rank::use, &names[kPool], &names[kTwo]};
  threads::Gate elsewhere{Rank::changes, &names[kOther], &names[kOther]};
};

TEST_F(Gates, InTheirOrder) {
  for (int round = 0; round < 2; ++round) {  // what was left is forgotten
    const std::unique_lock first(pool);
    const std::unique_lock second(changes), third(changes_two);
    const std::shared_lock fourth(use), fifth(use_two), sixth(elsewhere);
  }
  const std::unique_lock still(changes);
  const std::shared_lock search(use), search_two(use_two);
}

TEST_F(Gates, WhoWaitsToBeAloneIsNotStarved) {
  std::atomic<bool> stop{false}, alone{false};
  std::shared_lock first(use);
  std::thread waits([&] {
    const std::unique_lock lock(use);
    alone = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(10));
  std::thread passes([&] {
    while (!stop) const std::shared_lock lock(use);
  });
  EXPECT_FALSE(alone);
  first.unlock();
  waits.join();
  EXPECT_TRUE(alone);
  stop = true;
  passes.join();
}

#if !defined(NDEBUG)

TEST_F(Gates, PassedTwice) {
  const std::shared_lock once(use);
  EXPECT_DEATH(const std::shared_lock twice(use), "passed already");
  EXPECT_DEATH(const std::unique_lock alone(use), "passed already");
}

TEST_F(Gates, ATablesInTheWrongOrder) {
  const std::shared_lock searching(use);
  EXPECT_DEATH(const std::shared_lock changing(changes), "wrong order");
}

TEST_F(Gates, APoolsAfterATables) {
  const std::shared_lock searching(use);
  EXPECT_DEATH(const std::unique_lock opening(pool), "after one of a table");
}

TEST_F(Gates, TwoTablesWithoutTheirPool) {
  const std::unique_lock still(changes);
  EXPECT_DEATH(const std::shared_lock changing(changes_two), "without the pool's gate");
}

TEST_F(Gates, LeftWithoutBeingPassed) { EXPECT_DEATH(use.unlock_shared(), "has not passed"); }

TEST_F(Gates, BeforeAnybodyWaits) {
  threads::Gate::before_waiting([] { std::abort(); });
  EXPECT_DEATH(const std::shared_lock searching(use), "");
  threads::Gate::before_waiting(nullptr);
  const std::shared_lock searching(use);
}

#endif

}  // namespace
}  // namespace holdfast
