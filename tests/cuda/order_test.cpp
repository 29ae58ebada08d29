// order_test.cpp: how changing batches are put in order: keys with one prefix of their hashes, and batches that are ordered while
// the ones before them run.
#include <algorithm>

#include "core/hash.hpp"
#include "device_arrays.hpp"

namespace holdfast::test {
namespace {

/// The key of 8 bytes that has this hash.
std::uint64_t key_with_hash(std::uint64_t hash) {
  constexpr std::uint64_t kFactor = 0xd6e8'feb8'6659'fd93;  // of holdfast::mix
  std::uint64_t inverse = 1;
  for (int i = 0; i < 6; ++i) inverse *= 2 - kFactor * inverse;
  std::uint64_t x = hash ^ kSeed;
  x ^= x >> 32;
  for (int i = 0; i < 2; ++i) {
    x *= inverse;
    x ^= x >> 32;
  }
  return x - kSeed;
}

/// Keys of which so many at a time share the first half of their hashes.
std::uint64_t crowded_key(std::uint64_t number, std::uint64_t crowd) {
  return key_with_hash(mix(number / crowd) << 32 | (number * 0x9e37'79b9 & 0xffff'ffff));
}

TEST(GpuOrder, TheTestMakesKeysOfItsHashes) {
  for (const std::uint64_t hash : {0ull, 1ull, 0x1234'5678'9abc'def0ull, ~0ull})
    EXPECT_EQ(hash_key(key_with_hash(hash), kSeed), hash);
}

void crowded_round(GpuTable& gpu, std::size_t n, std::uint64_t range, std::uint64_t crowd, bool mixed, Op op) {
  Rows rows = gpu.some_rows(n, range, mixed, op);
  for (std::uint64_t& key : rows.keys) key = crowded_key(key % range, crowd);
  Batch batch = rows.batch();
  batch.op = op;
  batch.ops = mixed ? rows.ops.data() : nullptr;
  if (!mixed) std::fill(rows.ops.begin(), rows.ops.end(), static_cast<std::uint8_t>(op));
  batch.accumulate = Accumulate{.element = Element::u32};
  gpu.table->run(batch);
  gpu.compare(rows, batch);
}

class GpuOrder : public testing::TestWithParam<Shape> {};

/// In phases, and operation by operation. A crowd is larger than a warp, or than a block.
TEST_P(GpuOrder, KeysThatShareAPrefixAreToldApart) {
  HOLDFAST_NEEDS_GPU();
  for (const std::uint64_t crowd : {2ull, 40ull, 1000ull}) {
    GpuTable gpu(GetParam(), 60000);
    for (const Op op : {Op::insert_or_assign, Op::accumulate, Op::erase, Op::insert}) {
      ASSERT_NO_FATAL_FAILURE(crowded_round(gpu, 20000, 5000, crowd, false, op)) << crowd;
      ASSERT_NO_FATAL_FAILURE(crowded_round(gpu, 3000, 5000, crowd, true, Op::find)) << crowd;
    }
    ASSERT_NO_FATAL_FAILURE(crowded_round(gpu, 20000, 5000, crowd, true, Op::find)) << crowd;
    ASSERT_NO_FATAL_FAILURE(gpu.verify());
  }
}

TEST_P(GpuOrder, SmallKeysThatShareAPrefixAreToldApart) {
  HOLDFAST_NEEDS_GPU();
  Shape shape = GetParam();
  shape.order_from = 1;
  GpuTable gpu(shape, 2000);
  for (int i = 0; i < 3; ++i) {
    ASSERT_NO_FATAL_FAILURE(crowded_round(gpu, 300, 100, 40, false, Op::insert_or_assign));
    ASSERT_NO_FATAL_FAILURE(crowded_round(gpu, 300, 100, 3, true, Op::find));
  }
  gpu.verify();
}

/// More batches in flight than there are rooms to order them in, of growing sizes, with repeated keys and rows left out.
TEST_P(GpuOrder, BatchesAreOrderedWhileOthersRun) {
  HOLDFAST_NEEDS_GPU();
  constexpr int kBatches = 9, kStreams = 3;
  GpuTable gpu(GetParam(), 400000);
  const TestStream streams[kStreams];
  std::vector<Rows> rows;
  std::vector<std::unique_ptr<GpuRows>> on_gpu;
  for (std::size_t i = 0; i < kBatches; ++i) {
    rows.push_back(gpu.some_rows(2000 + 5000 * i, 30000, true, Op::find));
    on_gpu.push_back(std::make_unique<GpuRows>(gpu, rows.back()));
  }
  std::vector<Batch> batches;
  for (int i = 0; i < kBatches; ++i) {
    Batch batch = on_gpu[i]->batch(streams[i % kStreams].stream);
    batch.ops = on_gpu[i]->ops();
    batch.accumulate = Accumulate{.element = Element::u32};
    gpu.table->run(batch);
    batches.push_back(batch);
  }
  for (int i = 0; i < kBatches; ++i) {
    streams[i % kStreams].wait();
    on_gpu[i]->copy_back(rows[i]);
    ASSERT_NO_FATAL_FAILURE(gpu.compare(rows[i], batches[i])) << i;
  }
  gpu.verify();
}

INSTANTIATE_TEST_SUITE_P(Values, GpuOrder, testing::Values(Shape{8}, Shape{32}));

}  // namespace
}  // namespace holdfast::test
