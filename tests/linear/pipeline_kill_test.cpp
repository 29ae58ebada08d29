// pipeline_kill_test.cpp: a process whose threads use a store through a pipeline is killed: what was answered is there when the store is opened
// again, whole and not older, and what was not answered happened or did not. HOLDFAST_LONG=1 kills 1,000 times in each mode.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <optional>
#include <set>

#include "holdfast/table.hpp"
#include "pipeline_callers.hpp"
#include "proof/subject.hpp"

namespace holdfast::test::linear {
namespace {

/// What a killed child leaves, in shared memory.
struct KilledPipelineLog {
  static constexpr unsigned kMost = 24;
  std::atomic<std::uint32_t> begun;  ///< histories
  HistoryLog history[kMost];
};

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
[[noreturn]] void live_behind_pipeline(KilledPipelineLog& log, const std::string& path, const Way& way,
                                       std::uint64_t seed, std::uint64_t life) {
  try {
    Pool pool = life == 0 ? Pool::create(path, true) : Pool::open(path);
    const StoreOptions of_store{.flush = seed % 2 == 0, .seed = seed};
    Store store = life == 0 ? Store::create(pool, "s", of_store) : Store::open(pool, "s", of_store);
    std::optional<LateJournal> journal;
    StorePipelineOptions options = way.options;
    if (way.is_late) options.durability = &journal.emplace(store);
    StorePipeline pipeline(store, options);
    for (unsigned i = 0; i < KilledPipelineLog::kMost; ++i) {
      log.begun = i + 1;
      run_pipeline_history(pipeline, mix(seed, life * 1000 + i), log.history[i]);
    }
    for (;;) pause();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
  }
  _exit(3);
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
  auto* const log = static_cast<KilledPipelineLog*>(
      mmap(nullptr, sizeof(KilledPipelineLog), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(static_cast<void*>(log), MAP_FAILED);
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
      std::memset(static_cast<void*>(log), 0, sizeof(KilledPipelineLog));
      const pid_t child = fork();
      if (child == 0) live_behind_pipeline(*log, path, way, seed, life);
      const std::uint32_t last = 1 + static_cast<std::uint32_t>(random.below(KilledPipelineLog::kMost));
      int status = 0;
      const auto is_there = [&] { return log->begun >= last && log->history[last - 1].stage != 0; };
      while (!is_there() && waitpid(child, &status, WNOHANG) == 0) std::this_thread::yield();
      ASSERT_TRUE(is_there()) << "the child ended";
      std::this_thread::sleep_for(std::chrono::microseconds(random.below(way.most_us)));
      kill(child, SIGKILL);
      waitpid(child, &status, 0);
      ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
      const std::string where = "seed " + std::to_string(seed) + ", life " + std::to_string(life);
      for (std::uint32_t i = 0; i < log->begun; ++i) {
        const HistoryLog& history = log->history[i];
        if (history.stage == 0) continue;
        cut += history.stage == 1 ? 1 : 0;
        in_part += history.stage == 1 && answered(history).size() == 2 ? 1 : 0;
        ASSERT_EQ(verifier.add(history), "") << where << ", history " << i;
      }
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
  munmap(log, sizeof(KilledPipelineLog));
  std::filesystem::remove(path);
  EXPECT_GE(in_part, kills / 15) << "hardly a kill met callers that wait";
  std::cout << done << " kills, " << cut << " cut a history, " << in_part << " of them behind some answers\n";
}

TEST(PipelineKill, Direct) { kill_pipelines({{.workers = 2, .pending = 2}, 500}); }
TEST(PipelineKill, Staged) { kill_pipelines({{.mode = StoreMode::staged, .workers = 2, .cycle_us = 20}, 2000}); }
TEST(PipelineKill, AnswersThatAJournalHolds) {
  kill_pipelines({{}, 2000, true});
  kill_pipelines({{.mode = StoreMode::staged, .cycle_us = 20}, 3000, true});
}

}  // namespace
}  // namespace holdfast::test::linear
