// parallel_test.cpp: steps of a range on several threads: each once, with errors, refusals, and too few threads.
#include "threads/parallel.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <vector>

#include "support/little_memory.hpp"

namespace holdfast::threads {
namespace {

TEST(InParallel, CoversEverythingOnceAndAsks) {
  std::vector<std::atomic<int>> touched(1003);
  std::uint64_t asked = 0, last = 0;
  EXPECT_TRUE(in_parallel(
      touched.size(), 10, 3,
      [&](std::uint64_t begin, std::uint64_t end) {
        for (std::uint64_t i = begin; i < end; ++i) ++touched[i];
      },
      [&](std::uint64_t done) {
        EXPECT_GE(done, last);
        if (asked == 0) {
          EXPECT_EQ(done, 0u);
        }
        ++asked;
        last = done;
        return true;
      }));
  EXPECT_GE(asked, 2u);
  EXPECT_EQ(last, touched.size());
  for (const auto& count : touched) ASSERT_EQ(count, 1);
}

TEST(InParallel, WithoutSpaceForMoreThreadsThoseThatThereAreDoTheWork) {
#if defined(HOLDFAST_SANITIZED)
  GTEST_SKIP() << "sanitizers need their address space";
#endif
  const test::LittleMemory little;
  std::atomic<std::uint64_t> sum = 0;
  EXPECT_TRUE(in_parallel(
      1000, 1, 64, [&](std::uint64_t begin, std::uint64_t end) { sum += end - begin; },
      [](std::uint64_t) { return true; }));
  EXPECT_EQ(sum, 1000u);
}

TEST(InParallel, EndsWithAnErrorOrARefusal) {
  std::atomic<int> inside = 0;
  const auto fails = [&](std::uint64_t begin, std::uint64_t) {
    ++inside;
    if (begin == 50) throw std::runtime_error("fifty");
    --inside;
  };
  const auto yes = [](std::uint64_t) { return true; };
  EXPECT_THROW(in_parallel(1000, 10, 4, fails, yes), std::runtime_error);
  EXPECT_EQ(inside, 1) << "the others had ended";
  const auto nothing = [](std::uint64_t, std::uint64_t) {};
  EXPECT_FALSE(in_parallel(1000, 10, 4, fails, [](std::uint64_t) { return false; }));
  EXPECT_FALSE(in_parallel(1000, 10, 4, nothing, [](std::uint64_t done) { return done == 0; }));
  EXPECT_THROW(in_parallel(1000, 10, 4, nothing,
                           [](std::uint64_t done) -> bool {
                             if (done != 0) throw std::invalid_argument("no");
                             return true;
                           }),
               std::invalid_argument);
}

}  // namespace
}  // namespace holdfast::threads
