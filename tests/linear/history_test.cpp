// history_test.cpp: short histories of two to four concurrent callers on a real table, with and without a crash, must be
// durably linearizable key by key. Bounded here; HOLDFAST_LONG=1 runs until 10,000 had callers that met on a key, and
// HOLDFAST_RESULTS=folder keeps the counts.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <thread>

#include "proof/runs/results.hpp"
#include "recorder.hpp"
#include "support/random.hpp"

namespace holdfast::test::linear {
namespace {

bool is_long() {
  const char* value = std::getenv("HOLDFAST_LONG");
  return value != nullptr && std::strcmp(value, "1") == 0;
}

/// Whether callers meet, and what a kill hits, is chance: a bounded run goes on until it was lucky often enough, which takes
/// seconds, or on a busy machine minutes.
class Patience {
 public:
  bool is_left() const { return is_long() || std::chrono::steady_clock::now() < end_; }

 private:
  std::chrono::steady_clock::time_point end_ = std::chrono::steady_clock::now() + std::chrono::minutes(20);
};

std::string pool_path(const char* name) { return "/dev/shm/holdfast-linear-" + std::to_string(getpid()) + "-" + name; }

struct HistoryCounts {
  std::uint64_t histories = 0, overlapping = 0, crashed = 0, crashes = 0, operations = 0, pending = 0;
};

HistoryCounts& counts() {
  static HistoryCounts all;
  return all;
}

/// Writes what was counted to HOLDFAST_RESULTS when all tests have run.
class Writer : public ::testing::Environment {
 public:
  void TearDown() override {
    const char* folder = std::getenv("HOLDFAST_RESULTS");
    if (folder == nullptr || counts().crashes == 0) return;
    proof::Results results("holdfast.linear/1");
    results.add("histories", counts().histories);
    results.add("overlapping", counts().overlapping);
    results.add("crashes", counts().crashes);
    results.add("histories_cut_by_a_crash", counts().crashed);
    results.add("operations", counts().operations);
    results.add("operations_pending_at_a_crash", counts().pending);
    results.add("violations", static_cast<std::uint64_t>(::testing::UnitTest::GetInstance()->failed_test_count()));
    results.write(folder, "linear.json");
  }
};

const auto* const writer = ::testing::AddGlobalTestEnvironment(new Writer);  // GoogleTest owns it

void count(const HistoryLog& log) {
  ++counts().histories;
  counts().overlapping += overlaps(log) ? 1 : 0;
  std::uint64_t pending = 0;
  for (const CallerLog& caller : log.caller) {
    counts().operations += caller.count;
    for (std::uint32_t i = 0; i < caller.count; ++i) pending += caller.records[i].ended == kPending ? 1 : 0;
  }
  counts().pending += pending;
  counts().crashed += pending != 0 || log.stage != 2 ? 1 : 0;
}

NumberedTable make_table(const std::string& path, std::uint64_t seed, const std::string& device = "cpu") {
  CreateOptions options = table_options(seed);
  options.runtime.device = device;
  const std::uint32_t width = options.shape.value_bytes;
  if (options.shape.key_bytes == kVariableBytes) options.shape.value_bytes = kVariableBytes;
  return {Table::create(path, options), options.shape.seed, width};
}

NumberedTable open_table(const std::string& path, std::uint64_t seed) {
  const CreateOptions made = table_options(seed);
  OpenOptions options;
  options.runtime.device = "cpu";
  options.runtime.threads = made.runtime.threads;
  options.tuning.flush = made.tuning.flush;
  options.tuning.moves = made.tuning.moves;
  return {Table::open(path, options), made.shape.seed, made.shape.value_bytes};
}

/// Reads the keys one by one, alone.
std::vector<State> read_all(NumberedTable& table, const std::vector<std::uint64_t>& keys, bool& torn) {
  const std::size_t bytes = table.value_bytes();
  std::vector<char> values(keys.size() * bytes + 1);
  const std::unique_ptr<bool[]> found(new bool[keys.size() + 1]());
  table.find(keys.data(), values.data(), keys.size(), found.get());
  std::vector<State> states;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const std::uint64_t number = number_in(values.data() + i * bytes, bytes, torn);
    states.push_back(found[i] ? State{number} : State{});
  }
  return states;
}

constexpr unsigned kPerTable = 25;

/// Some histories on one table, and what it holds after them.
void check_table(std::uint64_t seed, const std::string& device, HistoryLog& log) {
  const std::string path = pool_path("live");
  NumberedTable table = make_table(path, seed, device);
  Verifier verifier;
  for (std::uint64_t number = 0; number < kPerTable; ++number) {
    std::memset(static_cast<void*>(&log), 0, sizeof(HistoryLog));
    run_history(table, seed, number, log);
    count(log);
    ASSERT_EQ(verifier.add(log), "") << "table " << seed << ", history " << number;
  }
  const std::vector<std::uint64_t> keys = verifier.keys();
  bool torn = false;
  const std::vector<State> states = read_all(table, keys, torn);
  ASSERT_FALSE(torn);
  for (std::size_t i = 0; i < keys.size(); ++i)
    ASSERT_EQ(verifier.add_read(keys[i], states[i]), "") << "table " << seed;
  ASSERT_TRUE(table.check().errors.empty()) << table.check().errors.front();
  std::filesystem::remove(path);
}

#if defined(HOLDFAST_SANITIZED)
constexpr std::uint64_t kTables = 12;
#else
constexpr std::uint64_t kTables = 60;
#endif

TEST(History, ConcurrentCallersAreLinearizable) {
  const std::uint64_t enough = is_long() ? 10'000 : 10 * kTables / 3;
  const auto log = std::make_unique<HistoryLog>();
  const Patience patience;
  for (std::uint64_t seed = 1; seed <= kTables || (counts().overlapping < enough && patience.is_left()); ++seed)
    ASSERT_NO_FATAL_FAILURE(check_table(seed, "cpu", *log));
  EXPECT_GE(counts().histories, kTables * kPerTable);
  EXPECT_GE(counts().overlapping, enough) << "the callers hardly ever met";
}

/// As many tables of keys and values of any length as of others.
TEST(History, ConcurrentCallersOfAGpuAreLinearizable) {
  if (std::string why; cuda_devices(&why) == 0) GTEST_SKIP() << why;
  const std::uint64_t before = counts().overlapping, enough = is_long() ? 2'000 : 100;
  const auto log = std::make_unique<HistoryLog>();
  const Patience patience;
  unsigned fixed = 0, variable = 0;
  for (std::uint64_t seed = 1; variable < 12 || (counts().overlapping < before + enough && patience.is_left());
       ++seed) {
    const bool any_length = table_options(seed).shape.key_bytes == kVariableBytes;
    if (!any_length && fixed > variable) continue;
    ++(any_length ? variable : fixed);
    ASSERT_NO_FATAL_FAILURE(check_table(seed, "cuda", *log));
  }
  EXPECT_GE(counts().overlapping, before + enough) << "the callers hardly ever met";
}

TEST(History, PlantedErrorsInRealLogsAreCaught) {
  const std::string path = pool_path("planted");
  NumberedTable table = make_table(path, 7);
  const auto log = std::make_unique<HistoryLog>();
  unsigned planted = 0;
  for (std::uint64_t number = 0; number < 50 || (planted <= 10 && number < 5000); ++number) {
    std::memset(static_cast<void*>(log.get()), 0, sizeof(HistoryLog));
    run_history(table, 7, number, *log);
    for (std::uint32_t i = 0; i < log->caller[0].count; ++i) {
      Record& record = log->caller[0].records[i];
      if (record.key != 0 || log->key[0] == 0 || !reads_value(record.op) || record.status == Status::not_found)
        continue;
      record.out ^= std::uint64_t{1} << 60;  // a value that nobody wrote
      Verifier verifier;
      EXPECT_NE(verifier.add(*log), "");
      record.out ^= std::uint64_t{1} << 60;
      ++planted;
    }
  }
  std::filesystem::remove(path);
  EXPECT_GT(planted, 10u);
}

/// What a killed child and its successor leave for the parent.
struct CrashLog {
  static constexpr unsigned kHistories = 64, kKeys = 1024;
  std::atomic<std::uint32_t> ready, histories, read;
  std::uint64_t keys[kKeys];
  State states[kKeys];
  std::uint32_t key_count;
  bool torn;
  char error[1024];
  HistoryLog history[kHistories];
};

CrashLog* shared_log() {
  void* at = mmap(nullptr, sizeof(CrashLog), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return at == MAP_FAILED ? nullptr : static_cast<CrashLog*>(at);
}

template <class Work>
pid_t start_child(CrashLog& log, const Work& work) {
  const pid_t pid = fork();
  if (pid != 0) return pid;
  try {
    work();
  } catch (const std::exception& error) {
    std::snprintf(log.error, sizeof(log.error), "%s", error.what());
  }
  _exit(log.error[0] == 0 ? 0 : 3);
}

/// Runs histories until it is killed.
void live(CrashLog& log, const std::string& path, std::uint64_t seed, unsigned life) {
  NumberedTable table = life == 0 ? make_table(path, seed) : open_table(path, seed);
  log.ready = 1;
  for (std::uint64_t i = 0; i < CrashLog::kHistories; ++i) {
    log.histories = static_cast<std::uint32_t>(i + 1);
    run_history(table, seed, life * std::uint64_t{1000} + i, log.history[i]);
  }
  for (;;) pause();
}

/// Reopens the pool of a killed child and reads every key.
void look_after(CrashLog& log, const std::string& path, std::uint64_t seed) {
  NumberedTable table = open_table(path, seed);
  const std::vector<std::uint64_t> keys(log.keys, log.keys + log.key_count);
  const std::vector<State> states = read_all(table, keys, log.torn);
  std::copy(states.begin(), states.end(), log.states);
  const CheckReport report = table.check();
  if (!report.errors.empty()) throw Error(report.errors.front());
  log.read = 1;
}

/// Kills the child some time after it began, half of the time inside a history.
void kill_at_random(CrashLog& log, pid_t child, Random& random) {
  const auto ended = [&] {
    siginfo_t info = {};
    return waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == child;
  };
  const auto stage = [&] { return log.histories == 0 ? 0 : log.history[log.histories - 1].stage.load(); };
  while (log.ready == 0 && !ended()) usleep(20);
  usleep(static_cast<useconds_t>(random.below(4000)));
  const auto is_last_over = [&] { return log.histories == CrashLog::kHistories && stage() == 2; };
  for (const bool waits = random.chance(50); waits && stage() != 1 && !is_last_over() && !ended();) {
    std::this_thread::yield();
  }
  kill(child, SIGKILL);
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << log.error;
}

void run_crashes(CrashLog& log, std::uint64_t seed, unsigned lives) {
  const std::string path = pool_path("crash");
  std::filesystem::remove(path);
  Random random(mix(seed, 0x6b69));
  Verifier verifier;
  for (unsigned life = 0; life < lives; ++life) {
    std::memset(static_cast<void*>(&log), 0, sizeof(CrashLog));
    const pid_t child = start_child(log, [&] { live(log, path, seed, life); });
    kill_at_random(log, child, random);
    if (::testing::Test::HasFatalFailure()) return;
    ++counts().crashes;
    for (std::uint32_t i = 0; i < log.histories; ++i) {
      if (log.history[i].stage == 0) continue;
      count(log.history[i]);
      ASSERT_EQ(verifier.add(log.history[i]), "") << "seed " << seed << ", life " << life << ", history " << i;
    }
    const std::vector<std::uint64_t> keys = verifier.keys();
    ASSERT_LE(keys.size(), CrashLog::kKeys);
    std::copy(keys.begin(), keys.end(), log.keys);
    log.key_count = static_cast<std::uint32_t>(keys.size());
    const pid_t reader = start_child(log, [&] { look_after(log, path, seed); });
    int status = 0;
    waitpid(reader, &status, 0);
    ASSERT_EQ(status, 0) << log.error;
    ASSERT_EQ(log.read.load(), 1u);
    ASSERT_FALSE(log.torn) << "seed " << seed << ", life " << life;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      ASSERT_EQ(verifier.add_read(keys[i], log.states[i]), "") << "seed " << seed << ", after life " << life;
    }
  }
  std::filesystem::remove(path);
}

TEST(History, CallersKilledTogetherAreDurablyLinearizable) {
  CrashLog* log = shared_log();
  ASSERT_NE(log, nullptr);
  const unsigned pools = is_long() ? 250 : 25;
  const Patience patience;
  for (std::uint64_t seed = 1;
       (seed <= pools || (counts().crashed <= pools && patience.is_left())) && !HasFatalFailure(); ++seed) {
    run_crashes(*log, seed * 7919, 4);
  }
  munmap(static_cast<void*>(log), sizeof(CrashLog));
  EXPECT_GE(counts().crashes, pools * 4);
  EXPECT_GT(counts().crashed, pools) << "kills hardly ever hit a history";
}

}  // namespace
}  // namespace holdfast::test::linear
