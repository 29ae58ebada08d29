// conformance_test.cpp: random batches on a table on the GPU, every answer compared with the oracle's.
#include "fixture.hpp"

namespace holdfast::test {
namespace {

std::string name_of_shape(const testing::TestParamInfo<Shape>& info) {
  const Shape& s = info.param;
  return "value" + std::to_string(s.value_bytes) + "_" + std::to_string(s.levels) + "L" + std::to_string(s.hashes) +
         "H" + std::to_string(s.slots) + "S" +
         (s.order_from == 0   ? ""
          : s.order_from == 1 ? "_phases"
                              : "_unordered") +
         (s.gpu_memory == 0 ? "_uncached" : "") + (s.key_bytes == 8 ? "" : "_key" + std::to_string(s.key_bytes));
}

class GpuConformance : public testing::TestWithParam<Shape> {};

// The tests with Small in their names are those that compute-sanitizer runs: every kernel, a few rows.

TEST_P(GpuConformance, SmallEveryOperationOnFewKeys) {
  HOLDFAST_NEEDS_GPU();
  GpuTable gpu(GetParam());
  ASSERT_TRUE(gpu.table->on_gpu());
  for (unsigned op = 0; op < kOps; ++op) ASSERT_NO_FATAL_FAILURE(gpu.round(50, 40, false, static_cast<Op>(op)));
  for (int i = 0; i < 30; ++i) {
    ASSERT_NO_FATAL_FAILURE(gpu.round(1 + gpu.random() % 60, 40, false, static_cast<Op>(gpu.random() % kOps)));
  }
  gpu.verify();
}

TEST_P(GpuConformance, SmallMixedBatchesWithRepeatedKeysAndGrowth) {
  HOLDFAST_NEEDS_GPU();
  GpuTable gpu(GetParam());
  const std::uint64_t slots = gpu.table->slots();
  for (int i = 0; i < 4; ++i) ASSERT_NO_FATAL_FAILURE(gpu.round(1 + gpu.random() % 300, 30, true, Op::find));
  ASSERT_NO_FATAL_FAILURE(gpu.round(600, 2000, false, Op::insert_or_assign));
  ASSERT_NO_FATAL_FAILURE(gpu.round(600, 2000, true, Op::find));
  EXPECT_GT(gpu.table->slots(), slots);
  ASSERT_NO_FATAL_FAILURE(gpu.verify());
  gpu.reopen("cuda");
  ASSERT_NO_FATAL_FAILURE(gpu.verify());
  gpu.table->clear();
  gpu.oracle.clear();
  gpu.verify();
}

TEST_P(GpuConformance, MixedBatchesOnFewKeys) {
  HOLDFAST_NEEDS_GPU();
  GpuTable gpu(GetParam());
  for (int i = 0; i < 60; ++i) ASSERT_NO_FATAL_FAILURE(gpu.round(1 + gpu.random() % 1000, 30, true, Op::find));
  gpu.verify();
}

TEST_P(GpuConformance, GrowsAndReopensOnBothMachines) {
  HOLDFAST_NEEDS_GPU();
  GpuTable gpu(GetParam());
  const std::uint64_t slots = gpu.table->slots();
  for (int i = 0; i < 4; ++i) {
    ASSERT_NO_FATAL_FAILURE(gpu.round(5000, 20000, false, Op::insert_or_assign));
    ASSERT_NO_FATAL_FAILURE(gpu.round(1000, 20000, false, Op::erase));
    ASSERT_NO_FATAL_FAILURE(gpu.round(10000, 20000, true, Op::find));
    ASSERT_NO_FATAL_FAILURE(gpu.verify());
    gpu.reopen(i % 2 == 0 ? "cpu" : "cuda");
    ASSERT_NO_FATAL_FAILURE(gpu.verify());
    ASSERT_NO_FATAL_FAILURE(gpu.round(2000, 20000, true, Op::find));  // by the machine that has it now
    gpu.reopen("cuda");
    ASSERT_NO_FATAL_FAILURE(gpu.verify());
  }
  EXPECT_GT(gpu.table->slots(), slots);
}

TEST_P(GpuConformance, ClearsAndReserves) {
  HOLDFAST_NEEDS_GPU();
  GpuTable gpu(GetParam());
  ASSERT_NO_FATAL_FAILURE(gpu.round(500, 400, false, Op::insert));
  gpu.table->clear();
  gpu.oracle.clear();
  ASSERT_NO_FATAL_FAILURE(gpu.verify());
  gpu.table->reserve(5000);
  EXPECT_GE(gpu.table->slots(), 5000u);
  const std::uint64_t resizes = gpu.table->stats().growth.resizes;
  std::vector<std::uint64_t> keys(4000);
  for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = 1000 + i;
  const std::vector<std::uint8_t> values(keys.size() * GetParam().value_bytes + 1, 7);
  EXPECT_EQ(gpu.table->insert(keys.data(), values.data(), keys.size()).of(Status::inserted), keys.size());
  // A load of 0.9 fits the paper's configurations without a resize; a single hash location promises less.
  if (GetParam().hashes > 1) {
    EXPECT_EQ(gpu.table->stats().growth.resizes, resizes);
  }
}

INSTANTIATE_TEST_SUITE_P(All, GpuConformance,
                         testing::Values(Shape{0, 2, 2, 8}, Shape{4, 2, 2, 8}, Shape{8, 2, 2, 8}, Shape{12, 2, 2, 8},
                                         Shape{128, 2, 2, 8}, Shape{1000, 2, 2, 8}, Shape{24, 4, 2, 4},
                                         Shape{8, 1, 4, 8}, Shape{16, 3, 3, 3}, Shape{12, 2, 2, 8, 1},
                                         Shape{128, 2, 2, 8, 1}, Shape{1000, 2, 2, 8, 1}, Shape{16, 3, 3, 3, 1},
                                         Shape{12, 2, 2, 8, kNeverOrdered}, Shape{128, 2, 2, 8, kNeverOrdered},
                                         Shape{8, 2, 2, 8, 0, 0}, Shape{128, 2, 2, 8, 0, 0}, Shape{16, 3, 3, 3, 0, 0}),
                         name_of_shape);
constexpr std::uint64_t kCached = kHalfOfFree;
INSTANTIATE_TEST_SUITE_P(WideKeys, GpuConformance,
                         testing::Values(Shape{0, 2, 2, 8, 0, kCached, 16}, Shape{8, 2, 2, 8, 0, kCached, 128},
                                         Shape{128, 2, 2, 8, 0, kCached, 32}, Shape{12, 2, 2, 8, 1, kCached, 24},
                                         Shape{128, 2, 2, 8, 1, kCached, 128}, Shape{16, 3, 3, 3, 1, kCached, 64},
                                         Shape{8, 1, 4, 8, 0, kCached, 16}, Shape{128, 2, 2, 8, 0, 0, 128},
                                         Shape{8, 2, 2, 8, 0, 0, 24}, Shape{16, 3, 3, 3, 0, 0, 32}),
                         name_of_shape);

}  // namespace
}  // namespace holdfast::test
