// dramhit_churn_test.cpp: keys that come and go: those that stay are found in few lines, by all, while they move.
#include <gtest/gtest.h>

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <string_view>
#include <thread>
#include <vector>

#include "holdfast/memory_table.hpp"
#include "structures/dramhit/lane.hpp"
#include "structures/dramhit/line.hpp"
#include "support/random.hpp"
#include "support/tiles.hpp"
#include "support/whole_values.hpp"

namespace holdfast {
namespace {

struct Churned {
  const char* tile;
  std::uint32_t partitions;
};
void PrintTo(const Churned& churned, std::ostream* out) { *out << churned.tile << churned.partitions; }

class DramhitChurn : public testing::TestWithParam<Churned> {};

// Keys come back to the line where their search begins, so a table does not get slower by its past.
TEST_P(DramhitChurn, AfterItASearchTakesHardlyMoreLines) {
  const test::UseTile tile(GetParam().tile);
  MemoryTable table({.capacity = 30'000, .threads = 1, .grows = false, .seed = 6, .partitions = GetParam().partitions});
  if (table.stats().machine.tile == std::string_view("portable"))
    GTEST_SKIP() << "there, slots do not pass from key to key";
  const std::uint64_t items = table.slots() * 3 / 4, turns = table.slots() * 10 / 1000 * 1000;
  std::vector<std::uint64_t> keys(items), values(items);
  const auto fill = [&](std::uint64_t first, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) values[i] = keys[i] = test::mix(first + i);
  };
  const auto lines = [&](std::uint64_t first) {  // a search
    fill(first, items);
    const MemoryStats::Work before = table.stats().work;
    table.find(keys.data(), values.data(), items);
    const MemoryStats::Work after = table.stats().work;
    return static_cast<double>(after.lines - before.lines) / static_cast<double>(items);
  };
  fill(0, items);
  ASSERT_EQ(table.insert(keys.data(), values.data(), items).of(Status::inserted), items);
  const double fresh = lines(0), fresh_absent = lines(1'000'000'000);
  for (std::uint64_t at = 0; at < turns; at += 1000) {
    fill(at, 1000);
    ASSERT_EQ(table.erase(keys.data(), 1000).of(Status::erased), 1000u);
    fill(items + at, 1000);
    ASSERT_EQ(table.insert(keys.data(), values.data(), 1000).of(Status::inserted), 1000u);
  }
  const double churned = lines(turns);
  EXPECT_EQ(keys, values);
  EXPECT_LE(churned, 1.1 * fresh);
  EXPECT_LE(lines(1'000'000'000), 1.5 * fresh_absent);
}

INSTANTIATE_TEST_SUITE_P(Forms, DramhitChurn,
                         testing::Values(Churned{"avx512", 0}, Churned{"avx2", 0}, Churned{"avx512", 2},
                                         Churned{"avx2", 2}));

class DramhitChurnOf : public testing::TestWithParam<std::uint32_t> {};
INSTANTIATE_TEST_SUITE_P(Sizes, DramhitChurnOf, testing::Values(8, 16, 32, 64), testing::PrintToStringParamName());

TEST_P(DramhitChurnOf, NoSearchOrExportMissesAndNoSumLosesAKeyThatComesBack) {
  const std::uint32_t bytes = GetParam();
  const test::WholeValues whole(bytes);
  const bool passes = bytes == 8 && MemoryTable({.capacity = 1000}).stats().machine.tile != "portable";
  MemoryTable table({.value_bytes = bytes, .capacity = bytes == 8 ? 12'000u : 3000u, .threads = 1, .grows = !passes});
  const std::uint64_t kept_size = bytes == 8 ? 3000 : 700;  // among those that come and go
#if defined(HOLDFAST_SANITIZED)
  const std::uint64_t rounds = bytes == 8 ? 20 : 10;
#else
  const std::uint64_t rounds = bytes == 8 ? 300 : 200;
#endif
  const std::uint64_t at_a_time = bytes == 8 ? 2000 : 600;
  const std::uint64_t others = table.slots() * 3 / 4 - kept_size;
  std::vector<std::uint64_t> kept(kept_size), ones(kept_size * bytes / 8, 1);
  for (std::uint64_t i = 0; i < kept_size; ++i) kept[i] = test::mix(i);
  const auto other_keys = [](unsigned t, std::uint64_t first, std::uint64_t n) {
    std::vector<std::uint64_t> keys(n);
    for (std::uint64_t i = 0; i < n; ++i) keys[i] = test::mix((t + 1) * 1'000'000'000 + first + i);
    return keys;
  };
  const auto put = [&](unsigned t, std::uint64_t first, std::uint64_t n) {
    const std::vector<std::uint64_t> keys = other_keys(t, first, n);
    ASSERT_EQ(table.insert(keys.data(), whole.of(keys).data(), n).of(Status::inserted), n);
  };
  put(0, 0, others / 2);
  table.accumulate(kept.data(), ones.data(), kept_size, Combine::add, Element::u64);
  put(1, 0, others / 2);
  std::atomic<unsigned> left{2};
  const auto churn = [&](unsigned t) {
    for (std::uint64_t round = 0; round < rounds; ++round) {
      const std::uint64_t first = round * at_a_time;
      const std::vector<std::uint64_t> keys = other_keys(t, first, at_a_time);
      ASSERT_EQ(table.erase(keys.data(), at_a_time).of(Status::erased), at_a_time);
      put(t, others / 2 + first, at_a_time);
    }
  };
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 2; ++t) {
    threads.emplace_back([&, t] {
      churn(t);
      --left;  // even if it failed
    });
  }
  std::thread reader([&] {
    std::vector<std::uint64_t> last(kept_size, 0);
    std::vector<std::byte> values(kept_size * bytes);
    const auto found = std::make_unique<bool[]>(kept_size);
    while (left != 0) {
      table.find(kept.data(), values.data(), kept_size, found.get());
      for (std::uint64_t i = 0; i < kept_size; ++i) {
        std::uint64_t sum = 0;
        ASSERT_TRUE(found[i]) << "a search missed a key that was there all the time";
        ASSERT_TRUE(test::is_whole_sum(values.data() + i * bytes, bytes, sum)) << "a sum is not whole";
        ASSERT_GE(sum, last[i]) << "an older value came after a newer one";
        last[i] = sum;
      }
    }
  });
  std::thread exporter([&] {
    std::vector<std::uint64_t> sorted = kept, keys(2 * table.slots()), met;
    std::vector<std::byte> values(keys.size() * bytes);
    std::sort(sorted.begin(), sorted.end());
    while (left != 0) {
      std::uint64_t cursor = 0;
      const std::size_t n = table.export_batch(cursor, keys.data(), values.data(), keys.size());
      met.clear();
      for (std::size_t i = 0; i < n; ++i) {
        const std::byte* const value = values.data() + i * bytes;
        std::uint64_t sum = 0;
        const bool is_kept = std::binary_search(sorted.begin(), sorted.end(), keys[i]);
        if (is_kept) met.push_back(keys[i]);
        ASSERT_TRUE(is_kept ? test::is_whole_sum(value, bytes, sum) : whole.is_whole(keys[i], value));
      }
      std::sort(met.begin(), met.end());
      ASSERT_EQ(met, sorted) << "an export has not each key once";
    }
  });
  std::uint64_t sums = 1;
  for (; left != 0; ++sums) {
    ASSERT_EQ(table.accumulate(kept.data(), ones.data(), kept_size, Combine::add, Element::u64).of(Status::updated),
              kept_size);
  }
  for (std::thread& thread : threads) thread.join();
  reader.join();
  exporter.join();
  std::vector<std::uint64_t> values(kept_size * bytes / 8);
  table.find(kept.data(), values.data(), kept_size);
  EXPECT_EQ(values, std::vector<std::uint64_t>(values.size(), sums));
}

// A search meets a slot that is reserved for a key which may be the one it looks for. Who reserved it needs this processor.
TEST(DramhitChurn, ASearchThatWaitsForAKeyToComeLetsOthersRun) {
  const dramhit::Format format{8, 8, 1};
  const dramhit::Engine& engine = dramhit::engine_for(format);
  if (engine.tile() == std::string_view("portable")) GTEST_SKIP() << "there, no key comes back";
  cpu_set_t before, one;
  CPU_ZERO(&one);
  CPU_SET(static_cast<std::size_t>(sched_getcpu()), &one);
  if (pthread_getaffinity_np(pthread_self(), sizeof before, &before) != 0 ||
      pthread_setaffinity_np(pthread_self(), sizeof one, &one) != 0) {
    GTEST_SKIP() << "threads cannot be kept to one processor here";
  }
  dramhit::Core core(format, 1000, 1, {}, false, engine);
  const std::uint64_t key = 7;
  const dramhit::View& view = *core.view_now();
  const dramhit::Place place = view.geometry.place(view.geometry.hash(key));
  auto* const line = reinterpret_cast<dramhit::Line*>(view.line(place.line));
  line->slots[0].word = dramhit::kReserved | dramhit::kLive;
  for (unsigned slot = 1; slot < dramhit::kSlots; ++slot) line->slots[slot].word = dramhit::kNobodys;
  std::thread mover([&] {
    for (int i = 0; i < 100; ++i) sched_yield();
    __atomic_store_n(&line->slots[0].word, dramhit::kNobodys, __ATOMIC_RELEASE);
  });
  bool found = true;
  dramhit::Rows rows;
  rows.keys = reinterpret_cast<const std::byte*>(&key);
  rows.end = 1;
  rows.reads_only = true;
  dramhit::Results results;
  results.found = &found;
  const std::unique_ptr<dramhit::Lane> lane = engine.lane(core, 8);
  lane->submit(rows, results);
  EXPECT_TRUE(lane->flush(results));
  mover.join();
  pthread_setaffinity_np(pthread_self(), sizeof before, &before);
  EXPECT_FALSE(found);
  MemoryStats stats;
  core.figures(stats);
  EXPECT_LT(stats.work.lines, 3'000'000u) << "it looked until its time was over, again and again";
}

}  // namespace
}  // namespace holdfast
