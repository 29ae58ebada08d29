// gpus_test.cpp: a store whose index is on two GPUs, at the same time or one after another. Needs two.
#ifdef HOLDFAST_WITH_CUDA
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "holdfast/error.hpp"
#include "store/store_fixture.hpp"

namespace holdfast {
namespace {

class StoreOnGpus : public StoreTest {
 protected:
  void SetUp() override {
    if (cuda_devices() < 2) GTEST_SKIP() << "this machine has " << cuda_devices() << " GPUs, not two";
  }
};

TEST_F(StoreOnGpus, SharesItsIndexBetweenThem) {
  constexpr int kKeys = 100'000, kErased = 1'000;
  std::vector<std::string> keys, values;
  for (int i = 0; i < kKeys; ++i) {
    keys.push_back("key " + std::to_string(i));
    values.push_back(std::to_string(2 * i));
  }
  const Strings rows = strings(keys), its = strings(values), erased = strings({keys.begin(), keys.begin() + kErased});
  {
    Store store = make({.index = StoreIndex::gpu, .devices = {0, 1}});
    EXPECT_EQ(store.set(rows_of(rows), rows_of(rows)), 0u);
    std::vector<std::thread> threads;
    for (int thread = 0; thread < 3; ++thread) {  // beside each other, and each a row beside the batch
      threads.emplace_back([&, thread] {
        EXPECT_EQ(store.set(rows_of(its), rows_of(its)), 0u);
        EXPECT_EQ(store.set(keys[static_cast<std::size_t>(thread)], "single"), StoreStatus::updated);
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(store.set(rows_of(rows), rows_of(its)), 0u);
    store.erase(rows_of(erased));
    EXPECT_EQ(store.stats().index_failure, "");
  }
  const StoreOptions moves[] = {{.index = StoreIndex::gpu, .devices = {0, 1}},
                                {.index = StoreIndex::gpu, .devices = {1}},
                                {.index = StoreIndex::gpu, .devices = {1, 0}},
                                {}};
  for (const StoreOptions& options : moves) {
    reopen_pool();
    Store store = Store::open(pool_, "s", options);
    StoreItems items;
    store.get(rows_of(rows), items);
    for (int i = 0; i < kKeys; ++i) {
      const auto row = static_cast<std::size_t>(i);
      ASSERT_EQ(items.values.has(row), i >= kErased) << i;
      if (i < kErased) continue;
      ASSERT_EQ(items.values[row], values[row]);
    }
    EXPECT_TRUE(store.check().errors.empty());
  }
}

TEST_F(StoreOnGpus, AreThere) {
  const int devices = cuda_devices();
  try {
    make({.index = StoreIndex::gpu, .devices = {0, devices}});
    ADD_FAILURE() << "a store has an index on no GPU";
  } catch (const DeviceError& error) {
    EXPECT_NE(std::string(error.what())
                  .find("GPU " + std::to_string(devices) + " does not exist: there are " + std::to_string(devices) +
                        ", numbered from 0"),
              std::string::npos)
        << error.what();
  }
  int device = -1;
  ASSERT_EQ(cudaGetDevice(&device), cudaSuccess);
  EXPECT_EQ(device, 0);
}

}  // namespace
}  // namespace holdfast
#endif
