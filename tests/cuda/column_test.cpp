// column_test.cpp: batches about columns of values on the GPU: searches and changes of every kind, however values are found.
#include <thread>

#include "device_arrays.hpp"

namespace holdfast::test {
namespace {

std::string name_of_columns(const testing::TestParamInfo<Shape>& info) {
  const Shape& s = info.param;
  std::string name = "value" + std::to_string(s.value_bytes) + "_" + std::to_string(s.levels) + "L";
  if (s.order_from != 0) name += s.order_from == 1 ? "_phases" : "_unordered";
  if (s.gpu_memory == 0) name += "_uncached";
  if (s.cache.bucket_ratio < 1) name += "_some_buckets";
  if (s.cache.ratio != 0) name += s.cache.ratio < 1 ? "_some_values" : "_all_values";
  if (s.score != Score::none) name += std::string("_") + holdfast::name(s.score);
  return name + (s.key_bytes == 8 ? "" : "_key" + std::to_string(s.key_bytes));
}

/// Copies are loaded often.
Shape often(Shape shape) {
  shape.cache.load_every = 20000;
  return shape;
}

Shape with_caches(Shape shape, double values, double buckets = 1) {
  shape.cache.ratio = values;
  shape.cache.bucket_ratio = buckets;
  return shape;
}

Shape with_scores(Shape shape, Score score) {
  shape.score = score;
  return shape;
}

constexpr std::uint32_t kUnits[] = {1, 4, 8,
                                    16};  ///< how columns begin and how long they are: at any byte, or at whole words

class GpuColumns : public testing::TestWithParam<Shape> {};

TEST_P(GpuColumns, SmallEveryOperationAgreesWithAModel) {
  HOLDFAST_NEEDS_GPU();
  GpuTable columns(often(GetParam()));
  for (int i = 0; i < 3; ++i) {
    for (const std::uint32_t unit : kUnits) ASSERT_NO_FATAL_FAILURE(columns.rounds(60, 50, unit));
  }
  columns.verify();
}

TEST_P(GpuColumns, BatchesOfAllSizesAgreeWithAModel) {
  HOLDFAST_NEEDS_GPU();
  GpuTable columns(often(GetParam()), 20000);
  for (const std::uint32_t unit : kUnits) {
    for (const std::uint64_t range : {100ull, 15000ull}) {
      for (const std::size_t n : {std::size_t{3000}, std::size_t{20000}}) {
        ASSERT_NO_FATAL_FAILURE(columns.round(n, range, false, Op::insert_or_assign, unit)) << n << " of " << range;
        ASSERT_NO_FATAL_FAILURE(columns.rounds(n, range, unit)) << n << " of " << range;
      }
    }
    columns.table->load_cache();
    ASSERT_NO_FATAL_FAILURE(columns.round(9000, 20000, false, Op::find, unit));
  }
  ASSERT_NO_FATAL_FAILURE(columns.verify());
  columns.reopen("cpu");
  ASSERT_NO_FATAL_FAILURE(columns.verify());
  ASSERT_NO_FATAL_FAILURE(columns.rounds(5000, 15000, 4));
  columns.reopen("cuda");
  ASSERT_NO_FATAL_FAILURE(columns.verify());
}

constexpr Shape kWide{128, 2, 2, 8, 0, kHalfOfFree, 32};
INSTANTIATE_TEST_SUITE_P(All, GpuColumns,
                         testing::Values(Shape{4}, Shape{8}, Shape{12}, Shape{24}, Shape{128}, Shape{300},
                                         Shape{16, 3, 3, 3}, Shape{8, 2, 2, 8, 1}, Shape{12, 2, 2, 8, 1},
                                         Shape{128, 2, 2, 8, 1}, Shape{300, 2, 2, 8, 1}, Shape{16, 3, 3, 3, 1},
                                         Shape{128, 2, 2, 8, kNeverOrdered}, Shape{8, 2, 2, 8, 0, 0},
                                         Shape{128, 2, 2, 8, 0, 0}, with_caches({48}, 0.4), with_caches({48}, 1),
                                         with_caches({48, 2, 2, 8, 1}, 0.4), with_caches({128, 2, 2, 8, 1}, 1),
                                         with_caches({48}, 0, 0.4), with_caches({8}, 0, 0.4),
                                         with_caches({48, 2, 2, 8, 1}, 0.4, 0.4), kWide,
                                         Shape{8, 2, 2, 8, 0, kHalfOfFree, 128}, Shape{12, 2, 2, 8, 1, kHalfOfFree, 24},
                                         with_scores({4}, Score::step), with_scores({48}, Score::frequency)),
                         name_of_columns);

class GpuColumnPhases : public GpuColumns {};

/// Runs of one row, of a few, and of hundreds, which have a block of threads each.
TEST_P(GpuColumnPhases, ChangesWithHotKeysGoInPhases) {
  HOLDFAST_NEEDS_GPU();
  GpuTable columns(often(GetParam()), 100000);
  const auto phased = [&] { return columns.table->stats().work.phased_batches; };
  for (const std::uint32_t unit : kUnits) {
    for (const std::uint64_t range : {1ull, 40ull, 30000ull}) {
      for (const Op op : {Op::insert, Op::accumulate, Op::assign, Op::find_or_insert, Op::erase, Op::insert_or_assign,
                          Op::insert_and_find}) {
        const std::uint64_t before = phased();
        ASSERT_NO_FATAL_FAILURE(columns.round(20000, range, false, op, unit)) << range;
        EXPECT_EQ(phased(), before + 1) << int(op);
      }
      const std::uint64_t before = phased();
      ASSERT_NO_FATAL_FAILURE(columns.round(20000, range, true, Op::find, unit)) << range;
      EXPECT_EQ(phased(), before + 1);
    }
  }
  columns.verify();
}

TEST_P(GpuColumnPhases, SmallChangesGoInPhases) {
  HOLDFAST_NEEDS_GPU();
  Shape shape = GetParam();
  shape.order_from = 1;
  GpuTable columns(often(shape), 4000);
  for (const std::uint32_t unit : kUnits) {
    ASSERT_NO_FATAL_FAILURE(columns.rounds(400, 3, unit));
    ASSERT_NO_FATAL_FAILURE(columns.rounds(200, 500, unit));
  }
  EXPECT_NE(columns.table->stats().work.phased_batches, 0u);
  columns.verify();
}

INSTANTIATE_TEST_SUITE_P(All, GpuColumnPhases,
                         testing::Values(Shape{4}, Shape{8}, Shape{12}, Shape{24}, Shape{128}, Shape{300},
                                         Shape{16, 3, 3, 3}, with_caches({48}, 0.4), with_caches({128}, 1), kWide,
                                         Shape{8, 2, 2, 8, 0, kHalfOfFree, 128}, with_scores({8}, Score::step),
                                         with_scores({300}, Score::step),
                                         with_scores(with_caches({128}, 1), Score::step)),
                         name_of_columns);

/// Arrays in GPU memory, of two batches in flight, in the places where columns are read by 16 bytes and where they are not.
TEST(GpuColumns, BatchesOfDeviceArrays) {
  HOLDFAST_NEEDS_GPU();
  GpuTable columns(often({128}), 60000);
  for (const std::uint32_t unit : kUnits) {
    for (int turn = 0; turn < 4; ++turn) {
      std::vector<Rows> rows;
      std::vector<std::unique_ptr<GpuRows>> on_gpu;
      Batch batches[2];
      const TestStream streams[2];
      for (int i = 0; i < 2; ++i) {
        rows.push_back(columns.some_rows(turn < 2 ? 2000 : 30000, 40000, i == 1, Op::insert_or_assign, unit));
        on_gpu.push_back(std::make_unique<GpuRows>(columns, rows[i]));
        batches[i] = on_gpu[i]->batch(streams[i].stream);
        batches[i].op = Op::insert_or_assign;
        if (i == 1) batches[i].ops = on_gpu[i]->ops();
        batches[i].column = rows[i].column;
        batches[i].accumulate = rows[i].accumulate;
        columns.table->run(batches[i]);
      }
      for (int i = 0; i < 2; ++i) {
        streams[i].wait();
        on_gpu[i]->copy_back(rows[i]);
        ASSERT_NO_FATAL_FAILURE(columns.compare(rows[i], batches[i])) << i;
      }
    }
  }
  columns.verify();
}

/// Of each key 32 bytes of 128, captured into a graph, follow what changes.
TEST(GpuColumns, SearchesInGraphs) {
  HOLDFAST_NEEDS_GPU();
  constexpr std::size_t kRows = 3000;
  constexpr std::uint32_t kBytes = 32, kColumn = 64;
  GpuTable columns(often({128}), 2 * kRows);
  std::vector<std::uint64_t> keys(kRows);
  for (std::size_t i = 0; i < kRows; ++i) keys[i] = i;
  const OnGpu<std::uint64_t> given(keys);
  const OnGpu<std::uint8_t> out(kRows * kBytes);
  const OnGpu<Status> statuses(kRows);
  const TestStream stream;
  Batch find;
  find.op = Op::find;
  find.size = kRows;
  find.keys = given.get();
  find.out = out.get();
  find.statuses = statuses.get();
  find.device = Device{.stream = stream.stream};
  find.column = Column{.begin = kColumn, .bytes = kBytes};
  ASSERT_EQ(cudaStreamBeginCapture(stream.stream, cudaStreamCaptureModeGlobal), cudaSuccess);
  ASSERT_NO_THROW(columns.table->run(find));
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t launched = nullptr;
  ASSERT_EQ(cudaStreamEndCapture(stream.stream, &graph), cudaSuccess);
  ASSERT_EQ(cudaGraphInstantiate(&launched, graph, 0), cudaSuccess);
  ASSERT_EQ(cudaGraphDestroy(graph), cudaSuccess);
  for (int turn = 0; turn < 3; ++turn) {
    ASSERT_NO_FATAL_FAILURE(columns.round(kRows, kRows, false, Op::insert_or_assign, 16));
    ASSERT_EQ(cudaGraphLaunch(launched, stream.stream), cudaSuccess);
    stream.wait();
    Rows rows(kRows, kBytes);
    rows.keys = keys;
    out.copy_to(rows.out.data());
    statuses.copy_to(rows.statuses.data());
    Batch looked = rows.batch();
    looked.op = Op::find;
    looked.column = find.column;
    looked.found = nullptr;
    looked.mask = nullptr;
    ASSERT_NO_FATAL_FAILURE(columns.compare(rows, looked)) << turn;
  }
  ASSERT_EQ(cudaGraphExecDestroy(launched), cudaSuccess);
}

/// Two threads, each with a column of its own of the same values: neither undoes what the other did.
TEST(GpuColumns, ThreadsOfTwoColumnsLoseNothing) {
  HOLDFAST_NEEDS_GPU();
  constexpr unsigned kRounds = 50, kKeys = 40, kHalf = 16;
  for (const std::uint64_t order_from : {std::uint64_t{0}, std::uint64_t{1}}) {
    GpuTable columns(often({2 * kHalf, 2, 2, 8, order_from}), 1000);
    std::vector<std::uint64_t> keys(kKeys);
    for (std::size_t i = 0; i < kKeys; ++i) keys[i] = i;
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < 2; ++t) {
      threads.emplace_back([&, t] {
        const std::vector<std::uint32_t> ones(kKeys * kHalf / 4, 1);
        Batch batch;
        batch.size = kKeys;
        batch.op = Op::accumulate;
        batch.accumulate = Accumulate{.element = Element::u32};
        batch.keys = keys.data();
        batch.values = ones.data();
        batch.column = Column{.begin = t * kHalf, .bytes = kHalf};
        for (unsigned i = 0; i < kRounds; ++i) columns.table->run(batch);
      });
    }
    for (auto& thread : threads) thread.join();
    std::vector<std::uint32_t> values(kKeys * 2 * kHalf / 4);
    columns.table->find(keys.data(), values.data(), kKeys);
    for (const std::uint32_t sum : values) ASSERT_EQ(sum, kRounds);
  }
}

}  // namespace
}  // namespace holdfast::test
