// pipeline_history_test.cpp: callers of a store's pipeline, each with several batches that it does not wait for, are linearizable key by key,
// and the requests of one caller take effect in their order.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>

#include "holdfast/table.hpp"
#include "pipeline_callers.hpp"
#include "proof/subject.hpp"
#include "store/stand_in_index.hpp"

namespace holdfast::test::linear {
namespace {

#if defined(HOLDFAST_SANITIZED)
constexpr std::uint64_t kHistories = 40;
#else
constexpr std::uint64_t kHistories = 150;
#endif

void run_histories(const StorePipelineOptions& options, const StoreOptions& of_store = {}) {
  const std::string path = "/dev/shm/holdfast-linear-pipeline-" + std::to_string(getpid());
  const auto log = std::make_unique<HistoryLog>();
  std::uint64_t overlapping = 0, done = 0;
  Pool pool = Pool::create(path, true);
  Store store = Store::create(pool, "s", of_store);
  StorePipeline pipeline(store, options);
  Verifier verifier;
  const std::uint64_t histories = proof::is_long() ? 10 * kHistories : kHistories;
  for (; done < histories || overlapping < histories / 8; ++done) {
    ASSERT_LT(done, 100 * histories) << "the callers hardly ever met";
    std::memset(static_cast<void*>(log.get()), 0, sizeof(HistoryLog));
    run_pipeline_history(pipeline, done + 1, *log);
    overlapping += overlaps(*log) ? 1 : 0;
    ASSERT_EQ(verifier.add(*log), "") << "history " << done;
  }
  for (const std::uint64_t key : verifier.keys()) {
    const auto item = store.get(std::to_string(key));
    bool torn = false;
    ASSERT_EQ(verifier.add_read(key, item ? value_in(item->value, torn) : State{}), "");
    ASSERT_FALSE(torn);
  }
  std::filesystem::remove(path);
  std::cout << done << " histories, " << overlapping << " with callers that met on a key\n";
}

TEST(PipelineHistory, Direct) { run_histories({.pending = 2}); }
#ifndef HOLDFAST_WITH_CUDA
/// Over a stand-in for the index on a GPU, or on three (stand_in_store.cpp), of which one fails amid the histories.
void run_in_batches(const StorePipelineOptions& options) {
  const std::pair<std::int64_t, std::vector<int>> cases[] = {{-1, {}}, {500, {}}, {900, {0, 1, 2}}};
  for (const auto& [calls, devices] : cases) {
    store::StandIn::calls_left = calls;
    run_histories(options, {.index = StoreIndex::gpu, .devices = devices});
  }
  store::StandIn::calls_left = -1;
}
TEST(PipelineHistory, InBatches) { run_in_batches({}); }
TEST(PipelineHistory, StagedInBatches) { run_in_batches({.mode = StoreMode::staged, .cycle_us = 20}); }
#endif
TEST(PipelineHistory, Staged) { run_histories({.mode = StoreMode::staged, .cycle_us = 20}); }

}  // namespace
}  // namespace holdfast::test::linear
