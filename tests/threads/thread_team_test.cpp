// workers_test.cpp: the threads of a batch, where the system starts fewer than are wanted.
#include "threads/thread_team.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <vector>

#include "support/little_memory.hpp"

namespace holdfast::gphash::cpu {
namespace {

/// Into how many parts the team splits a job of 64; 0 if they are not one each.
unsigned parts_of(threads::ThreadTeam& workers) {
  std::vector<std::atomic<unsigned>> calls(64);
  std::atomic<unsigned> parts{0};
  workers.run(64, [&](unsigned i, unsigned n) {
    ++calls[i];
    parts = n;
  });
  for (unsigned i = 0; i < 64; ++i) {
    if (calls[i] != (i < parts ? 1 : 0)) return 0;
  }
  return parts;
}

TEST(ThreadTeam, WithoutSpaceForMoreThreadsThoseThatThereAreDoTheWork) {
#if defined(HOLDFAST_SANITIZED)
  GTEST_SKIP() << "sanitizers need their address space";
#endif
  threads::ThreadTeam workers(64);
  {
    const test::LittleMemory little;
    const unsigned parts = parts_of(workers);
    EXPECT_GE(parts, 1u);
    EXPECT_LT(parts, 64u);
    EXPECT_GE(parts_of(workers), 1u) << "the next batch";
  }
  EXPECT_EQ(parts_of(workers), 64u) << "there is memory again";
  EXPECT_EQ(parts_of(workers), 64u);
}

TEST(ThreadTeam, AnExceptionOfOneIsThrownOnWhenAllHaveEnded) {
  threads::ThreadTeam workers(4);
  std::atomic<unsigned> ended{0};
  EXPECT_THROW(workers.run(4,
                           [&](unsigned i, unsigned) {
                             if (i == 2) throw std::runtime_error("of one");
                             ++ended;
                           }),
               std::runtime_error);
  EXPECT_EQ(ended, 3u);
}

}  // namespace
}  // namespace holdfast::gphash::cpu
