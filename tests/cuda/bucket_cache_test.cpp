// bucket_cache_test.cpp: copies of a part of the buckets: with each policy and size, through every kind of change and while loads go
// on, answers are as without them.
#include <atomic>
#include <cmath>
#include <numeric>
#include <thread>

#include "fixture.hpp"

namespace holdfast::test {
namespace {

constexpr std::uint64_t kByHand = ~std::uint64_t{0};  ///< no load begins by itself

Shape cached(double ratio, CachePolicy policy, Shape shape = {48}) {
  shape.cache.bucket_ratio = ratio;
  shape.cache.policy = policy;
  shape.cache.load_every = 20000;  // often
  return shape;
}

void all_kinds(GpuTable& gpu, std::size_t rows, std::uint64_t keys) {
  ASSERT_NO_FATAL_FAILURE(gpu.round(rows, keys, false, Op::insert_or_assign));
  ASSERT_NO_FATAL_FAILURE(gpu.round(2 * rows, keys + keys / 4, false, Op::find));
  gpu.table->load_cache();
  ASSERT_NO_FATAL_FAILURE(gpu.round(rows, keys, false, Op::assign));
  ASSERT_NO_FATAL_FAILURE(gpu.round(rows / 6, keys, false, Op::erase));
  ASSERT_NO_FATAL_FAILURE(gpu.round(rows / 6, keys, false, Op::find_or_insert));
  ASSERT_NO_FATAL_FAILURE(gpu.round(rows / 3, keys, true, Op::find));
  ASSERT_NO_FATAL_FAILURE(gpu.round(2 * rows, keys + keys / 4, false, Op::find));
  ASSERT_NO_FATAL_FAILURE(gpu.round(2 * rows, keys + keys / 4, false, Op::contains));
}

class GpuBucketCacheRounds : public testing::TestWithParam<std::tuple<double, CachePolicy, std::uint64_t, Shape>> {};

/// `order_from` of 1: batches go in phases.
TEST_P(GpuBucketCacheRounds, ChangeNoAnswer) {
  HOLDFAST_NEEDS_GPU();
  auto [ratio, policy, order_from, shape] = GetParam();
  shape.order_from = order_from;
  GpuTable gpu(cached(ratio, policy, shape), 2000);
  for (int i = 0; i < 6; ++i) ASSERT_NO_FATAL_FAILURE(all_kinds(gpu, 3000, 4000)) << i;
  gpu.verify();
  const Stats stats = gpu.table->stats();
  EXPECT_NEAR(stats.bucket_cache.ratio, ratio, 0.01);
  EXPECT_EQ(stats.bucket_cache.hits != 0, ratio > 0 && ratio < 1);
  EXPECT_EQ(stats.bucket_cache.loads != 0, ratio > 0 && ratio < 1);
  EXPECT_EQ(stats.work.phased_batches != 0, order_from == 1);
  gpu.table->clear();
  gpu.oracle.clear();
  ASSERT_NO_FATAL_FAILURE(gpu.round(3000, 4000, false, Op::insert));
  ASSERT_NO_FATAL_FAILURE(gpu.round(3000, 4000, false, Op::find));
  gpu.verify();
  gpu.reopen("cuda");
  EXPECT_NEAR(gpu.table->stats().bucket_cache.ratio, ratio, 0.01);
  ASSERT_NO_FATAL_FAILURE(gpu.round(3000, 4000, false, Op::find));
  gpu.verify();
}

INSTANTIATE_TEST_SUITE_P(All, GpuBucketCacheRounds,
                         testing::Combine(testing::Values(0.2, 0.5),
                                          testing::Values(CachePolicy::lfu, CachePolicy::lru, CachePolicy::random),
                                          testing::Values(std::uint64_t{0}, std::uint64_t{1}),
                                          testing::Values(Shape{48}, Shape{8},
                                                          Shape{24, 2, 2, 8, 0, kHalfOfFree, 32})));
INSTANTIATE_TEST_SUITE_P(Ends, GpuBucketCacheRounds,
                         testing::Combine(testing::Values(0.0, 1.0), testing::Values(CachePolicy::lfu),
                                          testing::Values(std::uint64_t{0}, std::uint64_t{1}),
                                          testing::Values(Shape{48}, Shape{8})));
INSTANTIATE_TEST_SUITE_P(OtherShapes, GpuBucketCacheRounds,
                         testing::Combine(testing::Values(0.5), testing::Values(CachePolicy::lfu),
                                          testing::Values(std::uint64_t{0}, std::uint64_t{1}),
                                          testing::Values(Shape{48, 3, 3, 3}, Shape{16, 4, 4, 1}, Shape{0, 1, 4, 8},
                                                          Shape{12, 3, 3, 3, 0, kHalfOfFree, 24})));

/// For the sanitizers, which are slow.
TEST(GpuBucketCache, SmallRoundsOfAllKinds) {
  HOLDFAST_NEEDS_GPU();
  for (const Shape& shape : {Shape{48}, Shape{8}, Shape{8, 2, 2, 8, 0, kHalfOfFree, 24}}) {
    for (const std::uint64_t order_from : {std::uint64_t{0}, std::uint64_t{1}}) {
      Shape with = cached(0.4, CachePolicy::lfu, shape);
      with.order_from = order_from;
      GpuTable gpu(with, 300);
      for (int i = 0; i < 2; ++i) ASSERT_NO_FATAL_FAILURE(all_kinds(gpu, 150, 150)) << i;
      gpu.verify();
    }
  }
}

/// Rows with the keys first, first + 1, …, whose values all are `version` beside the key; none is masked.
Rows numbered_rows(std::size_t n, std::uint32_t value_bytes, std::uint64_t version, std::uint64_t first = 2) {
  Rows rows(n, value_bytes);
  std::iota(rows.keys.begin(), rows.keys.end(), first);
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint64_t word = rows.keys[i] * 1000003 + version;
    for (unsigned at = 0; at < value_bytes; at += 8) std::memcpy(&rows.values[i * value_bytes + at], &word, 8);
  }
  return rows;
}

void run(GpuTable& gpu, Rows& rows, Op op) {
  Batch batch = rows.batch();
  batch.op = op;
  batch.mask = nullptr;
  gpu.table->run(batch);
}

/// What is searched for is loaded, whole, and hits.
TEST(GpuBucketCache, LoadsWhatIsSearchedFor) {
  HOLDFAST_NEEDS_GPU();
  constexpr std::size_t kItems = 20000, kHot = 100;
  for (const CachePolicy policy : {CachePolicy::lfu, CachePolicy::lru}) {
    Shape shape = cached(0.1, policy);
    shape.cache.load_every = kByHand;
    GpuTable gpu(shape, kItems);
    Rows all = numbered_rows(kItems, 48, 0);
    run(gpu, all, Op::insert);
    Rows hot = numbered_rows(kHot, 48, 0);
    const auto hits_of_hot = [&] {
      const std::uint64_t before = gpu.table->stats().bucket_cache.hits;
      run(gpu, hot, Op::find);
      return gpu.table->stats().bucket_cache.hits - before;
    };
    // One of four rows is counted, and that by chance: a few buckets may be left out of a load.
    for (int i = 0; i < 60; ++i) run(gpu, hot, Op::find);
    for (int i = 0; i < 3; ++i) {
      for (int j = 0; j < 60; ++j) run(gpu, hot, Op::find);
      gpu.table->load_cache();
    }
    const std::uint64_t hits = hits_of_hot();
    EXPECT_GT(hits, kHot * 9 / 10);
    EXPECT_EQ(hits_of_hot(), hits) << "membership is frozen between loads";
    Rows changed = numbered_rows(kHot, 48, 1);
    run(gpu, changed, Op::assign);
    EXPECT_EQ(hits_of_hot(), hits) << "a change is written through";
    EXPECT_EQ(0, std::memcmp(hot.out.data(), changed.values.data(), 48 * kHot));
    const CheckReport report = gpu.table->check();
    ASSERT_TRUE(report.errors.empty()) << report.errors.front();
  }
}

/// A version of each key, of those that the writer has begun and ended.
class Versions {
 public:
  explicit Versions(std::size_t n) : least_(n, 0) {}
  /// Counts rows whose version is none of those, or older than one that was seen before.
  void check(const Rows& rows, std::uint32_t bytes, std::size_t changing, std::uint64_t least, std::uint64_t most) {
    for (std::size_t i = 0; i < rows.keys.size(); ++i) {
      std::uint64_t word = 0;
      std::memcpy(&word, &rows.out[i * bytes], 8);
      const std::uint64_t version = word - rows.keys[i] * 1000003;
      bool right = rows.found[i] && (i < changing ? version >= least && version <= most : version == 0);
      for (unsigned at = 0; at < bytes; at += 8) right &= std::memcmp(&rows.out[i * bytes + at], &word, 8) == 0;
      wrong += !right;
      went_back += right && version < least_[i];
      if (right) least_[i] = version;
    }
  }
  std::uint64_t wrong = 0, went_back = 0;

 private:
  std::vector<std::uint64_t> least_;
};

class GpuBucketCacheLoads : public testing::TestWithParam<std::tuple<std::uint32_t, std::uint64_t, double>> {};

/// Loads go on while keys change and are searched for: who has seen a change never sees less.
TEST_P(GpuBucketCacheLoads, RunBesideBatches) {
  HOLDFAST_NEEDS_GPU();
  constexpr std::size_t kItems = 30000, kChanging = kItems / 3;
  constexpr int kLoads = 40;
  const auto [bytes, order_from, values] = GetParam();
  Shape shape = cached(0.3, CachePolicy::lfu, {bytes});
  shape.order_from = order_from;
  shape.cache.ratio = values;
  GpuTable gpu(shape, kItems);
  Rows all = numbered_rows(kItems, bytes, 0);
  run(gpu, all, Op::insert);
  std::atomic<bool> ended = false;
  std::atomic<std::uint64_t> begun = 0, done = 0;
  std::thread loader([&] {
    for (int i = 0; i < kLoads; ++i) gpu.table->load_cache();
    ended = true;
  });
  std::thread writer([&, bytes = bytes] {
    for (std::uint64_t version = 1; !ended; ++version) {
      Rows rows = numbered_rows(kChanging, bytes, version);
      begun = version;
      run(gpu, rows, Op::assign);
      done = version;
      Rows others = numbered_rows(2000, bytes, 0, 1 << 20);  // slots come and go, too
      run(gpu, others, version % 2 == 0 ? Op::erase : Op::insert);
    }
  });
  Versions versions(kItems);
  for (std::uint64_t turn = 0; !ended; ++turn) {
    // Another part of the keys each time, so that loads have something to do.
    const std::size_t n = kItems / (1 + turn % 3);
    Rows rows = numbered_rows(n, bytes, 0);
    const std::uint64_t least = done;
    run(gpu, rows, Op::find);
    versions.check(rows, bytes, std::min(kChanging, n), least, begun);
  }
  loader.join();
  writer.join();
  EXPECT_EQ(versions.wrong, 0u);
  EXPECT_EQ(versions.went_back, 0u);
  EXPECT_GE(gpu.table->stats().bucket_cache.loads, static_cast<std::uint64_t>(kLoads));
  EXPECT_EQ(gpu.table->stats().value_cache.directory_hits != 0, values != 0);
  const CheckReport report = gpu.table->check();
  ASSERT_TRUE(report.errors.empty()) << report.errors.front();
}

INSTANTIATE_TEST_SUITE_P(All, GpuBucketCacheLoads,
                         testing::Combine(testing::Values(8u, 48u), testing::Values(std::uint64_t{0}, std::uint64_t{1}),
                                          testing::Values(0.0)));
/// Keys that change are known, too, and no more.
INSTANTIATE_TEST_SUITE_P(WithValues, GpuBucketCacheLoads,
                         testing::Combine(testing::Values(48u), testing::Values(std::uint64_t{0}, std::uint64_t{1}),
                                          testing::Values(0.5)));

/// Beside a value cache, which has maps of its own.
TEST(GpuBucketCache, GoesWithAValueCache) {
  HOLDFAST_NEEDS_GPU();
  for (const double values : {0.3, 1.0}) {
    Shape shape = cached(0.3, CachePolicy::lfu);
    shape.cache.ratio = values;
    GpuTable gpu(shape, 2000);
    for (int i = 0; i < 6; ++i) ASSERT_NO_FATAL_FAILURE(all_kinds(gpu, 3000, 4000)) << i;
    gpu.verify();
    EXPECT_GT(gpu.table->stats().bucket_cache.hits, 0u);
    EXPECT_GT(gpu.table->stats().value_cache.hits, 0u);
  }
}

TEST(GpuBucketCacheSize, KeepsToItsBudget) {
  HOLDFAST_NEEDS_GPU();
  Shape shape{24};
  shape.gpu_memory = 64 << 10;
  GpuTable gpu(shape, 10000);
  const Stats stats = gpu.table->stats();
  EXPECT_LE(stats.bucket_cache.bytes, shape.gpu_memory + 16);
  EXPECT_GT(stats.bucket_cache.bytes, shape.gpu_memory - 4500);
  EXPECT_GT(stats.bucket_cache.ratio, 0.1);
  EXPECT_LT(stats.bucket_cache.ratio, 0.5);
  for (int i = 0; i < 3; ++i) ASSERT_NO_FATAL_FAILURE(all_kinds(gpu, 6000, 8000)) << i;
  gpu.verify();
}

/// A table that outgrows its budget keeps as many copies as fit, and one that asks for a part keeps the part.
TEST(GpuBucketCacheSize, GrowsWithTheTable) {
  HOLDFAST_NEEDS_GPU();
  for (const double ratio : {0.5, 1.0}) {
    Shape shape = cached(ratio, CachePolicy::lfu, {24});
    if (ratio == 1) shape.gpu_memory = 96 << 10;
    GpuTable gpu(shape, 1000);
    ASSERT_NEAR(gpu.table->stats().bucket_cache.ratio, ratio, 0.01);
    double before = 1;
    for (int i = 1; i <= 5; ++i) {
      ASSERT_NO_FATAL_FAILURE(gpu.round(4000, 4000 * static_cast<std::uint64_t>(i), false, Op::insert_or_assign)) << i;
      const double now = gpu.table->stats().bucket_cache.ratio;
      ASSERT_LE(now, before);
      ASSERT_GT(now, 0);
      before = now;
      ASSERT_NO_FATAL_FAILURE(all_kinds(gpu, 2000, 4000 * static_cast<std::uint64_t>(i))) << i;
      ASSERT_NO_FATAL_FAILURE(gpu.verify()) << i;
    }
    EXPECT_GT(gpu.table->stats().growth.resizes, 0u);
    EXPECT_NEAR(before, ratio < 1 ? ratio : 0.2, ratio < 1 ? 0.01 : 0.2);
  }
}

TEST(GpuBucketCacheSize, RefusesWhatCannotBe) {
  HOLDFAST_NEEDS_GPU();
  for (const double ratio : {-0.1, 1.1, std::nan("")}) {
    EXPECT_THROW(GpuTable(cached(ratio, CachePolicy::lfu)), InvalidArgument) << ratio;
  }
}

}  // namespace
}  // namespace holdfast::test
