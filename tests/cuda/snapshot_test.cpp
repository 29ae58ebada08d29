// snapshot_test.cpp: a snapshot of a table on a GPU holds all that was enqueued before it, and opens anywhere.
#include <filesystem>

#include "device_arrays.hpp"

namespace holdfast::test {
namespace {

TEST(GpuSnapshot, SmallHoldsWhatWasEnqueued) {
  HOLDFAST_NEEDS_GPU();
  constexpr std::size_t kRows = 20000, kWords = 4;
  GpuTable gpu({8 * kWords}, 4 * kRows);
  std::vector<std::uint64_t> keys(kRows);
  for (std::size_t i = 0; i < kRows; ++i) keys[i] = i;
  const OnGpu<std::uint64_t> gpu_keys(keys.data(), kRows), gpu_out(kRows * kWords);
  const TestStream changing, searching;
  const PoolPath beside("-copy");
  const std::string on_disk = std::filesystem::temp_directory_path() / ("holdfast-cuda-" + std::to_string(getpid()));
  for (std::uint64_t version = 1; version < 6; ++version) {
    const std::vector<std::uint64_t> values(kRows * kWords, version);
    const OnGpu<std::uint64_t> gpu_values(values.data(), values.size());
    Batch batch;
    batch.size = kRows;
    batch.keys = gpu_keys.get();
    batch.values = gpu_values.get();
    batch.op = Op::insert_or_assign;
    batch.unique = true;
    batch.device = Device{.stream = changing.stream};
    gpu.table->run(batch);  // enqueued, not awaited
    SnapshotOptions options;
    options.overwrite = true;
    options.progress = [&](std::uint64_t, std::uint64_t) {
      Batch search;
      search.size = kRows;
      search.keys = gpu_keys.get();
      search.out = gpu_out.get();
      search.device = Device{.stream = searching.stream};
      gpu.table->run(search);
      searching.wait();
      std::vector<std::uint64_t> seen(kRows * kWords);
      gpu_out.copy_to(seen.data());
      EXPECT_EQ(seen, values);
    };
    for (const std::string& path : {beside.str(), on_disk}) {
      EXPECT_EQ(gpu.table->snapshot(path, options).items, kRows);
      OpenOptions open;
      open.runtime.device = path == on_disk ? "cpu" : "cuda";
      Table copy = Table::open(path, open);
      std::vector<std::uint64_t> found(kRows * kWords);
      copy.find(keys.data(), found.data(), kRows);
      EXPECT_EQ(found, values);
      EXPECT_TRUE(copy.check().errors.empty());
    }
  }
  unlink(on_disk.c_str());
}

}  // namespace
}  // namespace holdfast::test
