// thread_group_test.cpp: a group of fewer threads than were wanted, whose end is told all the same.
#include "threads/thread_group.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <string>

#include "support/little_memory.hpp"

namespace holdfast::threads {
namespace {

TEST(ThreadGroup, WithoutSpaceForMoreThreadsTheEndOfThoseThatThereAreIsTold) {
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

TEST(ThreadGroup, CallsTheWorkOnceWithEachNumber) {
  ThreadGroup group;
  std::array<std::atomic<unsigned>, 5> calls{};
  EXPECT_EQ(group.start_numbered(5, [&](unsigned i) { ++calls.at(i); }), "");
  EXPECT_EQ(group.started(), 5u);
  group.join();
  for (const auto& count : calls) EXPECT_EQ(count, 1u);
}

TEST(ThreadGroup, SaysWhyThereAreFewerNumberedThreads) {
#if defined(HOLDFAST_SANITIZED)
  GTEST_SKIP() << "sanitizers need their address space";
#endif
  ThreadGroup group;
  std::atomic<unsigned> began = 0;
  std::string why;
  {
    const test::LittleMemory little;
    why = group.start_numbered(64, [&](unsigned) { ++began; });
  }
  const unsigned started = group.started();
  EXPECT_NE(why, "");
  EXPECT_LT(started, 64u);
  group.join();
  EXPECT_EQ(began, started);
}

}  // namespace
}  // namespace holdfast::threads
