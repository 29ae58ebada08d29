// store_history_test.cpp: short histories of two to four concurrent callers on a store, with single calls and batches, one in ten cut by a
// kill, must be durably linearizable key by key. Bounded here; HOLDFAST_LONG=1 runs 10,000.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "callers.hpp"
#include "holdfast/store.hpp"
#include "holdfast/strings.hpp"
#include "holdfast/table.hpp"
#include "killed_histories.hpp"
#include "proof/subject.hpp"
#include "recorder.hpp"
#include "store/stand_in_index.hpp"
#include "store_answers.hpp"
#include "support/random.hpp"

namespace holdfast::test::linear {
namespace {

/// A store, and how its histories use it.
struct HistoryStore {
  Store store;
  std::size_t key_bytes = 0;  ///< at least: some stores have items of several lines

  std::string key(std::uint64_t number) const {
    std::string text = std::to_string(number);
    if (text.size() < key_bytes) text.resize(key_bytes, 'k');
    return text;
  }
};

/// Every third store has its index on a GPU, or on a stand-in for one, which fails in every other of those stores. `forks`: a child has it, which
/// cannot use the GPU of its parent.
StoreOptions store_options(std::uint64_t seed, [[maybe_unused]] bool forks) {
  Random random(mix(seed, 0x73746f));
  StoreOptions options{.flush = random.chance(50), .seed = seed | 1};
#ifndef HOLDFAST_WITH_CUDA
  store::StandIn::pause_us = seed % 9 == 0 ? 20 : 0;  // so that calls with one key wait for each other, and are a batch
#endif
  if (seed % 3 != 0) return options;
#ifndef HOLDFAST_WITH_CUDA
  options.index = StoreIndex::gpu;
  const int devices = store::StandIn::devices;
#else
  const int devices = forks ? 0 : cuda_devices();
  if (devices != 0) options.index = StoreIndex::gpu;
#endif
  if (seed % 4 >= 2) {
    for (int device = 0; device < devices; ++device) options.devices.push_back(device);
  }
  return options;
}
HistoryStore history_store(Pool& pool, std::uint64_t seed, bool makes, bool forks = false) {
  constexpr std::size_t kKeyBytes[] = {0, 0, 50, 700};
  const StoreOptions options = store_options(seed, forks);
  Store store = makes ? Store::create(pool, "s", options) : Store::open(pool, "s", options);
#ifndef HOLDFAST_WITH_CUDA
  store::StandIn::calls_left = seed % 2 == 0 ? static_cast<std::int64_t>(mix(seed, 2) % 3000) : -1;
#endif
  return {std::move(store), kKeyBytes[mix(seed, 1) % std::size(kKeyBytes)]};
}

using RowStrings = holdfast::Strings;

StoreRows rows_of(const RowStrings& strings) { return {strings.bytes(), strings.offsets(), strings.size()}; }

class Caller {
 public:
  Caller(HistoryStore& store, HistoryLog& history, CallerLog& log, std::uint64_t seed)
      : its_(store), store_(store.store), history_(history), log_(log), random_(seed) {}

  bool is_full() const { return log_.count.load(std::memory_order_relaxed) + kMaxKeys > kMaxRecords; }

  /// One call, logged before and after.
  void call() {
    const auto how = random_.below(100);
    if (how < 3) return flush();
    if (how < 40) return batch();
    if (how < 55) return compare();
    if (how < 65) return take();
    single();
  }

 private:
  Record& record(std::uint32_t at, Op op) {
    Record& record = log_.records[at];
    record.key = static_cast<std::uint32_t>(random_.below(history_.keys));
    record.op = op;
    record.given = random_.next() >> 8;
    record.after = kNone;
    record.special = Special::none;
    record.ended.store(kPending, std::memory_order_relaxed);
    return record;
  }
  std::uint32_t count() const { return log_.count.load(std::memory_order_relaxed); }
  /// Makes a call of the records from `first` on.
  template <class Act>
  void run(std::uint32_t first, std::uint32_t records, const Act& act) {
    const std::uint64_t begun = history_.clock.fetch_add(1);
    for (std::uint32_t i = first; i < first + records; ++i) log_.records[i].begun = begun;
    log_.count.store(first + records, std::memory_order_release);
    act();
    const std::uint64_t ended = history_.clock.fetch_add(1);
    for (std::uint32_t i = first; i < first + records; ++i) {
      Record& record = log_.records[i];
      record.found = is_there(record.status);
      record.ended.store(ended, std::memory_order_release);
    }
  }
  static void answer(Record& record, bool is_there, std::string_view value) {
    record.status = is_there ? Status::found : Status::not_found;
    if (is_there) record.out = *value_in(value, record.torn);
  }

  void single() {
    constexpr Op kOperations[] = {Op::insert, Op::insert_or_assign, Op::assign,    Op::erase, Op::find,
                                  Op::find,   Op::contains,         Op::accumulate};
    const std::uint32_t at = count();
    Record& record = this->record(at, kOperations[random_.below(std::size(kOperations))]);
    if (record.op == Op::accumulate) {
      record.op = Op::assign;
      record.special = Special::increment;
    }
    const std::string key = its_.key(history_.key[record.key]), value = std::to_string(record.given);
    run(at, 1, [&] {
      if (record.special == Special::increment) {
        record.status = status_of(store_.increment(key, record.given, record.out));
        return;
      }
      switch (record.op) {
        case Op::insert: record.status = status_of(store_.add(key, value)); break;
        case Op::insert_or_assign: record.status = status_of(store_.set(key, value)); break;
        case Op::assign: record.status = status_of(store_.replace(key, value)); break;
        case Op::erase: record.status = status_of(store_.erase(key)); break;
        case Op::contains: record.status = store_.contains(key) ? Status::found : Status::not_found; break;
        default: const auto item = store_.get(key); answer(record, item.has_value(), item ? item->value : "");
      }
    });
  }
  /// A read, and a `cas` with the id that it found: it fits while the key has that value.
  void compare() {
    const std::uint32_t at = count();
    Record& read = record(at, Op::find);
    const std::string key = its_.key(history_.key[read.key]);
    std::optional<StoreItem> item;
    run(at, 1, [&] {
      item = store_.get(key);
      answer(read, item.has_value(), item ? item->value : "");
    });
    if (!item) return;
    Record& change = record(at + 1, Op::assign);
    change.key = read.key;
    change.special = Special::compare;
    change.expected = read.out;
    if (random_.chance(50)) std::this_thread::yield();
    run(at + 1, 1, [&] { change.status = status_of(store_.cas(key, std::to_string(change.given), item->cas)); });
  }
  /// Gives an item an expiry that has come, which removes it, and reads its value: one change.
  void take() {
    const std::uint32_t at = count();
    Record& record = this->record(at, Op::erase);
    record.special = Special::take;
    run(at, 1, [&] {
      const auto item = store_.get_and_touch(its_.key(history_.key[record.key]), 1);
      record.status = item ? Status::erased : Status::not_found;
      if (item) record.out = *value_in(item->value, record.torn);
    });
  }
  /// Removes every key: an operation on each.
  void flush() {
    const std::uint32_t first = count();
    for (std::uint32_t key = 0; key < history_.keys; ++key) {
      Record& one = record(first + key, Op::erase);
      one.key = key;
      one.special = Special::flush;
    }
    run(first, history_.keys, [&] { store_.flush_all(); });
  }
  /// Up to three rows, in array order, among others on keys that are not searched.
  void batch() {
    constexpr Op kOperations[] = {Op::find, Op::insert_or_assign, Op::erase};
    const Op op = kOperations[random_.below(std::size(kOperations))];
    const std::uint32_t first = count(), rows = static_cast<std::uint32_t>(1 + random_.below(kMaxKeys));
    const std::uint64_t around = random_.chance(60) ? random_.below(50) : 0;
    RowStrings keys, values;
    for (std::uint32_t i = first; i < first + rows; ++i) {
      Record& row = record(i, op);
      for (std::uint32_t j = first; j < i; ++j) {
        if (log_.records[j].key == row.key) row.after = j;
      }
      for (std::uint64_t other = 0; other < around; ++other) {
        keys.add("filler " + std::to_string(random_.below(500)));
        values.add(std::string(random_.below(300), 'f'));
      }
      keys.add(its_.key(history_.key[row.key]));
      values.add(std::to_string(row.given));
    }
    const auto at = [&](std::uint32_t i) { return (i + 1) * (1 + around) - 1; };
    std::vector<StoreStatus> statuses(keys.size());
    run(first, rows, [&] {
      StoreItems items;
      if (op == Op::find) store_.get(rows_of(keys), items);
      if (op == Op::insert_or_assign) store_.set(rows_of(keys), rows_of(values), {}, statuses);
      if (op == Op::erase) store_.erase(rows_of(keys), statuses);
      for (std::uint32_t i = 0; i < rows; ++i) {
        Record& row = log_.records[first + i];
        if (op != Op::find) {
          row.status = status_of(statuses[at(i)]);
        } else {
          const bool is_there = items.values.has(at(i));
          answer(row, is_there, is_there ? items.values[at(i)] : std::string_view());
        }
      }
    });
  }

  HistoryStore& its_;
  Store& store_;
  HistoryLog& history_;
  CallerLog& log_;
  Random random_;
};

/// `log` is all zero.
void run_store_history(HistoryStore& store, std::uint64_t seed, std::uint64_t number, HistoryLog& log) {
  const std::uint64_t history_seed = mix(seed, number);
  Random random(history_seed);
  log.callers = static_cast<std::uint32_t>(2 + random.below(kMaxCallers - 1));
  log.keys = static_cast<std::uint32_t>(1 + random.below(kMaxKeys));
  for (std::uint32_t i = 0; i < log.keys; ++i) log.key[i] = mix(history_seed, i);
  const std::uint64_t calls = 3 + random.below(8);
  run_callers(log, [&](std::uint32_t number_of, Meeting& meeting) {
    Caller caller(store, log, log.caller[number_of], mix(history_seed, 100 + number_of));
    for (std::uint64_t i = 0; i < calls; ++i) {
      meeting.before(i);
      if (!caller.is_full()) caller.call();
    }
  });
}

std::string store_path(const char* name) {
  return "/dev/shm/holdfast-linear-store-" + std::to_string(getpid()) + "-" + name;
}

/// Reads every key that was met, alone, and verifies the store.
void read_every_key(HistoryStore& store, Verifier& verifier) {
  for (const std::uint64_t key : verifier.keys()) {
    const auto item = store.store.get(store.key(key));
    bool torn = false;
    const State state = item ? value_in(item->value, torn) : State{};
    ASSERT_FALSE(torn) << item->value;
    ASSERT_EQ(verifier.add_read(key, state), "");
  }
  const CheckReport report = store.store.check();
  ASSERT_TRUE(report.errors.empty()) << report.errors.front();
}

#if defined(HOLDFAST_SANITIZED)
constexpr std::uint64_t kBoundedStores = 200;
#else
constexpr std::uint64_t kBoundedStores = 3000;
#endif
std::uint64_t store_histories() { return proof::is_long() ? 10'000 : kBoundedStores; }

TEST(StoreHistory, ConcurrentCallersAreLinearizable) {
  constexpr std::uint64_t kPerStore = 100;
  const std::string path = store_path("live");
  const auto log = std::make_unique<HistoryLog>();
  std::uint64_t overlapping = 0, done = 0;
  for (std::uint64_t seed = 1; done < store_histories() / 10 * 9 || overlapping < store_histories() / 8; ++seed) {
    ASSERT_LT(done, 100 * store_histories()) << "the callers hardly ever met";
    Pool pool = Pool::create(path, true);
    HistoryStore store = history_store(pool, seed, true);
    Verifier verifier;
    for (std::uint64_t number = 0; number < kPerStore; ++number, ++done) {
      std::memset(static_cast<void*>(log.get()), 0, sizeof(HistoryLog));
      run_store_history(store, seed, number, *log);
      overlapping += overlaps(*log) ? 1 : 0;
      ASSERT_EQ(verifier.add(*log), "") << "store " << seed << ", history " << number;
    }
    // A later flush removed keys of earlier histories: those are not looked at again.
    ASSERT_TRUE(store.store.check().errors.empty()) << "store " << seed;
  }
  std::filesystem::remove(path);
  std::cout << done << " histories, " << overlapping << " with callers that met on a key\n";
}

/// Runs histories until it is killed.
void live_with_store(KilledHistories& histories, const std::string& path, std::uint64_t seed, std::uint64_t life) {
  Pool pool = life == 0 ? Pool::create(path, true) : Pool::open(path);
  HistoryStore store = history_store(pool, seed, life == 0, true);
  histories.run([&](unsigned number, HistoryLog& log) { run_store_history(store, seed, life * 1000 + number, log); });
}

TEST(StoreHistory, KillsCutHistories) {
  const std::string path = store_path("killed");
  KilledHistories killed;
  Random random(1);
  std::uint64_t cut = 0;
  for (std::uint64_t seed = 1; cut < store_histories() / 10; ++seed) {
    for (std::uint64_t life = 0; life < 4; ++life) {
      ASSERT_NO_FATAL_FAILURE(killed.kill_one(
          random, [&] { live_with_store(killed, path, seed, life); }, [&] { spin(random.below(20'000)); }));
      Verifier verifier, last;
      killed.for_each([&](std::uint32_t number, const HistoryLog& log) {
        cut += log.stage == 1 ? 1 : 0;
        EXPECT_EQ((killed.is_last(number) ? last : verifier).add(log), "")
            << "seed " << seed << ", life " << life << ", history " << number;
      });
      ASSERT_FALSE(HasFailure());
      Pool pool = Pool::open(path);
      HistoryStore store = history_store(pool, seed, false, true);
      ASSERT_NO_FATAL_FAILURE(read_every_key(store, last)) << "seed " << seed << ", life " << life;
    }
  }
  std::filesystem::remove(path);
  std::cout << cut << " histories cut by a kill\n";
}

/// The checker would notice, in real logs: a value that was never written, a `cas` that did not fit and a wrong sum.
TEST(StoreHistory, PlantedErrorsAreCaught) {
  const std::string path = store_path("planted");
  Pool pool = Pool::create(path, true);
  HistoryStore store = history_store(pool, 7, true);
  const auto log = std::make_unique<HistoryLog>();
  unsigned values = 0, compared = 0, sums = 0;
  const auto are_enough = [&] { return values > 50 && compared > 20 && sums > 10; };  // how callers meet is chance
  for (std::uint64_t number = 0; number < 300 || (!are_enough() && number < 10'000); ++number) {
    std::memset(static_cast<void*>(log.get()), 0, sizeof(HistoryLog));
    run_store_history(store, 7, number, *log);
    const auto is_caught = [&] { return !Verifier().add(*log).empty(); };
    for (std::uint32_t i = 0; i < log->caller[0].count; ++i) {
      Record& record = log->caller[0].records[i];
      const bool reads = record.op == Op::find && record.special == Special::none && record.status == Status::found;
      const bool counts = record.special == Special::increment && record.status == Status::updated;
      if (reads || counts) {
        record.out ^= std::uint64_t{1} << 62;
        EXPECT_TRUE(is_caught());
        record.out ^= std::uint64_t{1} << 62;
        ++(reads ? values : sums);
      }
      if (record.special == Special::compare && record.status == Status::updated) {
        record.expected ^= std::uint64_t{1} << 62;
        EXPECT_TRUE(is_caught());
        record.expected ^= std::uint64_t{1} << 62;
        ++compared;
      }
    }
  }
  EXPECT_TRUE(are_enough()) << values << " values, " << compared << " compared, " << sums << " sums";
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace holdfast::test::linear
