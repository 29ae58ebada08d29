// device_test.cpp: batches whose arrays are in GPU memory, on the caller's streams.
#include <atomic>
#include <thread>

#include "device_arrays.hpp"
#include "support/errors.hpp"

namespace holdfast::test {
namespace {

void round_on_gpu(GpuTable& gpu, const TestStream& stream, std::size_t n, std::uint64_t range, bool mixed, Op op) {
  Rows rows = gpu.some_rows(n, range, mixed, op);
  const GpuRows there(gpu, rows);
  Batch batch = there.batch(stream.stream);
  batch.op = op;
  batch.ops = mixed ? there.ops() : nullptr;
  batch.accumulate = Accumulate{.element = Element::u32};
  gpu.table->run(batch);
  stream.wait();
  there.copy_back(rows);
  gpu.compare(rows, batch);
}

class GpuArrays : public testing::TestWithParam<Shape> {};

TEST_P(GpuArrays, SmallEveryOperation) {
  HOLDFAST_NEEDS_GPU();
  GpuTable gpu(GetParam(), 2000);
  const TestStream stream;
  for (unsigned op = 0; op < kOps; ++op) {
    ASSERT_NO_FATAL_FAILURE(round_on_gpu(gpu, stream, 200, 150, false, static_cast<Op>(op)));
  }
  for (int i = 0; i < 3; ++i) ASSERT_NO_FATAL_FAILURE(round_on_gpu(gpu, stream, 300, 150, true, Op::find));
  gpu.verify();
}

TEST_P(GpuArrays, GrowFromOneBatchToTheNext) {
  HOLDFAST_NEEDS_GPU();
  GpuTable gpu(GetParam(), 16);
  const TestStream stream;
  for (int i = 0; i < 12; ++i) {
    ASSERT_NO_FATAL_FAILURE(round_on_gpu(gpu, stream, 3000, 30000, false, Op::insert_or_assign));
    ASSERT_NO_FATAL_FAILURE(round_on_gpu(gpu, stream, 1000, 30000, true, Op::find));
  }
  EXPECT_GT(gpu.table->stats().growth.resizes, 0u);
  gpu.verify();
}

TEST(GpuShapes, GrowWhereInsertsFailAtAnyLoad) {
  HOLDFAST_NEEDS_GPU();
  GpuTable gpu({8, 2, 1, 8}, 50'000);
  const TestStream stream;
  for (int i = 0; i < 20; ++i)
    ASSERT_NO_FATAL_FAILURE(round_on_gpu(gpu, stream, 4000, 1'000'000'000, false, Op::insert_or_assign));
  EXPECT_GT(gpu.table->stats().growth.resizes, 0u);
  gpu.verify();
}

INSTANTIATE_TEST_SUITE_P(Values, GpuArrays,
                         testing::Values(Shape{0}, Shape{8}, Shape{12}, Shape{128},
                                         Shape{8, 2, 2, 8, 0, kHalfOfFree, 16},
                                         Shape{128, 2, 2, 8, 0, kHalfOfFree, 128}));

/// The values of one key are all its own, so a mix of two versions shows.
void fill_values(std::vector<std::uint64_t>& values, const std::vector<std::uint64_t>& keys, std::uint64_t version) {
  const std::size_t words = values.size() / keys.size();
  for (std::size_t i = 0; i < keys.size(); ++i) {
    for (std::size_t w = 0; w < words; ++w)
      values[i * words + w] = keys[i] * 0x9e3779b97f4a7c15 + version * 1000003 + w;
  }
}

TEST(GpuStreams, BatchesQueueUpWithoutWaiting) {
  HOLDFAST_NEEDS_GPU();
  constexpr std::size_t kRows = 20000, kWords = 4;
  GpuTable gpu({8 * kWords}, 4 * kRows);
  std::vector<std::uint64_t> keys(kRows), values(kRows * kWords), seen(kRows * kWords);
  for (std::size_t i = 0; i < kRows; ++i) keys[i] = i;
  const OnGpu<std::uint64_t> gpu_keys(keys.data(), kRows), gpu_out(kRows * kWords);
  std::vector<std::unique_ptr<OnGpu<std::uint64_t>>> versions;
  const TestStream streams[2];
  // Changes alternate between two streams; each must find what the one before it wrote.
  for (std::uint64_t version = 0; version < 8; ++version) {
    fill_values(values, keys, version);
    versions.push_back(std::make_unique<OnGpu<std::uint64_t>>(values.data(), values.size()));
    Batch batch;
    batch.size = kRows;
    batch.keys = gpu_keys.get();
    batch.values = versions.back()->get();
    batch.op = Op::insert_or_assign;
    batch.unique = true;
    batch.device = Device{.stream = streams[version % 2].stream};
    gpu.table->run(batch);
  }
  Batch find;
  find.size = kRows;
  find.keys = gpu_keys.get();
  find.out = gpu_out.get();
  find.device = Device{.stream = streams[1].stream};  // where the last change was
  gpu.table->run(find);
  streams[1].wait();
  gpu_out.copy_to(seen.data());
  EXPECT_EQ(seen, values);
  EXPECT_EQ(gpu.table->size(), kRows);
  const CheckReport report = gpu.table->check();
  EXPECT_TRUE(report.errors.empty()) << report.errors.front();
}

/// How searches run: in one kernel, in phases, or on buckets in the pool.
class GpuSearches : public testing::TestWithParam<Shape> {};

TEST_P(GpuSearches, OverlapChangesAndSeeWholeValues) {
  HOLDFAST_NEEDS_GPU();
  constexpr std::size_t kRows = 4096, kWords = 8;
  GpuTable gpu(GetParam(), 2 * kRows);
  std::vector<std::uint64_t> keys(kRows), values(kRows * kWords);
  for (std::size_t i = 0; i < kRows; ++i) keys[i] = i;
  fill_values(values, keys, 0);
  gpu.table->insert(keys.data(), values.data(), kRows);
  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> reads{0}, torn{0}, lost{0};
  std::thread reader([&] {
    const TestStream stream;
    const OnGpu<std::byte> gpu_keys(gpu.keys_of(keys));
    const OnGpu<std::uint64_t> out(kRows * kWords);
    const OnGpu<bool> gpu_found(kRows);
    std::vector<std::uint64_t> seen(kRows * kWords);
    const auto found = std::make_unique<bool[]>(kRows);
    while (!stop) {
      Batch find;
      find.size = kRows;
      find.keys = gpu_keys.get();
      find.out = out.get();
      find.found = gpu_found.get();
      find.device = Device{.stream = stream.stream};
      gpu.table->run(find);
      stream.wait();
      out.copy_to(seen.data());
      gpu_found.copy_to(found.get());
      for (std::size_t i = 0; i < kRows; ++i) {
        // Odd keys come and go; even ones are always there.
        if (!found[i]) {
          lost += i % 2 == 0;
          continue;
        }
        const std::uint64_t* const value = &seen[i * kWords];
        for (std::size_t w = 1; w < kWords; ++w) torn += value[w] != value[0] + w;
        torn += (value[0] - keys[i] * 0x9e3779b97f4a7c15) % 1000003 != 0;
      }
      ++reads;
    }
  });
  std::vector<std::uint64_t> odd;
  for (std::size_t i = 1; i < kRows; i += 2) odd.push_back(i);
  for (std::uint64_t version = 1; version < 60; ++version) {
    fill_values(values, keys, version);
    gpu.table->insert_or_assign(keys.data(), values.data(), kRows);
    gpu.table->erase(odd.data(), odd.size());
  }
  stop = true;
  reader.join();
  EXPECT_GT(reads, 0u);
  EXPECT_EQ(torn, 0u);
  EXPECT_EQ(lost, 0u);
  const CheckReport report = gpu.table->check();
  EXPECT_TRUE(report.errors.empty()) << report.errors.front();
}

INSTANTIATE_TEST_SUITE_P(Ways, GpuSearches,
                         testing::Values(Shape{64}, Shape{64, 2, 2, 8, 1}, Shape{64, 2, 2, 8, 0, 0},
                                         Shape{64, 2, 2, 8, 0, kHalfOfFree, 32},
                                         Shape{64, 2, 2, 8, 1, kHalfOfFree, 128}, Shape{64, 2, 2, 8, 0, 0, 128}));

TEST(GpuStreams, SeveralHostThreadsShareATable) {
  HOLDFAST_NEEDS_GPU();
  GpuTable gpu({24}, 64);
  std::vector<std::thread> threads;
  for (std::uint64_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      std::vector<std::uint64_t> keys(2000), values(3 * 2000), seen(3 * 2000);
      for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = t + 4 * i;
      fill_values(values, keys, t);
      const BatchResult result = gpu.table->insert(keys.data(), values.data(), keys.size());
      EXPECT_EQ(result.of(Status::inserted), keys.size());
      const auto found = std::make_unique<bool[]>(keys.size());
      gpu.table->find(keys.data(), seen.data(), keys.size(), found.get());
      EXPECT_EQ(seen, values);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(gpu.table->size(), 8000u);
  const CheckReport report = gpu.table->check();
  EXPECT_TRUE(report.errors.empty()) << report.errors.front();
}

TEST(GpuBadInput, HostPointersThatClaimToBeOnTheGpuAreRefused) {
  HOLDFAST_NEEDS_GPU();
  GpuTable gpu({8});
  Rows rows(4, 8);
  Batch batch = rows.batch();
  batch.op = Op::insert;
  batch.device = Device{};
  EXPECT_THROW(gpu.table->run(batch), InvalidArgument);
  EXPECT_EQ(gpu.table->size(), 0u);
  ASSERT_NO_FATAL_FAILURE(gpu.round(40, 40, false, Op::insert));  // and the table still works
  gpu.verify();
}

class GpuCodes : public testing::TestWithParam<Shape> {};

/// Nobody has looked at codes in GPU memory: those that no operation has are answered, and change nothing.
TEST_P(GpuCodes, SmallOnesThatNoOperationHasDoNothing) {
  HOLDFAST_NEEDS_GPU();
  GpuTable gpu(GetParam());
  const TestStream stream;
  ASSERT_NO_FATAL_FAILURE(round_on_gpu(gpu, stream, 200, 200, false, Op::insert));
  Rows rows = gpu.some_rows(400, 300, true, Op::find);
  for (std::size_t i = 0; i < rows.ops.size(); ++i) rows.ops[i] = static_cast<std::uint8_t>(kOps + i % (256 - kOps));
  const GpuRows there(gpu, rows);
  Batch batch = there.batch(stream.stream);
  batch.ops = there.ops();
  gpu.table->run(batch);
  stream.wait();
  there.copy_back(rows);
  EXPECT_EQ(rows.statuses, std::vector<Status>(rows.statuses.size(), Status::not_run));
  gpu.verify();
}

INSTANTIATE_TEST_SUITE_P(Ways, GpuCodes,
                         testing::Values(Shape{8, 2, 2, 8, kNeverOrdered}, Shape{8, 2, 2, 8, 1},
                                         Shape{128, 2, 2, 8, kNeverOrdered}, Shape{128, 2, 2, 8, 1}));

TEST(GpuBadInput, APoolOnAnOrdinaryFileSystemIsRefused) {
  HOLDFAST_NEEDS_GPU();
  const std::string path = "holdfast-cuda-test-" + std::to_string(getpid()) + ".hold";
  CreateOptions options;
  options.runtime.device = "cpu";
  options.overwrite = true;
  Table table = Table::create(path, options);
  const Medium medium = table.stats().place.medium;
  table.close();
  if (medium == Medium::file) {
    OpenOptions open;
    open.runtime.device = "cuda";
    expect_error<MediumError>([&] { Table::open(path, open); }, "/dev/shm");
  }
  unlink(path.c_str());
  if (medium != Medium::file) GTEST_SKIP() << "the current directory is not on an ordinary file system";
}

TEST(GpuBadInput, ADeviceThatDoesNotExistIsNamed) {
  HOLDFAST_NEEDS_GPU();
  const PoolPath path;
  CreateOptions options;
  options.runtime.device = "cuda:99";
  EXPECT_THROW(Table::create(path.str(), options), DeviceError);
}

}  // namespace
}  // namespace holdfast::test
