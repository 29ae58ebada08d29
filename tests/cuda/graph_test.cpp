// graph_test.cpp: searches in CUDA graphs: launched again and again between changes, and after the table has grown or gone.
#include <numeric>

#include "device_arrays.hpp"

namespace holdfast::test {
namespace {

constexpr std::size_t kWords = 4;

/// A search for `keys`, captured into a graph.
class CapturedFind {
 public:
  CapturedFind(GpuTable& gpu, const std::vector<std::uint64_t>& keys, bool values)
      : keys_(gpu.keys_of(keys)), out_(keys.size() * kWords), statuses_(keys.size()), size_(keys.size()) {
    Batch find;
    find.op = values ? Op::find : Op::contains;
    find.size = size_;
    find.keys = keys_.get();
    find.out = values ? out_.get() : nullptr;
    find.statuses = statuses_.get();
    find.device = Device{.stream = stream_.stream};
    EXPECT_EQ(cudaStreamBeginCapture(stream_.stream, cudaStreamCaptureModeGlobal), cudaSuccess);
    EXPECT_NO_THROW(gpu.table->table().run(find));
    cudaGraph_t graph = nullptr;
    EXPECT_EQ(cudaStreamEndCapture(stream_.stream, &graph), cudaSuccess);
    EXPECT_EQ(cudaGraphInstantiate(&graph_, graph, 0), cudaSuccess);
    EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
  }
  ~CapturedFind() { EXPECT_EQ(cudaGraphExecDestroy(graph_), cudaSuccess); }

  void launch() { ASSERT_EQ(cudaGraphLaunch(graph_, stream_.stream), cudaSuccess); }
  std::vector<Status> statuses() const {
    stream_.wait();
    std::vector<Status> statuses(size_);
    statuses_.copy_to(statuses.data());
    return statuses;
  }
  std::vector<std::uint64_t> values() const {
    stream_.wait();
    std::vector<std::uint64_t> values(size_ * kWords);
    out_.copy_to(values.data());
    return values;
  }

 private:
  const TestStream stream_;
  const OnGpu<std::byte> keys_;
  const OnGpu<std::uint64_t> out_;
  const OnGpu<Status> statuses_;
  std::size_t size_;
  cudaGraphExec_t graph_ = nullptr;
};

std::vector<std::uint64_t> values_of(const std::vector<std::uint64_t>& keys, std::uint64_t version) {
  std::vector<std::uint64_t> values;
  for (const std::uint64_t key : keys)
    for (std::size_t w = 0; w < kWords; ++w) values.push_back(key * 0x9e3779b97f4a7c15 + 1000 * version + w);
  return values;
}

std::vector<std::uint64_t> some_keys(std::size_t n) {
  std::vector<std::uint64_t> keys(n);
  std::iota(keys.begin(), keys.end(), 100);
  return keys;
}

constexpr std::uint32_t kBytes = 8 * kWords;

CacheOptions some_values() {
  CacheOptions cache;
  cache.ratio = 0.5;
  return cache;
}

/// Searches in one cluster, in phases, unordered, and of buckets in the pool; few rows, and many.
struct Way {
  Shape shape;
  std::size_t rows;
};
class GpuGraphs : public testing::TestWithParam<Way> {};

TEST_P(GpuGraphs, SmallSearchesFollowTheTableUntilItGrows) {
  HOLDFAST_NEEDS_GPU();
  const std::size_t rows = GetParam().rows;
  GpuTable gpu(GetParam().shape, 2 * rows);
  const std::vector<std::uint64_t> keys = some_keys(rows);
  gpu.table->insert(keys.data(), values_of(keys, 0).data(), rows);
  CapturedFind find(gpu, keys, true), contains(gpu, keys, false);
  for (std::uint64_t version = 1; version < 4; ++version) {
    gpu.table->assign(keys.data(), values_of(keys, version).data(), rows);
    find.launch();
    contains.launch();
    EXPECT_EQ(find.values(), values_of(keys, version));
    EXPECT_EQ(find.statuses(), std::vector<Status>(rows, Status::found));
    EXPECT_EQ(contains.statuses(), std::vector<Status>(rows, Status::found));
  }
  gpu.table->erase(keys.data(), rows / 2);
  find.launch();
  std::vector<Status> expected(rows, Status::found);
  std::fill_n(expected.begin(), rows / 2, Status::not_found);
  EXPECT_EQ(find.statuses(), expected);

  gpu.table->table().reserve(8 * gpu.table->slots());
  find.launch();
  contains.launch();
  EXPECT_EQ(find.statuses(), std::vector<Status>(rows, Status::not_run));
  EXPECT_EQ(contains.statuses(), std::vector<Status>(rows, Status::not_run));
  EXPECT_EQ(find.values(), std::vector<std::uint64_t>(rows * kWords, 0));
  CapturedFind again(gpu, keys, true);
  again.launch();
  EXPECT_EQ(again.statuses(), expected);
  const CheckReport report = gpu.table->check();
  EXPECT_TRUE(report.errors.empty()) << report.errors.front();
}

INSTANTIATE_TEST_SUITE_P(Ways, GpuGraphs,
                         testing::Values(Way{{kBytes}, 300}, Way{{kBytes, 2, 2, 8, 1}, 300}, Way{{kBytes}, 20000},
                                         Way{{kBytes, 2, 2, 8, kNeverOrdered}, 300}, Way{{kBytes, 2, 2, 8, 0, 0}, 300},
                                         Way{{kBytes, 2, 2, 8, 0, kHalfOfFree, 32}, 300},
                                         Way{{kBytes, 2, 2, 8, 0, kHalfOfFree, 8, some_values()}, 300}));

TEST(GpuGraphs, SmallAGraphMayOutliveItsTable) {
  HOLDFAST_NEEDS_GPU();
  constexpr std::size_t kRows = 300;
  const std::vector<std::uint64_t> keys = some_keys(kRows);
  std::unique_ptr<CapturedFind> find;
  {
    GpuTable gpu({kBytes}, kRows);
    gpu.table->insert(keys.data(), values_of(keys, 1).data(), kRows);
    find = std::make_unique<CapturedFind>(gpu, keys, true);
    find->launch();
    EXPECT_EQ(find->values(), values_of(keys, 1));
    gpu.table->clear();
    find->launch();
    EXPECT_EQ(find->statuses(), std::vector<Status>(kRows, Status::not_run));
    find = std::make_unique<CapturedFind>(gpu, keys, true);
    find->launch();
    EXPECT_EQ(find->statuses(), std::vector<Status>(kRows, Status::not_found));
  }
  find->launch();
  EXPECT_EQ(find->statuses(), std::vector<Status>(kRows, Status::not_run));
}

/// Changes take cells as soon as no search can read them; the host knows nothing of a graph's launches.
TEST(GpuGraphs, LaunchesBesideChangesSeeWholeValues) {
  HOLDFAST_NEEDS_GPU();
  constexpr std::size_t kRows = 4096;
  GpuTable gpu({kBytes}, 2 * kRows);
  const std::vector<std::uint64_t> keys = some_keys(kRows);
  gpu.table->insert(keys.data(), values_of(keys, 0).data(), kRows);
  CapturedFind find(gpu, keys, true);
  std::uint64_t torn = 0;
  for (std::uint64_t version = 1; version < 40; ++version) {
    for (int i = 0; i < 8; ++i) find.launch();
    gpu.table->assign(keys.data(), values_of(keys, version).data(), kRows);
    const std::vector<std::uint64_t> seen = find.values();
    for (std::size_t i = 0; i < kRows; ++i) {
      const std::uint64_t first = seen[i * kWords];
      for (std::size_t w = 1; w < kWords; ++w) torn += seen[i * kWords + w] != first + w;
      torn += (first - keys[i] * 0x9e3779b97f4a7c15) / 1000 > version;
    }
  }
  EXPECT_EQ(torn, 0u);
  find.launch();
  EXPECT_EQ(find.values(), values_of(keys, 39));
}

TEST(GpuGraphs, SmallAChangeIsRefusedAndTheTableGoesOn) {
  HOLDFAST_NEEDS_GPU();
  GpuTable gpu({8});
  const TestStream stream;
  const Rows rows = gpu.some_rows(40, 40, false, Op::insert);
  const GpuRows there(gpu, rows);
  Batch batch = there.batch(stream.stream);
  batch.op = Op::insert;
  ASSERT_EQ(cudaStreamBeginCapture(stream.stream, cudaStreamCaptureModeGlobal), cudaSuccess);
  EXPECT_THROW(gpu.table->run(batch), InvalidArgument);
  // The thread that captures may use the table otherwise, on other streams.
  ASSERT_NO_FATAL_FAILURE(gpu.round(40, 40, false, Op::insert));
  cudaGraph_t graph = nullptr;
  EXPECT_EQ(cudaStreamEndCapture(stream.stream, &graph), cudaSuccess);
  EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
  ASSERT_NO_FATAL_FAILURE(gpu.round(40, 40, false, Op::insert));
  gpu.verify();
}

}  // namespace
}  // namespace holdfast::test
