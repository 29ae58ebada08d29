// old_lines_test.cpp: what lines had at one moment, while threads store to them.
#include "store/cpu/old_lines.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "store/sanitized.hpp"
#include "support/random.hpp"

namespace holdfast::store::cpu {
namespace {

constexpr std::uint64_t kHeapBytes = 64 * 4096, kHeapWords = kHeapBytes / 8;
constexpr std::uint64_t kAnyKept = std::uint64_t{1} << 30;

struct alignas(4096) HeapWords {
  std::uint64_t words[kHeapWords + 8];

  HeapWords() {
    for (std::uint64_t i = 0; i < kHeapWords + 8; ++i) words[i] = i;
  }
  const std::byte* at(std::uint64_t word) const { return reinterpret_cast<const std::byte*>(words + word); }
};

class OldLinesTest : public testing::Test {
 protected:
  void change(OldLines& lines, std::uint64_t word) {
    std::uint64_t* const to = heap_->words + word;
    lines.keep(to, 8);
    __atomic_store_n(to, ~word, __ATOMIC_RELEASE);
  }
  /// Reads `words` words and expects those of the moment.
  void expect_old(OldLines& lines, std::uint64_t first, std::uint64_t words) {
    std::vector<std::uint64_t> copy(words);
    lines.read(heap_->at(first), words * 8, reinterpret_cast<std::byte*>(copy.data()));
    for (std::uint64_t i = 0; i < words; ++i) ASSERT_EQ(copy[i], first + i);
  }
  const std::unique_ptr<HeapWords> heap_ = std::make_unique<HeapWords>();
};

TEST_F(OldLinesTest, HasWhatWasThereAndKeepsALineOnce) {
  OldLines lines(heap_->at(0), kHeapBytes, kAnyKept);
  for (unsigned again = 0; again < 2; ++again) {
    for (std::uint64_t word = 0; word < kHeapWords; word += 5) change(lines, word);
  }
  EXPECT_EQ(lines.kept(), kHeapBytes);
  for (std::uint64_t page = 0; page < 64; page += 4)
    expect_old(lines, page * 512, 3 * 512);  // not in order, and not whole parts
  for (std::uint64_t page = 3; page < 64; page += 4) expect_old(lines, page * 512, 512);
  EXPECT_EQ(lines.kept(), 0u);
  change(lines, 17);
  EXPECT_EQ(lines.kept(), 0u) << "of a line that was read";
}

TEST_F(OldLinesTest, KeepsRangesOfTheHeapAlone) {
  OldLines lines(heap_->at(512), kHeapBytes - 4096, kAnyKept);
  lines.keep(heap_->at(511), 8);
  lines.keep(heap_->at(kHeapWords), 64);
  EXPECT_EQ(lines.kept(), 0u);
  lines.keep(heap_->at(512 + 7), 16);  // of two lines
  EXPECT_EQ(lines.kept(), 128u);
  lines.keep(heap_->at(kHeapWords - 1), 64);  // what is behind the end is not the heap's
  EXPECT_EQ(lines.kept(), 192u);
  EXPECT_FALSE(lines.covers(heap_->at(511), 64));
  EXPECT_FALSE(lines.covers(heap_->at(kHeapWords - 8), 128));
  EXPECT_TRUE(lines.covers(heap_->at(512), kHeapBytes - 4096));
}

TEST_F(OldLinesTest, ChangesWaitWhereTooMuchIsKept) {
  OldLines lines(heap_->at(0), kHeapBytes, 10 * OldLines::kLine);
  std::atomic<std::uint64_t> changed = 0;
  std::jthread changes([&] {
    for (std::uint64_t line = 0; line < kHeapWords / 8; ++line) {
      change(lines, 8 * line);
      changed = line + 1;
    }
  });
  while (changed < 10) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(changed, 10u);
  expect_old(lines, 0, 512);                       // which has them all
  while (changed < 74) std::this_thread::yield();  // 64 lines were read, of which 54 need not be kept any more
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(changed, 74u);
  lines.end();
  changes.join();
  EXPECT_EQ(changed, kHeapWords / 8);
}

TEST_F(OldLinesTest, ThreadsChangeWhileOthersRead) {
  OldLines lines(heap_->at(0), kHeapBytes, kAnyKept);
  std::vector<std::jthread> threads;
  for (unsigned thread = 0; thread < 2; ++thread) {
    threads.emplace_back([&, thread] {
      test::Random random(thread);
      for (unsigned i = 0; i < (kSanitized ? 20'000u : 200'000u); ++i) change(lines, random.below(kHeapWords));
    });
  }
  std::jthread reads([&] {
    for (std::uint64_t page = 1; page < 64; page += 2) expect_old(lines, page * 512, 512);
  });
  for (std::uint64_t page = 0; page < 64; page += 2) expect_old(lines, page * 512, 512);
}

}  // namespace
}  // namespace holdfast::store::cpu
