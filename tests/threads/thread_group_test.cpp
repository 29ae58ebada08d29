// thread_group_test.cpp: a group of fewer threads than were wanted, whose end is told all the same.
#include "threads/thread_group.hpp"

#include <gtest/gtest.h>

#include <atomic>

#include "support/little_memory.hpp"

namespace holdfast::threads {
namespace {

TEST(ThreadGroup, WithoutRoomForMoreThreadsTheEndOfThoseThatThereAreIsTold) {
#if defined(HOLDFAST_SANITIZED)
  GTEST_SKIP() << "sanitizers need their address space";
#endif
  for (int round = 0; round < 200; ++round) {
    ThreadGroup group;
    std::atomic<unsigned> began = 0, ended = 0;
    {
      const test::LittleMemory little;
      group.start(
          64, [&] { ++began; }, [&] { ++ended; });
    }
    group.join();
    EXPECT_TRUE(group.done());
    EXPECT_GE(began, 1u);
    EXPECT_LT(began, 64u);
    ASSERT_EQ(ended, 1u) << "round " << round;
  }
}

}  // namespace
}  // namespace holdfast::threads
