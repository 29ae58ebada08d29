// dramhit_fork_test.cpp: a child of fork has the table in memory whole, with threads of its own, whatever ran when it was forked.
#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <numeric>
#include <thread>
#include <utility>
#include <vector>

#include "holdfast/memory_table.hpp"
#include "structures/dramhit/line.hpp"
#include "support/child.hpp"
#include "support/random.hpp"
#include "support/whole_values.hpp"

namespace holdfast {
namespace {

#if defined(HOLDFAST_TSAN)
constexpr unsigned kThreads = 1;  // ThreadSanitizer lets a child start none
#else
constexpr unsigned kThreads = 3;
#endif
constexpr std::uint64_t kKeys = 20'000;  // enough for several threads

std::vector<std::uint64_t> keys_from(std::uint64_t first) {
  std::vector<std::uint64_t> keys(kKeys);
  for (std::uint64_t i = 0; i < kKeys; ++i) keys[i] = test::mix(first + i);
  return keys;
}

void insert(MemoryTable& table, const std::vector<std::uint64_t>& keys) {
  table.insert(keys.data(), test::WholeValues(table.value_bytes()).of(keys).data(), keys.size());
}

bool has(MemoryTable& table, const std::vector<std::uint64_t>& keys) {
  std::vector<std::byte> values(keys.size() * table.value_bytes());
  const auto found = std::make_unique<bool[]>(keys.size());
  table.find(keys.data(), values.data(), keys.size(), found.get());
  return values == test::WholeValues(table.value_bytes()).of(keys) &&
         std::accumulate(found.get(), found.get() + keys.size(), std::size_t{0}) == keys.size();
}

bool refuses(auto&& work) {
  try {
    work();
  } catch (const ObjectClosed&) {
    return true;
  }
  return false;
}

class DramhitForkOf : public testing::TestWithParam<std::uint32_t> {};
INSTANTIATE_TEST_SUITE_P(Sizes, DramhitForkOf, testing::Values(8, 16, 32, 64), testing::PrintToStringParamName());

TEST_P(DramhitForkOf, AChildGoesOnWithTheTable) {
  MemoryTable table({.value_bytes = GetParam(), .capacity = 1000, .threads = kThreads});
  const auto keys = keys_from(0), more = keys_from(kKeys);
  insert(table, keys);
  const int result = test::in_child([&] {
    if (!has(table, keys)) return 1;
    insert(table, more);  // it grows
    if (!has(table, keys) || !has(table, more) || table.size() != 2 * kKeys) return 2;
    table.erase(keys.data(), kKeys);
    if (table.size() != kKeys) return 3;
    const auto in_grandchild = test::in_child([&] { return has(table, more) ? 0 : 1; });
    if (in_grandchild != 0) return 4;
    table.clear();
    MemoryTable other({.capacity = 1000});
    other = std::move(table);
    return other.size() == 0 ? 0 : 5;
  });
  EXPECT_EQ(result, 0);
  EXPECT_TRUE(has(table, keys));
  EXPECT_EQ(table.size(), kKeys);
}

TEST(DramhitFork, AHandleGoesOnInAChild) {
  MemoryTable table({.capacity = 1000, .threads = kThreads});
  std::vector<std::uint64_t> ids(4), values(4);
  MemoryAnswers answers;
  answers.ids = ids;
  answers.values = std::as_writable_bytes(std::span(values));
  MemoryHandle handle = table.handle();
  const std::uint64_t key = 5, value = 7;
  ASSERT_EQ(handle.put(&key, &value, {}, 1, answers), 1u);
  ASSERT_EQ(handle.waiting(), 1u);
  const int result = test::in_child([&] {
    if (!handle.flush(answers) || answers.size != 1 || table.size() != 1) return 1;
    answers.size = 0;
    if (handle.get(&key, {}, 1, answers) != 1 || !handle.flush(answers) || values[0] != 7) return 2;
    const MemoryHandle gone = std::move(handle);
    return 0;
  });
  EXPECT_EQ(result, 0);
  EXPECT_EQ(table.size(), 0u) << "the child's queue is its own";
  EXPECT_TRUE(handle.flush(answers));
  EXPECT_EQ(table.size(), 1u);
}

TEST(DramhitFork, AChildReadsAPartitionedTableAndHasAnErrorForTheRest) {
  MemoryTable table({.capacity = 2 * kKeys, .threads = kThreads, .partitions = 2});
  const auto keys = keys_from(0);
  insert(table, keys);
  MemoryAnswers none;
  MemoryHandle handle = table.handle();
  ASSERT_EQ(handle.put(keys.data(), keys.data(), {}, 1, none), 1u);
  const int result = test::in_child([&] {
    if (!has(table, keys) || table.size() != kKeys) return 1;
    if (!refuses([&] { insert(table, keys); })) return 2;
    if (!refuses([&] { table.clear(); })) return 3;
    if (!refuses([&] { table.handle(); })) return 4;
    if (!refuses([&] { handle.put(keys.data(), keys.data(), {}, 1, none); })) return 5;
    if (!refuses([&] { handle.flush(none); })) return 6;
    { const MemoryHandle gone = std::move(handle); }
    const MemoryTable gone = std::move(table);
    return 0;
  });
  EXPECT_EQ(result, 0);
  EXPECT_TRUE(handle.flush(none));
  EXPECT_EQ(table.erase(keys.data(), kKeys).of(Status::erased), kKeys);
}

// Batches, growths, exports and handles run on other threads at each fork.
TEST_P(DramhitForkOf, AChildHasWhatIsWholeWhateverElseRuns) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP()
      << "AddressSanitizer's allocator (GCC 12) takes no lock at fork: a child may find one held, and hang in malloc";
#endif
  MemoryTable table({.value_bytes = GetParam(), .capacity = 1000, .threads = kThreads});
  const auto kept = keys_from(0), fresh = keys_from(10'000'000);
  insert(table, kept);
  std::atomic<bool> stop{false};
  const auto churn = [&](std::uint64_t t) {
    for (std::uint64_t round = 1; !stop; ++round) {
      const auto keys = keys_from((t + 1) * 1'000'000'000 + round % 8 * kKeys);
      insert(table, keys);
      if (round % 8 == 0) table.reserve(table.size() * 2);
      table.erase(keys.data(), kKeys);
    }
  };
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 2; ++t) threads.emplace_back(churn, t);
  threads.emplace_back([&] {
    std::vector<std::uint64_t> keys(4 * kKeys);
    while (!stop) {
      std::uint64_t cursor = 0;
      table.export_batch(cursor, keys.data(), nullptr, keys.size());
      static_cast<void>(table.stats());
    }
  });
  const int forks = GetParam() == 8 ? 30 : 10;
  for (int i = 0; i < forks; ++i) {
    const int result = test::in_child([&] {
      if (!has(table, kept)) return 1;
      insert(table, fresh);
      table.reserve(2 * table.size());
      if (!has(table, kept) || !has(table, fresh)) return 2;
      table.erase(kept.data(), kKeys);
      std::vector<std::uint64_t> keys(8 * kKeys);
      std::uint64_t cursor = 0;
      if (table.export_batch(cursor, keys.data(), nullptr, keys.size()) != table.size()) return 3;
      table.clear();
      const MemoryTable gone = std::move(table);
      return 0;
    });
    ASSERT_EQ(result, 0) << "fork " << i;
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(has(table, kept));
}

}  // namespace
}  // namespace holdfast
