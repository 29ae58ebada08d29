// cuda_sharded_test.cpp: the suite over shards on two GPUs, or twice on one; the caller's GPU stays. Needs a GPU, and says where it has one only.
#if defined(HOLDFAST_WITH_CUDA)

#include <cuda_runtime_api.h>

#include "filled.hpp"
#include "sharded.hpp"
#include "structures/cuckoo/cuda/cuda_index.hpp"

namespace holdfast::cuckoo {
namespace {

using cuda::CudaIndex;
using CudaShard = AnyIndexOf<CudaIndex, cuda::CudaOptions>;
using CudaShards = WithShards<CudaShard, CudaIndex>;

int gpus() {
  int devices = 0;
  return cudaGetDeviceCount(&devices) == cudaSuccess ? devices : 0;
}

CudaShards cuda_shards(std::size_t shards, const Options& options) {
  return {shards, options, [](std::size_t i, const Options& its) {
            return std::make_unique<CudaShard>(cuda::CudaOptions{.capacity = its.capacity,
                                                                 .device = static_cast<int>(i) % gpus(),
                                                                 .signature_bits = its.signature_bits,
                                                                 .threads = 2});
          }};
}

template <std::size_t kShards>
struct OnGpus {
  static constexpr std::uint64_t kGrownCells = kShards == 3 ? std::uint64_t{3} << 18 : std::uint64_t{1} << 19;
  static bool available() { return gpus() != 0; }
  static CudaShards make(const Options& options) { return cuda_shards(kShards, options); }
};
using GpusMakers = testing::Types<OnGpus<2>, OnGpus<3>>;
INSTANTIATE_TYPED_TEST_SUITE_P(Gpus, IndexSuite, GpusMakers);

class GpusIndex : public testing::Test {
 protected:
  void SetUp() override {
    if (gpus() == 0) GTEST_SKIP() << "no GPU";
    if (gpus() == 1) std::cout << "one GPU has all shards\n";
  }
};

TEST_F(GpusIndex, IsFilledFromCollectedRows) {
  for (const FillCase& test :
       {FillCase{1, 0, 1}, {20'000, 0, 20'000}, {300'000, 0, 3'000'000}, {300'000, 0, 400'000, 32, 100'000}}) {
    CudaShards index = cuda_shards(2, {test.capacity, test.signature_bits});
    expect_filled(index, cpu::CpuIndex({}).part_bits(test.most), test);
  }
}

/// Each shard is on its GPU, whichever the caller has; searches in two steps, too.
TEST_F(GpusIndex, TheGpuOfTheCallerStays) {
  for (int device = 0; device < gpus(); ++device) {
    ASSERT_EQ(cudaSetDevice(device), cudaSuccess);
    const auto expect_device = [&](const char* after) {
      int now = -1;
      ASSERT_EQ(cudaGetDevice(&now), cudaSuccess);
      EXPECT_EQ(now, device) << after;
    };
    std::unique_ptr<Searching> searching;
    {
      CudaShards index = cuda_shards(2, {.capacity = 1000});
      expect_device("making it");
      Batch batch = inserts(0, 150'000);  // with growth
      exchange(index, batch);
      expect_device("an exchange");
      EXPECT_EQ(count(batch, Outcome::inserted), batch.size());
      std::vector<Location> found(batch.size());
      searching = index.index().searching();
      searching->begin(batch.hashes);
      expect_device("the begin of a search");
      searching->finish(found);
      expect_device("the end of a search");
      EXPECT_EQ(std::ranges::mismatch(found, batch.locations).in1, found.end());
      std::vector<Outcome> outcomes(batch.size());
      index.erase(batch.hashes, batch.locations, outcomes);
      expect_device("a removal");
      EXPECT_EQ(index.size(), 0u);
      searching->begin(batch.hashes);
    }
    expect_device("its end");
  }  // a search ends after its index
  ASSERT_EQ(cudaSetDevice(0), cudaSuccess);
}

}  // namespace
}  // namespace holdfast::cuckoo
#endif
