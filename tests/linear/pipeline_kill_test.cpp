// pipeline_kill_test.cpp: a process whose threads use a store through a pipeline is killed: what was answered is there when the store is opened
// again, whole and not older, and what was not answered happened or did not. HOLDFAST_LONG=1 kills 1,000 times in each mode.
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <optional>
#include <set>

#include "holdfast/table.hpp"
#include "killed_histories.hpp"
#include "pipeline_callers.hpp"
#include "proof/subject.hpp"

namespace holdfast::test::linear {
namespace {

/// A journal that is behind by some changes: it holds answers for a while.
class LateJournal : public StoreDurability {
 public:
  explicit LateJournal(Store& store) : store_(store), thread_([this](const std::stop_token& stop) { run(stop); }) {}
  std::uint64_t durable() const override { return durable_.load(); }

 private:
  void run(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      std::this_thread::sleep_for(std::chrono::microseconds(100));
      store_.set("journal", "");
      durable_ = store_.get("journal")->cas;
    }
  }
  Store& store_;
  std::atomic<std::uint64_t> durable_ = 0;
  std::jthread thread_;
};

struct Way {
  StorePipelineOptions options;
  unsigned most_us;      ///< of a history's life, about
  bool is_late = false;  ///< answers wait for a LateJournal
};

/// Runs histories until it is killed.
void live_behind_pipeline(KilledHistories& histories, const std::string& path, const Way& way, std::uint64_t seed,
                          std::uint64_t life) {
  Pool pool = life == 0 ? Pool::create(path, true) : Pool::open(path);
  const StoreOptions of_store{.flush = seed % 2 == 0, .seed = seed};
  Store store = life == 0 ? Store::create(pool, "s", of_store) : Store::open(pool, "s", of_store);
  std::optional<LateJournal> journal;
  StorePipelineOptions options = way.options;
  if (way.is_late) options.durability = &journal.emplace(store);
  StorePipeline pipeline(store, options);
  histories.run(
      [&](unsigned number, HistoryLog& log) { run_pipeline_history(pipeline, mix(seed, life * 1000 + number), log); });
}

/// Whether an operation of the history was answered, and whether one was not.
std::set<bool> answered(const HistoryLog& log) {
  std::set<bool> which;
  for (const CallerLog& caller : log.caller) {
    for (std::uint32_t i = 0; i < caller.count; ++i) which.insert(caller.records[i].ended != kPending);
  }
  return which;
}

void kill_pipelines(const Way& way) {
  const std::string path = "/dev/shm/holdfast-killed-pipeline-" + std::to_string(getpid());
  KilledHistories killed;
#if defined(HOLDFAST_SANITIZED)
  constexpr std::uint64_t kBounded = 8;
#else
  constexpr std::uint64_t kBounded = 60;
#endif
  const std::uint64_t kills = proof::is_long() ? 1000 : kBounded;
  Random random(1);
  std::uint64_t cut = 0, in_part = 0, done = 0;
  for (std::uint64_t seed = 1; done < kills; ++seed) {
    Verifier verifier;  // of all keys of the store, for all its lives
    for (std::uint64_t life = 0; life < 4; ++life, ++done) {
      ASSERT_NO_FATAL_FAILURE(killed.kill_one(
          random, [&] { live_behind_pipeline(killed, path, way, seed, life); },
          [&] { std::this_thread::sleep_for(std::chrono::microseconds(random.below(way.most_us))); }));
      const std::string where = "seed " + std::to_string(seed) + ", life " + std::to_string(life);
      killed.for_each([&](std::uint32_t number, const HistoryLog& history) {
        cut += history.stage == 1 ? 1 : 0;
        in_part += history.stage == 1 && answered(history).size() == 2 ? 1 : 0;
        EXPECT_EQ(verifier.add(history), "") << where << ", history " << number;
      });
      ASSERT_FALSE(testing::Test::HasFailure());
      Pool pool = Pool::open(path);
      Store store = Store::open(pool, "s");
      for (const std::uint64_t key : verifier.keys()) {
        const auto item = store.get(std::to_string(key));
        bool torn = false;
        const State state = item ? value_in(item->value, torn) : State{};
        ASSERT_FALSE(torn) << item->value;
        ASSERT_EQ(verifier.add_read(key, state), "") << where;
      }
      const CheckReport report = store.check();
      ASSERT_TRUE(report.errors.empty()) << report.errors.front();
    }
  }
  std::filesystem::remove(path);
  EXPECT_GE(cut, kills / 4) << "hardly a kill met a history";
  // Where nothing holds answers, a caller has all of its own within microseconds: on one core no kill comes between.
  if (way.is_late) {
    EXPECT_GE(in_part, kills / 30) << "hardly a kill met callers that wait";
  }
  std::cout << done << " kills, " << cut << " cut a history, " << in_part << " of them behind some answers\n";
}

TEST(PipelineKill, Direct) { kill_pipelines({{.pending = 2}, 500}); }
TEST(PipelineKill, Staged) { kill_pipelines({{.mode = StoreMode::staged, .cycle_us = 20}, 2000}); }
TEST(PipelineKill, AnswersThatAJournalHolds) {
  kill_pipelines({{}, 2000, true});
  kill_pipelines({{.mode = StoreMode::staged, .cycle_us = 20}, 3000, true});
}

}  // namespace
}  // namespace holdfast::test::linear
