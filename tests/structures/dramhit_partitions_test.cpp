// dramhit_partitions_test.cpp: DRAMHiT-P: changes by messages to the threads that own the partitions; `flush` always ends.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "holdfast/memory_table.hpp"
#include "structures/dramhit/partitions/delegation.hpp"
#include "support/errors.hpp"
#include "support/little_memory.hpp"
#include "support/random.hpp"
#include "support/tiles.hpp"

namespace holdfast {
namespace {

using test::Random;
thread_local MemoryAnswers no_answers;

std::uint64_t sum_of(MemoryTable& table) {
  std::vector<std::uint64_t> keys(1 << 16), values(1 << 16);
  std::uint64_t sum = 0;
  for (std::uint64_t cursor = 0; cursor != ~std::uint64_t{0};) {
    const std::size_t n = table.export_batch(cursor, keys.data(), values.data(), keys.size());
    for (std::size_t i = 0; i < n; ++i) sum += values[i];
  }
  return sum;
}

TEST(DramhitPartitions, SumsOfSkewedKeysArriveBesideReaders) {
  for (const unsigned partitions : {1u, 2u, 3u}) {
    const test::UseTile tile(test::kTiles[partitions - 1]);
    MemoryTable table({.capacity = 50'000, .partitions = partitions});
    constexpr std::uint64_t kAdds = 100'000;
    std::atomic<bool> stop{false};
    const auto work = [&](unsigned t) {
      MemoryHandle handle = table.handle();
      Random random(t);
      const std::uint64_t one = 1;
      for (std::uint64_t i = 0; i < kAdds; ++i) {
        const std::uint64_t key = random.chance(50) ? 7 : random.below(30'000);  // half of all go to one partition
        ASSERT_EQ(handle.upsert(&key, &one, {}, 1, no_answers), 1u);
      }
      ASSERT_TRUE(handle.flush(no_answers));
    };
    std::thread reader([&] {
      std::uint64_t last = 0;
      while (!stop) {
        const std::uint64_t key = 7;
        std::uint64_t value = 0;
        table.find(&key, &value, 1);
        EXPECT_GE(value, last);
        last = value;
      }
    });
    std::thread other(work, 1);
    work(2);
    other.join();
    stop = true;
    reader.join();
    EXPECT_EQ(sum_of(table), 2 * kAdds);
    EXPECT_EQ(table.stats().partitions.refused, 0u);
    EXPECT_EQ(table.stats().partitions.count, partitions);
  }
}

class DramhitPartitionTiles : public testing::TestWithParam<const char*> {};

TEST_P(DramhitPartitionTiles, AFlushIsABarrier) {
  const test::UseTile tile(GetParam());
  MemoryTable table({.capacity = 50'000, .partitions = 2});
  MemoryHandle handle = table.handle();
  for (std::uint64_t round = 0; round < 300; ++round) {
    const std::uint64_t key = test::mix(round), value = round + 1;
    ASSERT_EQ(handle.put(&key, &value, {}, 1, no_answers), 1u);
    if (round % 3 == 0) {
      ASSERT_EQ(handle.erase(&key, {}, 1, no_answers), 1u);
    }
    ASSERT_TRUE(handle.flush(no_answers));
    std::uint64_t read = 0;
    bool found = false;
    table.find(&key, &read, 1, &found);
    ASSERT_EQ(found, round % 3 != 0);
    ASSERT_EQ(read, found ? value : 0);
  }
  EXPECT_EQ(table.size(), 200u);
}

INSTANTIATE_TEST_SUITE_P(Tiles, DramhitPartitionTiles, testing::ValuesIn(test::kTiles));

TEST(DramhitPartitions, AProducerThatLeavesWithAPartialSectionLosesNothing) {
  MemoryTable table({.capacity = 50'000, .partitions = 3});
  for (std::uint64_t i = 0; i < 200; ++i) {
    MemoryHandle handle = table.handle();
    const std::uint64_t key = test::mix(i);
    ASSERT_EQ(handle.put(&key, &i, {}, 1, no_answers), 1u);
  }
  EXPECT_EQ(table.size(), 200u);
}

TEST(DramhitPartitions, AStalledConsumerStallsAndNoMore) {
  const dramhit::Format format{8, 8, 2};
  const dramhit::Engine& engine = dramhit::engine_for(format);
  dramhit::Core core(format, 100'000, 9, {}, false, engine);
  dramhit::Delegation delegation(engine, core, 16);
  std::atomic<bool> stalled{false}, go_on{false};
  std::thread job([&] {
    delegation.run([&](unsigned part, dramhit::Lane&) {
      if (part != 0) return;
      stalled = true;
      while (!go_on) std::this_thread::yield();
    });
  });
  while (!stalled) std::this_thread::yield();
  std::atomic<bool> flushed{false};
  constexpr std::uint64_t kKeys = 20'000;  // far more than its queue has room for
  std::thread producing([&] {
    dramhit::Producer producer(delegation, {});
    for (std::uint64_t i = 0; i < kKeys; ++i) ASSERT_TRUE(producer.send(Op::insert_or_assign, test::mix(i), i));
    producer.flush();
    flushed = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_FALSE(flushed) << "flush did not wait for the stalled partition";
  go_on = true;
  job.join();
  producing.join();
  EXPECT_TRUE(flushed);
  EXPECT_EQ(core.size(), kKeys);
}

TEST(DramhitPartitions, WithoutSpaceForTheirThreadsThereIsOneError) {
#if defined(HOLDFAST_SANITIZED)
  GTEST_SKIP() << "sanitizers need their address space";
#endif
  const dramhit::Format format{8, 8, 64};
  const dramhit::Engine& engine = dramhit::engine_for(format);
  dramhit::Core core(format, 100'000, 9, {}, false, engine);
  {
    const test::LittleMemory little;
    test::expect_error<SystemError>([&] { const dramhit::Delegation delegation(engine, core, 16); },
                                    "partitions is 64");
  }
  dramhit::Delegation delegation(engine, core, 16);
  std::atomic<unsigned> calls{0};
  delegation.run([&](unsigned, dramhit::Lane&) { ++calls; });
  EXPECT_EQ(calls, 64u) << "there is memory again";
}

TEST(DramhitPartitions, AFullPartitionTakesNoMoreAndTheRestStands) {
  MemoryTable table({.capacity = 1000, .partitions = 2});
  std::uint64_t taken = 0;
  {
    MemoryHandle handle = table.handle();
    for (std::uint64_t i = 0; i < table.slots() * 2; ++i) {
      const std::uint64_t key = test::mix(i);
      taken += handle.put(&key, &i, {}, 1, no_answers);
    }
    ASSERT_TRUE(handle.flush(no_answers));
    EXPECT_LT(taken, table.slots());
    EXPECT_GT(taken, table.slots() * 8 / 10);
    EXPECT_EQ(table.size() + table.stats().partitions.refused, taken);
    const std::uint64_t key = test::mix(0);
    EXPECT_EQ(handle.erase(&key, {}, 1, no_answers), 1u) << "a full partition lets keys go";
    ASSERT_TRUE(handle.flush(no_answers));
  }
  table.clear();
  EXPECT_EQ(table.size(), 0u);
  MemoryHandle handle = table.handle();
  for (std::uint64_t i = 0; i < 1000; ++i) {
    const std::uint64_t key = test::mix(i);
    ASSERT_EQ(handle.put(&key, &i, {}, 1, no_answers), 1u);
  }
  ASSERT_TRUE(handle.flush(no_answers));
  EXPECT_EQ(table.size(), 1000u);
  EXPECT_THROW(table.reserve(1'000'000), InvalidArgument);
  EXPECT_THROW(MemoryTable({.value_bytes = 16, .partitions = 2}), InvalidArgument);
}

}  // namespace
}  // namespace holdfast
