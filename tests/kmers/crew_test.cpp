// crew_test.cpp: a crew of fewer threads than were wanted, whose end is told all the same.
#include "kmers/crew.hpp"

#include <gtest/gtest.h>

#include <atomic>

#include "support/little_memory.hpp"

namespace holdfast::kmers {
namespace {

TEST(Crew, WithoutRoomForMoreThreadsTheEndOfThoseThatThereAreIsTold) {
#if defined(HOLDFAST_SANITIZED)
  GTEST_SKIP() << "sanitizers need their address space";
#endif
  for (int round = 0; round < 200; ++round) {
    Crew crew;
    std::atomic<unsigned> began = 0, ended = 0;
    {
      const test::LittleMemory little;
      crew.start(
          64, [&] { ++began; }, [&] { ++ended; });
    }
    crew.join();
    EXPECT_TRUE(crew.done());
    EXPECT_GE(began, 1u);
    EXPECT_LT(began, 64u);
    ASSERT_EQ(ended, 1u) << "round " << round;
  }
}

}  // namespace
}  // namespace holdfast::kmers
