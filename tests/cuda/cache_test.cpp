// cache_test.cpp: the bucket cache: what it holds, within which budget, and that searches get the same answers in every way.
#include "device_arrays.hpp"
#include "support/errors.hpp"

namespace holdfast::test {
namespace {

TEST(GpuCache, IsResidentByDefault) {
  HOLDFAST_NEEDS_GPU();
  {
    GpuTable gpu({24}, 1000);
    EXPECT_EQ(gpu.table->stats().bucket_cache.ratio, 1);
    EXPECT_EQ(gpu.table->stats().bucket_cache.bytes, 16 * (gpu.table->slots() + 1));
  }
  GpuTable wide({24, 2, 2, 8, 0, kHalfOfFree, 128}, 1000);
  EXPECT_EQ(wide.table->stats().bucket_cache.ratio, 1);
  EXPECT_EQ(wide.table->stats().bucket_cache.bytes, 144 * wide.table->slots());
}

TEST(GpuCache, TakesNothingWithoutABudget) {
  HOLDFAST_NEEDS_GPU();
  GpuTable gpu({24, 2, 2, 8, 0, 0}, 1000);
  EXPECT_EQ(gpu.table->stats().bucket_cache.ratio, 0);
  EXPECT_EQ(gpu.table->stats().bucket_cache.bytes, 0u);
}

TEST(GpuCache, ABudgetBeyondTheGpuIsRefused) {
  HOLDFAST_NEEDS_GPU();
  const PoolPath path;
  CreateOptions options;
  options.runtime.device = "cuda";
  options.gpu.memory = std::uint64_t{1} << 50;
  expect_error<DeviceError>([&] { Table::create(path.str(), options); }, "give less");
}

/// Batches large enough to be ordered by default, with hot keys that whole warps want at once.
TEST(GpuCache, LargeSearchesWithRepeatedKeysAnswerEveryRow) {
  HOLDFAST_NEEDS_GPU();
  for (const std::uint32_t key_bytes : {8u, 32u}) {
    GpuTable gpu({48, 2, 2, 8, 0, kHalfOfFree, key_bytes}, 60000);
    ASSERT_NO_FATAL_FAILURE(gpu.round(40000, 50000, false, Op::insert_or_assign));
    for (const std::uint64_t range : {1ull, 7ull, 1000ull, 100000ull}) {
      ASSERT_NO_FATAL_FAILURE(gpu.round(50000, range, false, Op::find)) << range;
      ASSERT_NO_FATAL_FAILURE(gpu.round(50000, range, false, Op::contains)) << range;
    }
    gpu.verify();
  }
}

/// Rows of keys with one hash come mixed, a few of them or thousands; each key's take effect in array order.
TEST(GpuCache, KeysThatShareAHashAreToldApart) {
  HOLDFAST_NEEDS_GPU();
  for (const std::uint32_t key_bytes : {16u, 24u, 128u}) {
    GpuTable gpu({24, 2, 2, 8, 0, kHalfOfFree, key_bytes}, 60000);
    for (const std::uint64_t range : {2ull, 6ull, 1000ull, 40000ull}) {
      for (const Op op : {Op::insert_or_assign, Op::find, Op::erase, Op::insert})
        ASSERT_NO_FATAL_FAILURE(gpu.round(20000, range, false, op)) << range;
      ASSERT_NO_FATAL_FAILURE(gpu.round(5000, range, true, Op::find)) << range;
    }
    ASSERT_NO_FATAL_FAILURE(gpu.verify());
  }
}

/// More searches at once than there are rooms, of growing sizes, none of which may disturb another.
TEST(GpuCache, ManyOrderedSearchesRunAtOnce) {
  HOLDFAST_NEEDS_GPU();
  constexpr std::size_t kRows = 30000, kWords = 4, kStreams = 7;
  GpuTable gpu({8 * kWords, 2, 2, 8, 1}, kRows);
  std::vector<std::uint64_t> keys(kRows), values(kRows * kWords), seen(kRows * kWords);
  for (std::size_t i = 0; i < kRows; ++i) keys[i] = i * 0x9e3779b97f4a7c15;
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = keys[i / kWords] + i % kWords;
  gpu.table->insert(keys.data(), values.data(), kRows);
  const OnGpu<std::uint64_t> gpu_keys(keys.data(), kRows);
  const TestStream streams[kStreams];
  std::vector<std::unique_ptr<OnGpu<std::uint64_t>>> out;
  for (std::size_t i = 0; i < 4 * kStreams; ++i) {
    out.push_back(std::make_unique<OnGpu<std::uint64_t>>(seen.data(), seen.size()));
    Batch find;
    find.size = 1000 + 1000 * i;
    find.keys = gpu_keys.get();
    find.out = out.back()->get();
    find.device = Device{.stream = streams[i % kStreams].stream};
    gpu.table->run(find);
  }
  for (std::size_t i = 0; i < out.size(); ++i) {
    streams[i % kStreams].wait();
    out[i]->copy_to(seen.data());
    const std::size_t words = (1000 + 1000 * i) * kWords;
    ASSERT_TRUE(std::equal(seen.begin(), seen.begin() + static_cast<std::ptrdiff_t>(words), values.begin())) << i;
  }
}

}  // namespace
}  // namespace holdfast::test
