// index_option_test.cpp: where a store has its index: on a GPU, on none where there is none, and on the CPU when the GPU fails. With a stand-in for
// a GPU's index.
#ifndef HOLDFAST_WITH_CUDA
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "holdfast/error.hpp"
#include "store/stand_in_index.hpp"
#include "store/store_fixture.hpp"

namespace holdfast {
namespace {

class StoreIndexOption : public StoreTest {
 protected:
  void TearDown() override {
    store::StandIn::is_missing = false;
    store::StandIn::calls_left = -1;
  }
};

TEST_F(StoreIndexOption, TheIndexIsOnTheCpuUnlessAskedFor) {
  EXPECT_FALSE(make().stats().index_on_gpu);
  EXPECT_FALSE(Store::create(pool_, "cpu", {.index = StoreIndex::cpu}).stats().index_on_gpu);
  Store store = Store::create(pool_, "gpu", {.index = StoreIndex::gpu});
  EXPECT_TRUE(store.stats().index_on_gpu);
  EXPECT_EQ(store.set("a", "1"), StoreStatus::inserted);
  EXPECT_EQ(store.get("a")->value, "1");
  EXPECT_EQ(store.stats().items, 1u);
}

TEST_F(StoreIndexOption, AStoreMovesBetweenIndexes) {
  std::vector<std::string> keys;
  for (int i = 0; i < 1000; ++i) keys.push_back("key " + std::to_string(i));
  const Strings rows = strings(keys);
  make({.index = StoreIndex::gpu}).set(rows_of(rows), rows_of(rows), {}, {});
  const StoreOptions moves[] = {{.index = StoreIndex::cpu},
                                {.index = StoreIndex::gpu},
                                {.index = StoreIndex::gpu, .devices = {1}},
                                {.index = StoreIndex::gpu, .devices = {2, 0}},
                                {.index = StoreIndex::gpu, .devices = {0, 1, 2}},
                                {}};
  for (const StoreOptions& options : moves) {
    reopen_pool();
    Store store = Store::open(pool_, "s", options);
    EXPECT_EQ(store.stats().index_on_gpu, options.index == StoreIndex::gpu);
    StoreItems items;
    store.get(rows_of(rows), items);
    for (std::size_t i = 0; i < keys.size(); ++i) ASSERT_EQ(items.values[i], keys[i]);
    EXPECT_TRUE(store.check().errors.empty());
  }
}

TEST_F(StoreIndexOption, WithoutAGpuTheErrorSaysSo) {
  store::StandIn::is_missing = true;
  try {
    make({.index = StoreIndex::gpu});
    ADD_FAILURE() << "a store has an index on no GPU";
  } catch (const DeviceError& error) {
    EXPECT_NE(std::string(error.what()).find("cannot have its index on a GPU: this machine has no NVIDIA GPU"),
              std::string::npos)
        << error.what();
  }
  EXPECT_EQ(make().set("a", "1"), StoreStatus::inserted);
  EXPECT_THROW(Store::open(pool_, "s", {.index = StoreIndex::gpu}), DeviceError);
  EXPECT_EQ(Store::open(pool_, "s").get("a")->value, "1");
}

TEST_F(StoreIndexOption, DevicesAreThere) {
  const auto error_of = [&](const StoreOptions& options) -> std::string {
    try {
      Store::create(pool_, "refused", options);
    } catch (const InvalidArgument& error) {
      return error.what();
    } catch (const DeviceError& error) {
      return std::string("device: ") + error.what();
    }
    return "none";
  };
  const auto expect_error = [&](const StoreOptions& options, const std::string& part) {
    const std::string error = error_of(options);
    EXPECT_NE(error.find(part), std::string::npos) << error;
  };
  expect_error({.devices = {0}}, "has devices, but its index is not on a GPU: give the index gpu too, or no devices");
  expect_error({.index = StoreIndex::cpu, .devices = {0, 1}}, "but its index is not on a GPU");
  expect_error({.index = StoreIndex::gpu, .devices = {1, 0, 1}}, "names GPU 1 twice: name each once");
  expect_error({.index = StoreIndex::gpu, .devices = {0, -1}}, "on GPU -1: GPUs are numbered from 0");
  expect_error({.index = StoreIndex::gpu, .devices = std::vector<int>(257)}, "on 257 GPUs: name up to 256");
  const std::string none = "cannot have its index on a GPU: GPU 3 does not exist: there are 3, numbered from 0";
  expect_error({.index = StoreIndex::gpu, .devices = {0, 3}}, "device: " + pool_.path());
  expect_error({.index = StoreIndex::gpu, .devices = {0, 3}}, none);
  expect_error({.index = StoreIndex::gpu, .devices = {3}}, none);
}

TEST_F(StoreIndexOption, EachDeviceHasItsShareOfTheKeys) {
  Store store = make({.index = StoreIndex::gpu, .devices = {0, 2}});
  std::vector<std::string> keys;
  for (int i = 0; i < 1000; ++i) keys.push_back("key " + std::to_string(i));
  store::StandIn::calls = store::StandIn::rows = 0;
  const Strings rows = strings(keys);
  store.set(rows_of(rows), rows_of(rows), {}, {});
  EXPECT_EQ(store.stats().items, 1000u);
  EXPECT_EQ(store::StandIn::calls, 4u) << "a search and an exchange of each";
  EXPECT_EQ(store::StandIn::rows, 2000u);
}

TEST_F(StoreIndexOption, AGpuThatFailsIsReportedAndNothingIsLost) {
  Store store = make({.index = StoreIndex::gpu});
  for (int i = 0; i < 100; ++i) ASSERT_EQ(store.set(std::to_string(i), "1"), StoreStatus::inserted);
  store::StandIn::calls_left = 1;  // the exchange
  EXPECT_EQ(store.set("7", "2"), StoreStatus::updated);
  EXPECT_EQ(store.stats().index_failure, "the GPU was lost");
  EXPECT_FALSE(store.stats().index_on_gpu);
  EXPECT_EQ(store.get("7")->value, "2");
  EXPECT_EQ(store.get("8")->value, "1");
  EXPECT_EQ(store.stats().items, 100u);
}

}  // namespace
}  // namespace holdfast
#endif
