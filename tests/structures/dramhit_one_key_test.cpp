// dramhit_one_key_test.cpp: calls with one key of a table in memory: each thread has a lane of its own.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "holdfast/memory_table.hpp"
#include "support/errors.hpp"
#include "threads/thread_number.hpp"

namespace holdfast::test {
namespace {

using Word = std::uint64_t;

/// Random calls on keys of one thread, and what a map says of them. Values of `Words` words, all equal.
template <std::size_t Words>
void call_beside_others(MemoryTable& table, Word thread, Word calls) {
  using Value = std::array<Word, Words>;
  std::unordered_map<Word, Word> oracle;
  std::mt19937_64 random(thread);
  for (Word i = 0; i < calls; ++i) {
    const Word key = (random() % 500) << 8 | thread;
    const bool there = oracle.contains(key);
    Value value;
    value.fill(i);
    Status status = Status::not_run;
    switch (random() % 4) {
      case 0:
        table.insert(&key, value.data(), 1, &status);
        ASSERT_EQ(status, there ? Status::exists : Status::inserted);
        oracle.try_emplace(key, i);
        break;
      case 1:
        table.insert_or_assign(&key, value.data(), 1, &status);
        ASSERT_EQ(status, there ? Status::updated : Status::inserted);
        oracle[key] = i;
        break;
      case 2:
        table.erase(&key, 1, &status);
        ASSERT_EQ(status, there ? Status::erased : Status::not_found);
        oracle.erase(key);
        break;
      default:
        bool found = false;
        table.find(&key, value.data(), 1, &found);
        ASSERT_EQ(found, there);
        for (const Word word : value) ASSERT_EQ(word, there ? oracle[key] : 0);
    }
  }
  for (const auto& [key, version] : oracle) {
    bool found = false;
    table.contains(&key, 1, &found);
    ASSERT_TRUE(found);
  }
}

template <std::size_t Words>
void expect_right_answers() {
  MemoryTable table({.value_bytes = 8 * Words, .capacity = 64});  // it grows meanwhile
  std::vector<Word> keys(2000);
  std::iota(keys.begin(), keys.end(), Word{1} << 40);
  const std::vector<Word> values(keys.size() * Words, 7);
  for (int round = 0; round < 2; ++round) {  // threads of the second round have the numbers of the first
    std::vector<std::thread> all;
    for (Word t = 0; t < 3; ++t) {
      all.emplace_back([&, t] { call_beside_others<Words>(table, 3 * static_cast<Word>(round) + t, 20'000); });
    }
    for (int i = 0; i < 20; ++i) {
      EXPECT_EQ(table.insert(keys.data(), values.data(), keys.size()).of(Status::inserted), keys.size());
      EXPECT_EQ(table.erase(keys.data(), keys.size()).of(Status::erased), keys.size());
    }
    for (std::thread& thread : all) thread.join();
  }
}

TEST(DramhitOneKey, ThreadsBesideBatchesAndGrowth) { expect_right_answers<1>(); }
TEST(DramhitOneKey, ThreadsWithValuesOf64Bytes) { expect_right_answers<8>(); }

/// More threads than have a lane of their own, all at once.
TEST(DramhitOneKey, ThreadsWithoutANumberShareLanes) {
  MemoryTable table({.capacity = 1 << 12});
  constexpr unsigned kThreads = threads::kThreadNumbers + 8;
  std::atomic<unsigned> inserted{0}, asked{0};
  std::vector<std::thread> all;
  for (Word t = 0; t < kThreads; ++t) {
    all.emplace_back([&, t] {
      Status status = Status::not_run;
      table.insert(&t, &t, 1, &status);
      inserted += status == Status::inserted ? 1 : 0;
      ++asked;
      while (asked < kThreads) std::this_thread::yield();
    });
  }
  for (std::thread& thread : all) thread.join();
  EXPECT_EQ(inserted, kThreads);
  EXPECT_EQ(table.size(), kThreads);
}

/// A refusal changes nothing, and is that of a batch.
TEST(DramhitOneKey, IsRefusedAsABatchIs) {
  MemoryTable table;
  const Word key = 7;
  expect_error<InvalidArgument>([&] { table.insert(&key, nullptr, 1); }, "the batch has no values");
  EXPECT_EQ(table.size(), 0u);
}

}  // namespace
}  // namespace holdfast::test
