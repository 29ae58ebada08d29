// phases_test.cpp: batches that go phase by phase: every kind, mixed ones too, and that they do go so.
#include "device_arrays.hpp"

namespace holdfast::test {
namespace {

/// YCSB's kind of batch, one that changes more, and all that a batch can hold.
const std::vector<std::vector<Op>> kMixes = {
    {Op::find, Op::assign},
    {Op::find, Op::contains, Op::insert, Op::insert_or_assign, Op::assign, Op::erase, Op::find_or_insert,
     Op::insert_and_find},
    {Op::find, Op::erase, Op::find_or_insert, Op::accumulate},
    {Op::find, Op::assign, Op::accumulate},
};

void choose_ops(GpuTable& gpu, Rows& rows, const std::vector<Op>& mix) {
  for (std::uint8_t& op : rows.ops) op = static_cast<std::uint8_t>(mix[gpu.random() % mix.size()]);
}

/// One mixed batch from host memory.
void mixed_round(GpuTable& gpu, std::size_t n, std::uint64_t key_range, const std::vector<Op>& mix) {
  Rows rows = gpu.some_rows(n, key_range, true, Op::find);
  choose_ops(gpu, rows, mix);
  Batch batch = rows.batch();
  batch.ops = rows.ops.data();
  batch.accumulate = Accumulate{.element = Element::u32};
  gpu.table->run(batch);
  gpu.compare(rows, batch);
}

class GpuPhases : public testing::TestWithParam<Shape> {};

TEST_P(GpuPhases, SmallMixedBatches) {
  HOLDFAST_NEEDS_GPU();
  Shape shape = GetParam();
  shape.order_from = 1;
  GpuTable gpu(shape, 4000);
  for (int i = 0; i < 8; ++i) {
    for (const auto& mix : kMixes) {
      const std::uint64_t before = gpu.table->stats().work.phased_batches;
      ASSERT_NO_FATAL_FAILURE(mixed_round(gpu, 1 + gpu.random() % 300, i < 4 ? 20 : 500, mix));
      EXPECT_EQ(gpu.table->stats().work.phased_batches, before + 1);
    }
  }
  gpu.verify();
}

TEST_P(GpuPhases, MixedBatchesWithHotKeys) {
  HOLDFAST_NEEDS_GPU();
  GpuTable gpu(GetParam(), 200000);
  for (const std::uint64_t range : {1ull, 3ull, 1000ull, 60000ull}) {
    for (const auto& mix : kMixes) {
      const std::uint64_t before = gpu.table->stats().work.phased_batches;
      ASSERT_NO_FATAL_FAILURE(mixed_round(gpu, 20000, range, mix)) << range;
      EXPECT_EQ(gpu.table->stats().work.phased_batches, before + 1);
    }
    ASSERT_NO_FATAL_FAILURE(gpu.round(20000, range, false, Op::find)) << range;
  }
  gpu.verify();
}

TEST_P(GpuPhases, BatchesOfOneKindWithHotKeys) {
  HOLDFAST_NEEDS_GPU();
  GpuTable gpu(GetParam(), 200000);
  for (const std::uint64_t range : {2ull, 30000ull}) {
    for (const Op op : {Op::accumulate, Op::find_or_insert, Op::insert_and_find, Op::assign, Op::erase, Op::insert,
                        Op::accumulate, Op::find_or_insert, Op::insert_and_find, Op::insert_or_assign}) {
      const std::uint64_t before = gpu.table->stats().work.phased_batches;
      ASSERT_NO_FATAL_FAILURE(gpu.round(20000, range, false, op)) << int(op);
      EXPECT_EQ(gpu.table->stats().work.phased_batches, before + 1) << int(op);
    }
  }
  gpu.verify();
}

INSTANTIATE_TEST_SUITE_P(Values, GpuPhases,
                         testing::Values(Shape{0}, Shape{4}, Shape{8}, Shape{12}, Shape{16}, Shape{128}, Shape{1000},
                                         Shape{12, 2, 2, 8, 0, kHalfOfFree, 24}, Shape{8, 2, 2, 8, 0, kHalfOfFree, 128},
                                         Shape{0, 2, 2, 8, 0, kHalfOfFree, 32}, Shape{128, 2, 2, 8, 0, kHalfOfFree, 16},
                                         Shape{128, 2, 2, 8, 0, kHalfOfFree, 128},
                                         Shape{16, 3, 3, 3, 0, kHalfOfFree, 32}));

TEST(GpuPhases, LargeInsertsIntoASmallTableGrowItAndGoInPhasesWhereThereIsSpace) {
  HOLDFAST_NEEDS_GPU();
  GpuTable gpu({16}, 1000);
  ASSERT_NO_FATAL_FAILURE(gpu.round(100000, 1ull << 40, false, Op::insert));
  gpu.table->reserve(400000);
  const std::uint64_t before = gpu.table->stats().work.phased_batches;
  ASSERT_NO_FATAL_FAILURE(gpu.round(100000, 1ull << 40, false, Op::insert));
  EXPECT_EQ(gpu.table->stats().work.phased_batches, before + 1);
  ASSERT_NO_FATAL_FAILURE(mixed_round(gpu, 100000, 150000, kMixes[1]));
  gpu.verify();
}

/// Arrays in GPU memory, of two batches in flight.
TEST(GpuPhases, MixedBatchesOfDeviceArrays) {
  HOLDFAST_NEEDS_GPU();
  GpuTable gpu({128}, 200000);
  for (const auto& mix : kMixes) {
    Rows rows[2] = {gpu.some_rows(30000, 40000, true, Op::find), gpu.some_rows(30000, 40000, true, Op::find)};
    for (Rows& r : rows) choose_ops(gpu, r, mix);
    const GpuRows on_gpu[2] = {GpuRows(gpu, rows[0]), GpuRows(gpu, rows[1])};
    const TestStream streams[2];
    Batch batches[2];
    for (int i = 0; i < 2; ++i) {
      batches[i] = on_gpu[i].batch(streams[i].stream);
      batches[i].ops = on_gpu[i].ops();
      gpu.table->run(batches[i]);
    }
    for (int i = 0; i < 2; ++i) {
      streams[i].wait();
      on_gpu[i].copy_back(rows[i]);
      ASSERT_NO_FATAL_FAILURE(gpu.compare(rows[i], batches[i])) << i;
    }
  }
  gpu.verify();
}

}  // namespace
}  // namespace holdfast::test
