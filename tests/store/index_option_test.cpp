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
  for (const StoreIndex index : {StoreIndex::cpu, StoreIndex::gpu, StoreIndex::automatic}) {
    reopen_pool();
    Store store = Store::open(pool_, "s", {.index = index});
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
