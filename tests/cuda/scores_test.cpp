// scores_test.cpp: scores on a GPU: of changes one by one and in phases, with copies of values and without, and read back.
#include <algorithm>

#include "device_arrays.hpp"

namespace holdfast::test {
namespace {

struct Scored {
  Score score;
  Shape shape;
};

Shape shape_of(std::uint32_t value_bytes, std::uint32_t key_bytes = 8) {
  Shape shape;
  shape.value_bytes = value_bytes;
  shape.key_bytes = key_bytes;
  return shape;
}
Shape with_value_cache(Shape shape, double ratio) {
  shape.cache.ratio = ratio;
  return shape;
}
Shape with_buckets(Shape shape, double ratio) {
  shape.cache.bucket_ratio = ratio;
  return shape;
}

Shape without_copies(Shape shape) {
  shape.gpu_memory = 0;
  return shape;
}

class GpuScores : public testing::TestWithParam<Scored> {
 protected:
  void round(GpuTable& gpu, std::size_t n, std::uint64_t range, bool mixed, Op op, std::uint32_t unit = 0) {
    if (GetParam().score == Score::step) gpu.set_step(gpu.random());
    gpu.round(n, range, mixed, op, unit);
  }
  Shape shape() const {
    Shape shape = GetParam().shape;
    shape.score = GetParam().score;
    return shape;
  }
};

TEST_P(GpuScores, EveryOperationSetsThem) {
  HOLDFAST_NEEDS_GPU();
  GpuTable gpu(shape(), 4000);
  for (int i = 0; i < 3; ++i) {
    for (unsigned op = 0; op < kOps; ++op) ASSERT_NO_FATAL_FAILURE(round(gpu, 300, 200, false, static_cast<Op>(op)));
    ASSERT_NO_FATAL_FAILURE(round(gpu, 300, 200, true, Op::find));
  }
  ASSERT_NO_FATAL_FAILURE(gpu.verify());
  for (const std::uint64_t range : {3ull, 1000ull, 60000ull}) {  // hot keys, and a table that grows
    for (const Op op : {Op::insert_or_assign, Op::accumulate, Op::assign, Op::find_or_insert, Op::erase})
      ASSERT_NO_FATAL_FAILURE(round(gpu, 20000, range, false, op));
    ASSERT_NO_FATAL_FAILURE(round(gpu, 20000, range, true, Op::find));
    ASSERT_NO_FATAL_FAILURE(gpu.verify());
  }
  gpu.table->reserve(400000);
  const std::uint64_t before = gpu.table->stats().work.phased_batches;
  ASSERT_NO_FATAL_FAILURE(round(gpu, 20000, 60000, false, Op::insert_or_assign));
  const bool phased = GetParam().shape.gpu_memory != 0;
  EXPECT_EQ(gpu.table->stats().work.phased_batches != before, phased);
  gpu.table->load_cache();
  ASSERT_NO_FATAL_FAILURE(gpu.verify());
  ASSERT_NO_FATAL_FAILURE(round(gpu, 20000, 60000, true, Op::find));
  ASSERT_NO_FATAL_FAILURE(gpu.verify());
  gpu.verify();
  for (const char* const device : {"cuda", "cpu"}) {
    gpu.reopen(device);
    ASSERT_NO_FATAL_FAILURE(gpu.verify());
  }
}

TEST_P(GpuScores, AreReadIntoGpuMemory) {
  HOLDFAST_NEEDS_GPU();
  GpuTable gpu(shape(), 4000);
  ASSERT_NO_FATAL_FAILURE(round(gpu, 3000, 2000, false, Op::insert));
  for (const std::size_t n : {100u, 20000u}) {
    Rows rows = gpu.some_rows(n, 4000, false, Op::find);
    const GpuRows on_gpu(gpu, rows);
    const OnGpu<std::uint64_t> scores(n);
    const TestStream stream;
    Batch batch = on_gpu.batch(stream.stream);
    batch.op = Op::contains;
    batch.out = nullptr;
    batch.values = nullptr;
    batch.scores = scores.get();
    gpu.table->run(batch);
    stream.wait();
    on_gpu.copy_back(rows);
    std::vector<std::uint64_t> read(n), host(n);
    scores.copy_to(read.data());
    gpu.table->table().scores(gpu.keys_of(rows.keys).data(), host.data(), n);
    for (std::size_t i = 0; i < n; ++i) {
      const bool runs = rows.mask[i] != 0;
      ASSERT_EQ(rows.found[i], runs && gpu.oracle.items().count(rows.keys[i]) != 0);
      ASSERT_EQ(read[i], runs ? host[i] : 0) << "row " << i;
    }
  }
}

TEST_P(GpuScores, ChangesOfColumnsSetThem) {
  HOLDFAST_NEEDS_GPU();
  if (GetParam().shape.value_bytes < 8) return;
  GpuTable gpu(shape(), 40000);
  for (const std::size_t n : {300u, 20000u}) {
    for (const std::uint64_t range : {std::uint64_t{3}, std::uint64_t{n}}) {
      for (const Op op :
           {Op::insert, Op::accumulate, Op::assign, Op::find_or_insert, Op::erase, Op::insert_or_assign}) {
        ASSERT_NO_FATAL_FAILURE(round(gpu, n, range, false, op, 4));
      }
      ASSERT_NO_FATAL_FAILURE(gpu.verify());
    }
  }
}

TEST_P(GpuScores, ItemsAreErasedByThem) {
  HOLDFAST_NEEDS_GPU();
  if (GetParam().score != Score::step) return;
  GpuTable gpu(shape(), 4000);
  Table& table = gpu.table->table();
  std::vector<std::uint64_t> keys(3000);
  for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = i;
  const auto given = gpu.keys_of(keys);
  const std::vector<std::uint8_t> values(keys.size() * GetParam().shape.value_bytes + 1, 3);
  const std::uint32_t key_bytes = GetParam().shape.key_bytes, value_bytes = GetParam().shape.value_bytes;
  for (std::size_t step = 0; step < 3; ++step) {
    table.set_step(step + 10);
    table.insert_or_assign(given.data() + step * 1000 * key_bytes, values.data() + step * 1000 * value_bytes, 1000);
  }
  Selection old;
  old.greatest_score = 10;
  EXPECT_EQ(table.erase_if(old), 1000u);
  old.greatest_score = 11;
  EXPECT_EQ(table.size_if(old), 1000u);
  std::uint64_t cursor = 0, scores[2000];
  std::vector<std::byte> out(2000 * key_bytes);
  ASSERT_EQ(table.export_batch(cursor, out.data(), nullptr, 2000, scores), 2000u);
  EXPECT_EQ(std::count(scores, scores + 2000, 12u), 1000);
  EXPECT_TRUE(table.check().errors.empty());
}

INSTANTIATE_TEST_SUITE_P(Kinds, GpuScores,
                         testing::Values(Scored{Score::step, shape_of(0)}, Scored{Score::step, shape_of(4)},
                                         Scored{Score::step, shape_of(8)}, Scored{Score::step, shape_of(16)},
                                         Scored{Score::step, shape_of(120)}, Scored{Score::step, shape_of(24, 32)},
                                         Scored{Score::step, with_value_cache(shape_of(16), 1)},
                                         Scored{Score::step, with_value_cache(shape_of(24), 0.3)},
                                         Scored{Score::step, with_buckets(shape_of(8), 0.4)},
                                         Scored{Score::step, with_buckets(shape_of(12), 0)},
                                         Scored{Score::step, without_copies(shape_of(12))},
                                         Scored{Score::frequency, shape_of(4)},
                                         Scored{Score::frequency, shape_of(24, 16)},
                                         Scored{Score::frequency, with_value_cache(shape_of(8), 1)},
                                         Scored{Score::frequency, with_value_cache(shape_of(8), 0.3)}));

/// A search that was captured into a graph reads what they are when it is launched.
TEST(GpuScoresInGraphs, FollowChanges) {
  HOLDFAST_NEEDS_GPU();
  constexpr std::size_t kRows = 3000;
  Shape shape = shape_of(16);
  shape.score = Score::step;
  GpuTable gpu(shape, 2 * kRows);
  Table& table = gpu.table->table();
  std::vector<std::uint64_t> keys(kRows), read(kRows);
  for (std::size_t i = 0; i < kRows; ++i) keys[i] = i;
  const std::vector<std::uint8_t> values(kRows * 16, 1);
  const OnGpu<std::uint64_t> given(keys), scores(kRows);
  const TestStream stream;
  Batch search;
  search.op = Op::contains;
  search.size = kRows;
  search.keys = given.get();
  search.scores = scores.get();
  search.device = Device{.stream = stream.stream};
  ASSERT_EQ(cudaStreamBeginCapture(stream.stream, cudaStreamCaptureModeGlobal), cudaSuccess);
  ASSERT_NO_THROW(table.run(search));
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t launched = nullptr;
  ASSERT_EQ(cudaStreamEndCapture(stream.stream, &graph), cudaSuccess);
  ASSERT_EQ(cudaGraphInstantiate(&launched, graph, 0), cudaSuccess);
  ASSERT_EQ(cudaGraphDestroy(graph), cudaSuccess);
  for (std::uint64_t step = 1; step < 4; ++step) {
    table.set_step(step);
    table.insert_or_assign(keys.data(), values.data(), step * 1000);
    ASSERT_EQ(cudaGraphLaunch(launched, stream.stream), cudaSuccess);
    stream.wait();
    scores.copy_to(read.data());
    for (std::size_t i = 0; i < kRows; ++i) ASSERT_EQ(read[i], i < step * 1000 ? step : 0) << "row " << i;
  }
  ASSERT_EQ(cudaGraphExecDestroy(launched), cudaSuccess);
}

/// By one search, so they belong to each other.
TEST(GpuScoresAndValues, AreReadTogether) {
  HOLDFAST_NEEDS_GPU();
  for (const std::uint32_t bytes : {8u, 120u}) {
    Shape shape = shape_of(bytes);
    shape.score = Score::step;
    GpuTable gpu(shape, 40000);
    Table& table = gpu.table->table();
    constexpr std::size_t kKeys = 40000;
    Rows rows(kKeys, bytes);
    for (std::size_t i = 0; i < kKeys; ++i) {
      rows.keys[i] = i;
      std::memcpy(&rows.values[i * bytes], &i, 8);
    }
    for (std::size_t half : {0u, 1u}) {
      table.set_step(half + 1);
      table.insert(rows.keys.data() + half * kKeys / 2, rows.values.data() + half * kKeys / 2 * bytes, kKeys / 2);
    }
    for (const std::size_t n : {std::size_t{100}, kKeys}) {
      std::vector<std::uint64_t> scores(n);
      Batch batch = rows.batch();
      batch.size = n;
      batch.op = Op::find;
      batch.mask = nullptr;
      batch.scores = scores.data();
      table.run(batch);
      for (std::size_t i = 0; i < n; ++i) {
        ASSERT_EQ(scores[i], i < kKeys / 2 ? 1u : 2u) << "row " << i;
        ASSERT_EQ(std::memcmp(&rows.out[i * bytes], &rows.values[i * bytes], bytes), 0) << "row " << i;
      }
    }
  }
}

}  // namespace
}  // namespace holdfast::test
