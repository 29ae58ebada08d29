// persist_test.cpp: the flush instructions run on this CPU, over ranges that begin and end anywhere.
#include "pool/medium/persist.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "holdfast/error.hpp"

namespace holdfast::pool {
namespace {

class Persisting : public testing::Test {
 protected:
  void TearDown() override { unsetenv("HOLDFAST_FLUSH"); }
};

TEST_F(Persisting, EveryKindUpToTheBestRuns) {
  std::vector<char> data(1000, 'x');
  for (const FlushKind kind : {FlushKind::none, FlushKind::clflush, FlushKind::clflushopt, FlushKind::clwb}) {
    if (kind > best_flush()) continue;
    const Persist persist{kind};
    EXPECT_EQ(persist.flushes(), kind != FlushKind::none);
    for (const std::size_t offset : {0, 1, 63, 64}) {
      for (const std::size_t bytes : {0, 1, 64, 65, 900}) persist.flush(data.data() + offset, bytes);
    }
    persist.fence();
  }
  EXPECT_EQ(data, std::vector<char>(1000, 'x'));
}

/// A cache over a memory that has only what was written back, one line after another.
TEST_F(Persisting, EveryLineOfARangeIsFlushedOnce) {
  constexpr std::size_t kLines = 5, kBytes = kLines * kLine;
  alignas(kLine) char cache[kBytes], memory[kBytes];
  for (std::size_t begin = 0; begin <= kBytes; ++begin) {
    for (std::size_t end = begin; end <= kBytes; ++end) {
      std::fill_n(memory, kBytes, 'o');
      std::fill_n(cache, kBytes, 'o');
      std::fill(cache + begin, cache + end, 'n');
      std::size_t flushed = 0;
      each_line(cache + begin, end - begin, [&](const char* line) {
        ASSERT_EQ((line - cache) % kLine, 0u);
        std::copy_n(line, kLine, memory + (line - cache));
        ++flushed;
      });
      ASSERT_TRUE(std::equal(cache, cache + kBytes, memory)) << begin << " to " << end;
      ASSERT_EQ(flushed, begin == end ? 0 : (end - 1) / kLine - begin / kLine + 1) << begin << " to " << end;
    }
  }
}

TEST_F(Persisting, TheEnvironmentChoosesALesserOne) {
  const FlushKind best = best_flush();
  EXPECT_NE(best, FlushKind::none);
  setenv("HOLDFAST_FLUSH", "clflush", 1);
  EXPECT_EQ(best_flush(), FlushKind::clflush);
  setenv("HOLDFAST_FLUSH", "clwb", 1);
  EXPECT_EQ(best_flush(), best) << "never one that the CPU lacks";
  setenv("HOLDFAST_FLUSH", "", 1);
  EXPECT_EQ(best_flush(), best);
  setenv("HOLDFAST_FLUSH", "movnti", 1);
  EXPECT_THROW(best_flush(), InvalidArgument);
}

TEST_F(Persisting, KindsHaveTheNamesOfTheirInstructions) {
  EXPECT_STREQ(name(FlushKind::none), "none");
  EXPECT_STREQ(name(FlushKind::clflush), "clflush");
  EXPECT_STREQ(name(FlushKind::clflushopt), "clflushopt");
  EXPECT_STREQ(name(FlushKind::clwb), "clwb");
}

}  // namespace
}  // namespace holdfast::pool
