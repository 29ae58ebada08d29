// key_directory_test.cpp: keys that are known to have a copy of their value, where not all buckets have copies: through every kind of change,
// answers are as without them, and no search looks for the slot of a key that is known.
#include <numeric>

#include "fixture.hpp"

namespace holdfast::test {
namespace {

constexpr std::uint32_t kDirectoryValueBytes = 48;
constexpr std::uint64_t kByHand = ~std::uint64_t{0};  ///< no load begins by itself

Shape cached(double buckets, double values, CachePolicy policy, std::uint32_t key_bytes = 8) {
  Shape shape{kDirectoryValueBytes};
  shape.key_bytes = key_bytes;
  shape.cache.bucket_ratio = buckets;
  shape.cache.ratio = values;
  shape.cache.policy = policy;
  shape.cache.load_every = 20000;  // often
  return shape;
}

void all_kinds(GpuTable& gpu, std::size_t rows, std::uint64_t keys) {
  for (const Op op : {Op::insert_or_assign, Op::find, Op::find, Op::assign, Op::find, Op::erase, Op::find_or_insert,
                      Op::accumulate, Op::contains, Op::find}) {
    const bool few = op == Op::erase || op == Op::find_or_insert;
    ASSERT_NO_FATAL_FAILURE(gpu.round(few ? rows / 6 : rows, keys, false, op)) << static_cast<int>(op);
  }
  gpu.table->load_cache();
  for (int i = 0; i < 3; ++i) ASSERT_NO_FATAL_FAILURE(gpu.round(2 * rows, keys + keys / 4, false, Op::find));
  ASSERT_NO_FATAL_FAILURE(gpu.round(rows, keys, true, Op::find));
}

class GpuKeyDirectory : public testing::TestWithParam<std::tuple<double, CachePolicy, std::uint64_t, std::uint32_t>> {};

/// `order_from` of 1: batches go in phases, and searches by address.
TEST_P(GpuKeyDirectory, ChangeNoAnswer) {
  HOLDFAST_NEEDS_GPU();
  const auto [buckets, policy, order_from, key_bytes] = GetParam();
  Shape shape = cached(buckets, 0.4, policy, key_bytes);
  shape.order_from = order_from;
  GpuTable gpu(shape, 2000);
  for (int i = 0; i < 6; ++i) ASSERT_NO_FATAL_FAILURE(all_kinds(gpu, 3000, 4000)) << i;
  gpu.verify();
  EXPECT_GT(gpu.table->stats().value_cache.directory_hits, 0u);
  EXPECT_LT(gpu.table->stats().value_cache.directory_hits, gpu.table->stats().value_cache.hits);
  gpu.table->clear();
  gpu.oracle.clear();
  ASSERT_NO_FATAL_FAILURE(gpu.round(4000, 4000, false, Op::find));
  ASSERT_NO_FATAL_FAILURE(all_kinds(gpu, 3000, 4000));
  ASSERT_NO_FATAL_FAILURE(gpu.round(30000, 40000, false, Op::insert));  // it grows
  ASSERT_NO_FATAL_FAILURE(all_kinds(gpu, 3000, 4000));
  gpu.reopen("cuda");
  ASSERT_NO_FATAL_FAILURE(all_kinds(gpu, 3000, 4000));
  gpu.verify();
}

INSTANTIATE_TEST_SUITE_P(All, GpuKeyDirectory,
                         testing::Combine(testing::Values(0.0, 0.3),
                                          testing::Values(CachePolicy::lfu, CachePolicy::random),
                                          testing::Values(std::uint64_t{0}, std::uint64_t{1}),
                                          testing::Values(8u, 40u)));

/// For the sanitizers, which are slow.
TEST(GpuKeyDirectoryOnce, SmallRoundsOfAllKinds) {
  HOLDFAST_NEEDS_GPU();
  for (const std::uint32_t key_bytes : {8u, 24u}) {
    for (const std::uint64_t order_from : {std::uint64_t{0}, std::uint64_t{1}}) {
      Shape shape = cached(0.3, 0.5, CachePolicy::lfu, key_bytes);
      shape.order_from = order_from;
      GpuTable gpu(shape, 300);
      for (int i = 0; i < 2; ++i) ASSERT_NO_FATAL_FAILURE(all_kinds(gpu, 150, 150)) << i;
      gpu.verify();
    }
  }
}

/// The third search for a key whose value has a copy looks for no slot, until a change of the key.
TEST(GpuKeyDirectoryOnce, AreKnownUntilTheyChange) {
  HOLDFAST_NEEDS_GPU();
  constexpr std::size_t kItems = 20000, kHot = 500, kChanged = 100;
  for (const std::uint64_t order_from : {std::uint64_t{0}, std::uint64_t{1}}) {
    Shape shape = cached(0.0, 0.3, CachePolicy::lfu);
    shape.cache.load_every = kByHand;
    shape.order_from = order_from;
    GpuTable gpu(shape, kItems);
    const auto run = [&](std::size_t n, Op op, std::uint8_t fill) {
      Rows rows(n, kDirectoryValueBytes);
      std::iota(rows.keys.begin(), rows.keys.end(), 2);
      std::fill(rows.values.begin(), rows.values.end(), fill);
      Batch batch = rows.batch();
      batch.op = op;
      batch.mask = nullptr;
      gpu.table->run(batch);
      return rows;
    };
    const auto known = [&] {
      const std::uint64_t before = gpu.table->stats().value_cache.directory_hits;
      run(kHot, Op::find, 0);
      return gpu.table->stats().value_cache.directory_hits - before;
    };
    run(kItems, Op::insert, 1);
    EXPECT_EQ(known(), 0u) << "nothing has a copy";
    for (int i = 0; i < 60; ++i) run(kHot, Op::find, 0);
    for (int i = 0; i < 3; ++i) gpu.table->load_cache();
    EXPECT_EQ(known(), 0u) << "nobody has said so";
    EXPECT_EQ(known(), 0u) << "nobody has confirmed it";
    const auto confirmed_at_last =
        [&] {  // hints that are written at one moment can push one another out, and are written anew
          for (int i = 0; i < 10; ++i) known();
          return known();
        };
    const std::uint64_t all = confirmed_at_last();
    EXPECT_GT(all, kHot * 9 / 10);  // a few may have no copy, since one of four rows is counted, by chance
    EXPECT_EQ(known(), all);
    run(kChanged, Op::assign, 2);
    const std::uint64_t others = known();
    EXPECT_GE(others, all - kChanged);
    EXPECT_LE(others, all - kChanged * 8 / 10);
    const Rows now = run(kHot, Op::find, 0);
    for (std::size_t i = 0; i < kHot; ++i) ASSERT_EQ(now.out[i * kDirectoryValueBytes], i < kChanged ? 2 : 1) << i;
    EXPECT_EQ(confirmed_at_last(), all) << "the new values have copies, which are known in turn";
    run(kChanged, Op::erase, 0);
    const Rows left = run(kHot, Op::find, 0);
    for (std::size_t i = 0; i < kHot; ++i) ASSERT_EQ(left.found[i], i >= kChanged) << i;
  }
}

}  // namespace
}  // namespace holdfast::test
