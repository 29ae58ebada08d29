// pipelining_test.cpp: large batches of which the first rows go ahead: searches whose values are gathered in two parts
// (structures/gphash/cuda/search/pipelining.cu), and changes that are planned in two (change/plan_ahead.cpp).
#include <algorithm>

#include "device_arrays.hpp"

namespace holdfast::test {
namespace {

constexpr std::uint64_t kItems = 30000;

/// Of a heap of some MB about a thousand rows go first; with order_from = 1 batches of twice to eight times as many do.
Shape small_heap(std::uint32_t value_bytes, std::uint32_t key_bytes = 8) {
  Shape shape;
  shape.value_bytes = value_bytes;
  shape.key_bytes = key_bytes;
  shape.order_from = 1;
  return shape;
}

void fill(GpuTable& gpu) {
  for (int i = 0; i < 3; ++i) ASSERT_NO_FATAL_FAILURE(gpu.round(kItems, 2 * kItems, false, Op::insert_or_assign));
}

class GpuPipelining : public testing::TestWithParam<Shape> {};

/// Sizes on both sides of every limit, keys that are not there, rows that are masked.
TEST_P(GpuPipelining, SearchesOfManySizes) {
  HOLDFAST_NEEDS_GPU();
  GpuTable gpu(GetParam(), 2 * kItems);
  ASSERT_NO_FATAL_FAILURE(fill(gpu));
  for (std::size_t n = 100; n < 40000; n = n * 5 / 4 + 1)
    ASSERT_NO_FATAL_FAILURE(gpu.round(n, 2 * kItems, false, Op::find)) << n << " rows";
}

/// The rows of few keys all lie in few stretches of the heap, so both parts are gathered together; in the next batch they are not.
TEST_P(GpuPipelining, SearchesOfHotKeys) {
  HOLDFAST_NEEDS_GPU();
  GpuTable gpu(GetParam(), 2 * kItems);
  ASSERT_NO_FATAL_FAILURE(fill(gpu));
  for (std::size_t n = 500; n < 20000; n *= 2) {
    for (const std::uint64_t range : {std::uint64_t{2}, std::uint64_t{40}, 2 * kItems})
      ASSERT_NO_FATAL_FAILURE(gpu.round(n, range, false, Op::find)) << n << " rows of " << range << " keys";
  }
}

/// Crowded and spread batches in flight at once, on streams of their own.
TEST_P(GpuPipelining, SearchesBesideEachOther) {
  HOLDFAST_NEEDS_GPU();
  constexpr int kBatches = 12, kStreams = 3;
  GpuTable gpu(GetParam(), 2 * kItems);
  ASSERT_NO_FATAL_FAILURE(fill(gpu));
  const TestStream streams[kStreams];
  std::vector<Rows> rows;
  std::vector<std::unique_ptr<GpuRows>> on_gpu;
  for (std::size_t i = 0; i < kBatches; ++i) {
    rows.push_back(gpu.some_rows(3000 + 500 * i, i % 3 == 0 ? 4 : 2 * kItems, false, Op::find));
    on_gpu.push_back(std::make_unique<GpuRows>(gpu, rows.back()));
  }
  std::vector<Batch> batches;
  for (int i = 0; i < kBatches; ++i) {
    batches.push_back(on_gpu[i]->batch(streams[i % kStreams].stream));
    gpu.table->run(batches.back());
  }
  for (int i = 0; i < kBatches; ++i) {
    streams[i % kStreams].wait();
    on_gpu[i]->copy_back(rows[i]);
    ASSERT_NO_FATAL_FAILURE(gpu.compare(rows[i], batches[i])) << i;
  }
}

/// Planned in two parts, whose values are placed apart: new keys, old ones, repeated ones, and more than there is room for at first.
TEST_P(GpuPipelining, Changes) {
  HOLDFAST_NEEDS_GPU();
  GpuTable gpu(GetParam(), 1000);
  for (const std::size_t n : {1u, 7u, 8u, 15u, 16u, 17u, 100u, 5000u, 30000u}) {
    for (const Op op : {Op::insert, Op::insert_or_assign, Op::assign, Op::erase, Op::insert})
      ASSERT_NO_FATAL_FAILURE(gpu.round(n, n, false, op)) << n << " rows, op " << int(op);
    ASSERT_NO_FATAL_FAILURE(gpu.round(n, 3, false, Op::insert_or_assign)) << n << " rows of 3 keys";
  }
  gpu.verify();
}

INSTANTIATE_TEST_SUITE_P(Values, GpuPipelining,
                         testing::Values(small_heap(16), small_heap(20), small_heap(128), small_heap(400),
                                         small_heap(128, 16)));

}  // namespace
}  // namespace holdfast::test
