// group_history_test.cpp: short histories of two to four concurrent callers on a group table, one in ten cut by a kill, must be durably
// linearizable key by key. Bounded here; HOLDFAST_LONG=1 runs 10,000.
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>

#include "callers.hpp"
#include "holdfast/structures.hpp"
#include "holdfast/table.hpp"
#include "killed_histories.hpp"
#include "proof/subject.hpp"
#include "recorder.hpp"
#include "support/random.hpp"

namespace holdfast::test::linear {
namespace {

using Item = std::array<std::uint64_t, 2>;

/// A key or a value that stands for a number.
Item item_of(std::uint64_t number) { return {number, number}; }

GroupTableOptions group_options(std::uint64_t seed) {
  Random random(mix(seed, 0x67726f));
  GroupTableOptions options;
  options.item_bytes = random.chance(60) ? 32 : 16;
  options.cells = 1;
  options.group_size = 64;
  options.seed = seed | 1;
  options.flush = random.chance(70);
  return options;
}

/// One operation, logged before and after.
void call(GroupTable& table, Random& random, HistoryLog& history, CallerLog& log) {
  constexpr Op kOperations[] = {Op::insert, Op::insert, Op::assign, Op::assign, Op::erase, Op::find, Op::find};
  const std::uint32_t at = log.count.load(std::memory_order_relaxed);
  Record& record = log.records[at];
  record.key = static_cast<std::uint32_t>(random.below(history.keys));
  record.op = kOperations[random.below(std::size(kOperations))];
  record.given = random.next() >> 8;
  record.after = kNone;
  record.ended.store(kPending, std::memory_order_relaxed);
  const Item key = item_of(history.key[record.key]), given = item_of(record.given);
  Item read = {};
  record.begun = history.clock.fetch_add(1);
  log.count.store(at + 1, std::memory_order_release);
  Status status = Status::not_run;
  switch (record.op) {
    case Op::insert: status = table.insert(key.data(), given.data()); break;
    case Op::assign: status = table.assign(key.data(), given.data()); break;
    case Op::erase: status = table.erase(key.data()); break;
    default: status = table.find(key.data(), read.data()); break;
  }
  const std::uint64_t ended = history.clock.fetch_add(1);
  record.status = status;
  record.found =
      status == Status::exists || status == Status::updated || status == Status::erased || status == Status::found;
  record.out = read[0];
  record.torn = status == Status::found && table.key_bytes() == 16 && read[1] != read[0];
  record.ended.store(ended, std::memory_order_release);
}

/// Keys that are not searched, which make the table grow.
void disturb(GroupTable& table, std::uint64_t seed) {
  for (unsigned i = 0; i < 200; ++i) {
    const Item item = item_of(mix(seed, 1000 + i) | 1);
    table.insert(item.data(), item.data());
  }
}

/// `log` is all zero.
void run_group_history(GroupTable& table, std::uint64_t seed, std::uint64_t number, HistoryLog& log) {
  const std::uint64_t history_seed = mix(seed, number);
  Random random(history_seed);
  log.callers = static_cast<std::uint32_t>(2 + random.below(kMaxCallers - 1));
  log.keys = static_cast<std::uint32_t>(1 + random.below(kMaxKeys));
  for (std::uint32_t i = 0; i < log.keys; ++i) log.key[i] = mix(history_seed, i) & ~std::uint64_t{1};
  if (random.chance(30)) log.key[0] = 0;
  const bool disturbs = random.chance(10);
  const std::uint64_t calls = 4 + random.below(kMaxRecords - 3);
  run_callers(log, [&](std::uint32_t caller, Meeting& meeting) {
    Random own(mix(history_seed, 100 + caller));
    for (std::uint64_t i = 0; i < calls; ++i) {
      meeting.before(i);
      if (disturbs && caller == 0 && i == calls / 2) disturb(table, history_seed);
      call(table, own, log, log.caller[caller]);
    }
  });
}

std::string group_path(const char* name) {
  return "/dev/shm/holdfast-linear-group-" + std::to_string(getpid()) + "-" + name;
}

/// Reads every key that was met, alone, and verifies the table.
void read_all(GroupTable& table, Verifier& verifier) {
  for (const std::uint64_t key : verifier.keys()) {
    Item value = {};
    const bool found = table.find(item_of(key).data(), value.data()) == Status::found;
    ASSERT_TRUE(!found || table.key_bytes() == 8 || value[0] == value[1]) << "a torn value";
    ASSERT_EQ(verifier.add_read(key, found ? State{value[0]} : State{}), "");
  }
  const CheckReport report = table.check();
  ASSERT_TRUE(report.errors.empty()) << report.errors.front();
}

#if defined(HOLDFAST_SANITIZED)
constexpr std::uint64_t kBounded = 200;
#else
constexpr std::uint64_t kBounded = 1500;
#endif
std::uint64_t histories() { return proof::is_long() ? 10'000 : kBounded; }

TEST(GroupHistory, ConcurrentCallersAreLinearizable) {
  constexpr std::uint64_t kPerTable = 50;
  const std::string path = group_path("live");
  const auto log = std::make_unique<HistoryLog>();
  std::uint64_t overlapping = 0, done = 0;
  for (std::uint64_t seed = 1; done < histories() / 10 * 9 || overlapping < histories() / 8; ++seed) {
    ASSERT_LT(done, 100 * histories()) << "the callers hardly ever met";
    Pool pool = Pool::create(path, true);
    GroupTable table = GroupTable::create(pool, "g", group_options(seed));
    Verifier verifier;
    for (std::uint64_t number = 0; number < kPerTable; ++number, ++done) {
      std::memset(static_cast<void*>(log.get()), 0, sizeof(HistoryLog));
      run_group_history(table, seed, number, *log);
      overlapping += overlaps(*log) ? 1 : 0;
      ASSERT_EQ(verifier.add(*log), "") << "table " << seed << ", history " << number;
    }
    ASSERT_NO_FATAL_FAILURE(read_all(table, verifier)) << "table " << seed;
  }
  std::filesystem::remove(path);
  std::cout << done << " histories, " << overlapping << " with callers that met on a key\n";
}

/// Runs histories until it is killed.
void live_with_groups(KilledHistories& histories, const std::string& path, std::uint64_t seed, std::uint64_t life) {
  Pool pool = life == 0 ? Pool::create(path, true) : Pool::open(path);
  GroupTable table =
      life == 0 ? GroupTable::create(pool, "g", group_options(seed)) : GroupTable::open(pool, "g", group_options(seed));
  histories.run([&](unsigned number, HistoryLog& log) { run_group_history(table, seed, life * 1000 + number, log); });
}

TEST(GroupHistory, KillsCutHistories) {
  const std::string path = group_path("killed");
  KilledHistories killed;
  Random random(1);
  std::uint64_t cut = 0;
  for (std::uint64_t seed = 1; cut < histories() / 10; ++seed) {
    Verifier verifier;
    for (std::uint64_t life = 0; life < 4; ++life) {
      ASSERT_NO_FATAL_FAILURE(killed.kill_one(
          random, [&] { live_with_groups(killed, path, seed, life); }, [&] { spin(random.below(20'000)); }));
      killed.for_each([&](std::uint32_t number, const HistoryLog& log) {
        cut += log.stage == 1 ? 1 : 0;
        EXPECT_EQ(verifier.add(log), "") << "seed " << seed << ", life " << life << ", history " << number;
      });
      ASSERT_FALSE(HasFailure());
      Pool pool = Pool::open(path);
      GroupTable table = GroupTable::open(pool, "g");
      ASSERT_NO_FATAL_FAILURE(read_all(table, verifier)) << "seed " << seed << ", life " << life;
    }
  }
  std::filesystem::remove(path);
  std::cout << cut << " histories cut by a kill\n";
}

/// The checker would notice: a value that was never written, in real logs.
TEST(GroupHistory, PlantedErrorsAreCaught) {
  const std::string path = group_path("planted");
  Pool pool = Pool::create(path, true);
  GroupTable table = GroupTable::create(pool, "g", group_options(7));
  const auto log = std::make_unique<HistoryLog>();
  unsigned planted = 0;
  for (std::uint64_t number = 0; number < 50 || (planted <= 10 && number < 5000); ++number) {
    std::memset(static_cast<void*>(log.get()), 0, sizeof(HistoryLog));
    run_group_history(table, 7, number, *log);
    EXPECT_EQ(missed_plants(*log, planted), 0u);
  }
  EXPECT_GT(planted, 10u);
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace holdfast::test::linear
