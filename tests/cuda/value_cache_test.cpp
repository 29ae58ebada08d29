// value_cache_test.cpp: the value cache: with each policy and size, through every kind of change, answers are as without it.
#include <atomic>
#include <cmath>
#include <numeric>
#include <thread>

#include "fixture.hpp"

namespace holdfast::test {
namespace {

constexpr std::uint32_t kBytes = 48;

Shape cached(double ratio, CachePolicy policy, std::uint64_t order_from) {
  Shape shape{kBytes, 2, 2, 8, order_from};
  shape.cache.ratio = ratio;
  shape.cache.policy = policy;
  shape.cache.load_every = 20000;  // often
  return shape;
}

class GpuValueCacheRounds : public testing::TestWithParam<std::tuple<double, CachePolicy, std::uint64_t>> {};

/// `order_from` of 1: searches and changes of one kind go in phases; else operation by operation.
TEST_P(GpuValueCacheRounds, ChangeNoAnswer) {
  HOLDFAST_NEEDS_GPU();
  const auto [ratio, policy, order_from] = GetParam();
  GpuTable gpu(cached(ratio, policy, order_from), 2000);
  for (int i = 0; i < 12; ++i) {
    ASSERT_NO_FATAL_FAILURE(gpu.round(3000, 4000, false, Op::insert_or_assign)) << i;
    ASSERT_NO_FATAL_FAILURE(gpu.round(6000, 5000, false, Op::find)) << i;
    gpu.table->load_cache();
    ASSERT_NO_FATAL_FAILURE(gpu.round(2000, 4000, false, Op::assign)) << i;
    ASSERT_NO_FATAL_FAILURE(gpu.round(500, 4000, false, Op::erase)) << i;
    ASSERT_NO_FATAL_FAILURE(gpu.round(500, 4000, false, Op::accumulate)) << i;
    ASSERT_NO_FATAL_FAILURE(gpu.round(500, 4000, false, Op::find_or_insert)) << i;
    ASSERT_NO_FATAL_FAILURE(gpu.round(1000, 5000, true, Op::find)) << i;
    ASSERT_NO_FATAL_FAILURE(gpu.round(6000, 5000, false, Op::find)) << i;
  }
  gpu.verify();
  EXPECT_GT(gpu.table->stats().value_cache.values, 0u);
  EXPECT_GT(gpu.table->stats().value_cache.hits, 0u);
  gpu.table->clear();
  gpu.oracle.clear();
  ASSERT_NO_FATAL_FAILURE(gpu.round(3000, 4000, false, Op::insert));
  ASSERT_NO_FATAL_FAILURE(gpu.round(3000, 4000, false, Op::find));
  gpu.reopen("cuda");
  ASSERT_NO_FATAL_FAILURE(gpu.round(3000, 4000, false, Op::find));
  gpu.verify();
}

INSTANTIATE_TEST_SUITE_P(All, GpuValueCacheRounds,
                         testing::Combine(testing::Values(0.2, 1.0),
                                          testing::Values(CachePolicy::lfu, CachePolicy::lru, CachePolicy::random),
                                          testing::Values(std::uint64_t{0}, std::uint64_t{1})));

/// For the sanitizers, which are slow.
TEST(GpuValueCache, SmallRoundsOfAllKinds) {
  HOLDFAST_NEEDS_GPU();
  for (const double ratio : {0.4, 1.0}) {
    for (const std::uint64_t order_from : {std::uint64_t{0}, std::uint64_t{1}}) {
      GpuTable gpu(cached(ratio, CachePolicy::lfu, order_from), 2000);
      for (int i = 0; i < 2; ++i) {
        ASSERT_NO_FATAL_FAILURE(gpu.round(200, 150, false, Op::insert_or_assign));
        for (int j = 0; j < 8; ++j) ASSERT_NO_FATAL_FAILURE(gpu.round(200, 150, false, Op::find));
        gpu.table->load_cache();
        ASSERT_NO_FATAL_FAILURE(gpu.round(100, 150, false, Op::accumulate));
        ASSERT_NO_FATAL_FAILURE(gpu.round(200, 150, true, Op::find));
        ASSERT_NO_FATAL_FAILURE(gpu.round(50, 150, false, Op::erase));
        ASSERT_NO_FATAL_FAILURE(gpu.round(200, 150, false, Op::find));
      }
      gpu.verify();
    }
  }
}

/// How a batch of distinct keys changes a table.
struct Way {
  const char* name;
  std::uint64_t order_from;  ///< 1: in phases where the operation can go in phases
  Op op;
  bool mixed;
};

class GpuValueCacheChange : public testing::TestWithParam<std::tuple<Way, double, std::uint64_t>> {};

/// The rows 0, 1, 2, … with random values, none masked.
Rows distinct_rows(GpuTable& gpu, std::size_t n) {
  Rows rows(n, kBytes);
  std::iota(rows.keys.begin(), rows.keys.end(), 0);
  for (std::uint8_t& byte : rows.values) byte = static_cast<std::uint8_t>(gpu.random());
  return rows;
}

void run_distinct(GpuTable& gpu, std::size_t n, Op op, bool mixed) {
  Rows rows = distinct_rows(gpu, n);
  std::fill(rows.ops.begin(), rows.ops.end(), static_cast<std::uint8_t>(op));
  Batch batch = rows.batch();
  batch.op = op;
  batch.ops = mixed ? rows.ops.data() : nullptr;
  batch.mask = nullptr;
  gpu.table->run(batch);
  gpu.compare(rows, batch);
}

/// A changed key keeps its copy, which holds what the pool does.
TEST_P(GpuValueCacheChange, WritesThrough) {
  HOLDFAST_NEEDS_GPU();
  constexpr std::size_t kItems = 600, kChanged = 200;
  const auto [way, ratio, gpu_memory] = GetParam();
  Shape shape = cached(ratio, CachePolicy::random, way.order_from);  // this policy loads whatever is there
  shape.cache.load_every = ~std::uint64_t{0};
  shape.gpu_memory = gpu_memory;
  GpuTable gpu(shape, 2000);
  ASSERT_NO_FATAL_FAILURE(run_distinct(gpu, kItems, Op::insert, false));
  gpu.table->load_cache();
  for (int turn = 0; turn < 5; ++turn) {
    ASSERT_NO_FATAL_FAILURE(run_distinct(gpu, kChanged, way.op, way.mixed)) << turn;
    if (way.op == Op::erase) {
      ASSERT_NO_FATAL_FAILURE(run_distinct(gpu, kChanged, Op::insert, false)) << turn;
    }
    const std::uint64_t before = gpu.table->stats().value_cache.hits;
    ASSERT_NO_FATAL_FAILURE(run_distinct(gpu, kItems, Op::find, false)) << turn;
    const bool lost = way.op == Op::erase && ratio < 1;  // what is inserted has no copy before the next load
    EXPECT_EQ(gpu.table->stats().value_cache.hits - before, lost ? kItems - kChanged : kItems) << turn;
    // Reads of a mixed batch find copies too, where it goes in phases.
    const Stats stats = gpu.table->stats();
    ASSERT_NO_FATAL_FAILURE(run_distinct(gpu, kItems, Op::find, true)) << turn;
    if (gpu.table->stats().work.phased_batches != stats.work.phased_batches) {
      EXPECT_EQ(gpu.table->stats().value_cache.hits - stats.value_cache.hits, lost ? kItems - kChanged : kItems)
          << turn;
    }
    const CheckReport report = gpu.table->check();
    ASSERT_TRUE(report.errors.empty()) << report.errors.front();
  }
  gpu.verify();
}

std::string name_of_change(const testing::TestParamInfo<GpuValueCacheChange::ParamType>& info) {
  const auto& [way, ratio, gpu_memory] = info.param;
  return std::string(way.name) + (ratio < 1 ? "_some" : "_all") + (gpu_memory == 0 ? "_buckets_in_pool" : "");
}

INSTANTIATE_TEST_SUITE_P(
    All, GpuValueCacheChange,
    testing::Combine(testing::Values(Way{"assign_phased", 1, Op::assign, false}, Way{"assign", 0, Op::assign, false},
                                     Way{"upsert_phased", 1, Op::insert_or_assign, false},
                                     Way{"accumulate", 1, Op::accumulate, false}, Way{"mixed", 1, Op::assign, true},
                                     Way{"erase_phased", 1, Op::erase, false}, Way{"erase", 0, Op::erase, false}),
                     testing::Values(0.9, 1.0), testing::Values(kHalfOfFree, std::uint64_t{0})),
    name_of_change);

/// Loads go on while keys change and are searched for.
TEST(GpuValueCacheLoad, RunsBesideBatches) {
  HOLDFAST_NEEDS_GPU();
  constexpr std::size_t kItems = 30000;
  constexpr int kLoads = 40;
  for (const std::uint64_t order_from : {std::uint64_t{0}, std::uint64_t{1}}) {
    GpuTable gpu(cached(0.3, CachePolicy::lfu, order_from), kItems);
    const auto fill = [](Rows& rows, std::uint64_t version) {
      for (std::size_t i = 0; i < rows.keys.size(); ++i) {
        for (unsigned w = 0; w < kBytes / 8; ++w) {
          const std::uint64_t word = rows.keys[i] * 1000003 + version;
          std::memcpy(&rows.values[i * kBytes + 8 * w], &word, 8);
        }
      }
    };
    Rows all = distinct_rows(gpu, kItems);
    fill(all, 0);
    Batch insert = all.batch();
    insert.op = Op::insert;
    gpu.table->run(insert);
    std::atomic<bool> ended = false;
    std::atomic<std::uint64_t> begun = 0, done = 0;
    std::thread loader([&] {
      for (int i = 0; i < kLoads; ++i) gpu.table->load_cache();
      ended = true;
    });
    std::thread writer([&] {
      Rows rows = distinct_rows(gpu, kItems / 3);
      for (std::uint64_t version = 1; !ended; ++version) {
        fill(rows, version);
        Batch batch = rows.batch();
        batch.op = Op::assign;
        begun = version;
        gpu.table->run(batch);
        done = version;
      }
    });
    std::uint64_t wrong = 0;
    Rows rows = distinct_rows(gpu, kItems);
    while (!ended) {
      const std::uint64_t least = done;
      Batch batch = rows.batch();
      batch.op = Op::find;
      gpu.table->run(batch);
      const std::uint64_t most = begun;
      for (std::size_t i = 0; i < kItems; ++i) {
        std::uint64_t words[kBytes / 8];
        std::memcpy(words, &rows.out[i * kBytes], kBytes);
        const std::uint64_t version = words[0] - rows.keys[i] * 1000003;
        bool right = rows.found[i] && (i < kItems / 3 ? version >= least && version <= most : version == 0);
        for (const std::uint64_t word : words) right &= word == words[0];
        wrong += !right;
      }
    }
    loader.join();
    writer.join();
    EXPECT_EQ(wrong, 0u);
    const Stats stats = gpu.table->stats();
    EXPECT_GE(stats.value_cache.loads, static_cast<std::uint64_t>(kLoads));
    EXPECT_EQ(stats.value_cache.policy, "lfu");
    const CheckReport report = gpu.table->check();
    ASSERT_TRUE(report.errors.empty()) << report.errors.front();
  }
}

TEST(GpuValueCacheSize, SaysWhatItHolds) {
  HOLDFAST_NEEDS_GPU();
  GpuTable all(cached(1, CachePolicy::lfu, 0), 2000);
  EXPECT_EQ(all.table->stats().value_cache.ratio, 1);
  EXPECT_EQ(all.table->stats().value_cache.values, all.table->stats().space.cells);
  all.table->close();
  GpuTable some(cached(0.25, CachePolicy::lfu, 0), 2000);
  EXPECT_NEAR(some.table->stats().value_cache.ratio, 0.25, 0.001);
  EXPECT_EQ(some.table->stats().value_cache.values, 0u) << "before the first load";
  some.table->close();
  GpuTable none(Shape{kBytes});
  EXPECT_EQ(none.table->stats().value_cache.policy, "");
}

/// A load of nothing new lets go of nothing, and a table that grows keeps its ratio and its copies.
TEST(GpuValueCacheSize, GrowsWithTheTable) {
  HOLDFAST_NEEDS_GPU();
  for (const double ratio : {0.25, 1.0}) {
    GpuTable gpu(cached(ratio, CachePolicy::random, 1), 1000);
    ASSERT_NO_FATAL_FAILURE(run_distinct(gpu, 900, Op::insert, false));
    for (int i = 0; i < 3; ++i) gpu.table->load_cache();
    const std::uint64_t copies = gpu.table->stats().value_cache.values;
    EXPECT_GT(copies, 0u);
    ASSERT_NO_FATAL_FAILURE(run_distinct(gpu, 20000, Op::insert_or_assign, false));
    const Stats stats = gpu.table->stats();
    EXPECT_GT(stats.growth.heap_growths, 0u);
    EXPECT_NEAR(stats.value_cache.ratio, ratio, 0.001);
    for (int i = 0; i < 3; ++i) gpu.table->load_cache();
    EXPECT_GT(gpu.table->stats().value_cache.values, copies);
    ASSERT_NO_FATAL_FAILURE(run_distinct(gpu, 20000, Op::find, false));
    gpu.verify();
  }
}

/// A budget that has room for some copies only holds those.
TEST(GpuValueCacheSize, KeepsToItsBudget) {
  HOLDFAST_NEEDS_GPU();
  Shape shape = cached(1, CachePolicy::random, 0);
  shape.cache.memory = 64 << 10;
  GpuTable gpu(shape, 2000);
  ASSERT_NO_FATAL_FAILURE(run_distinct(gpu, 1500, Op::insert, false));
  gpu.table->load_cache();
  const Stats stats = gpu.table->stats();
  EXPECT_LE(stats.value_cache.bytes, shape.cache.memory);
  EXPECT_GT(stats.value_cache.values, 0u);
  EXPECT_LT(stats.value_cache.ratio, 1);
  ASSERT_NO_FATAL_FAILURE(run_distinct(gpu, 1500, Op::find, false));
  EXPECT_GT(gpu.table->stats().value_cache.hits, 0u);
  gpu.verify();
}

TEST(GpuValueCacheSize, RefusesWhatCannotBe) {
  HOLDFAST_NEEDS_GPU();
  for (const double ratio : {-0.1, 1.1, std::nan("")}) {
    EXPECT_THROW(GpuTable(cached(ratio, CachePolicy::lfu, 0)), InvalidArgument) << ratio;
  }
  EXPECT_THROW(GpuTable(cached(0.2, static_cast<CachePolicy>(3), 0)), InvalidArgument);
  Shape greedy = cached(0.2, CachePolicy::lfu, 0);
  greedy.cache.memory = std::uint64_t{1} << 50;
  try {
    GpuTable{greedy};
    ADD_FAILURE() << "a budget of more memory than there is";
  } catch (const DeviceError& error) {
    EXPECT_NE(std::string(error.what()).find("value_memory allows"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("bytes of GPU memory are free"), std::string::npos) << error.what();
  }
  Shape buckets{kBytes};
  buckets.gpu_memory = std::uint64_t{1} << 50;
  EXPECT_THROW(GpuTable{buckets}, DeviceError);
}

}  // namespace
}  // namespace holdfast::test
