// everything_test.cpp: ten threads call everything of a pool and its tables at once, batches that stop and whatever runs in between
// too. Nobody hangs, and nothing is lost. Run under ThreadSanitizer too; HOLDFAST_STRESS_S=60 makes it longer.
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "holdfast/memory_table.hpp"
#include "holdfast/pool.hpp"
#include "holdfast/table.hpp"
#include "support/whole_values.hpp"

namespace holdfast::test {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t kOwn = 300'000;      // keys of a writer: a batch of all of them has several pieces, in memory too
constexpr std::size_t kOfTable = 150'000;  // that it has in a durable table

std::chrono::milliseconds duration() {
  const char* const seconds = std::getenv("HOLDFAST_STRESS_S");
  return std::chrono::milliseconds(seconds == nullptr ? 1500 : 1000 * std::atoi(seconds));
}

/// Ends the process if the test has not ended long after it should have.
class Watchdog {
 public:
  Watchdog()
      : thread_([this] {
          const auto limit = Clock::now() + 4 * duration() + std::chrono::minutes(5);
          while (!over_ && Clock::now() < limit) std::this_thread::sleep_for(std::chrono::milliseconds(50));
          if (over_) return;
          std::fputs("the threads hang: attach a debugger to the core\n", stderr);
          std::abort();
        }) {}
  ~Watchdog() {
    over_ = true;
    thread_.join();
  }

 private:
  std::atomic<bool> over_{false};
  std::thread thread_;
};

/// Calls each of `works` in a thread of its own, again and again, with the number of the round.
void run_all(const std::vector<std::function<void(unsigned)>>& works, Clock::duration time = duration()) {
  const Watchdog watchdog;
  const auto until = Clock::now() + time;
  std::vector<std::thread> threads;
  for (const auto& work : works) {
    threads.emplace_back([&] {
      for (unsigned round = 1; round <= 2 || Clock::now() < until; ++round) work(round);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

/// What a writer knows of its own keys, whose values have some words.
struct Writer {
  explicit Writer(std::uint64_t number, std::size_t size, std::size_t words_of_value = 1)
      : keys(size), values(size * words_of_value), statuses(size), words(words_of_value) {
    std::iota(keys.begin(), keys.end(), number * kOwn);
  }

  /// Writes `version` to all of them in a batch that is stopped after every piece, and calls `between` then.
  template <class AnyTable>
  void write(AnyTable& table, std::uint64_t version, const std::function<void()>& between) {
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = (keys[i / words] + i % words) * 1000 + version;
    Batch batch;
    batch.op = Op::insert_or_assign;
    batch.size = keys.size();
    batch.keys = keys.data();
    batch.values = values.data();
    batch.statuses = statuses.data();
    const std::stop_source stopping;
    batch.stop = stopping.get_token();
    stopping.request_stop();
    std::uint64_t written = 0;
    for (bool goes_on = true; goes_on;) {
      const BatchResult result = table.run(batch);
      written += result.of(Status::inserted) + result.of(Status::updated);
      batch.from = result.next;
      goes_on = result.stopped;
      if (goes_on) between();
    }
    EXPECT_EQ(written, keys.size());
  }

  template <class AnyTable>
  void expect_all(AnyTable& table) const {
    std::vector<std::uint64_t> out(values.size());
    EXPECT_EQ(table.find(keys.data(), out.data(), keys.size()).of(Status::found), keys.size());
    EXPECT_TRUE(out == values);
  }

  std::vector<std::uint64_t> keys, values;
  std::vector<Status> statuses;
  std::size_t words;
};

class Everything : public testing::Test {
 protected:
  ~Everything() override {
    for (const std::string& file : {path, path + ".1", path + ".2", path + ".3"}) unlink(file.c_str());
  }

  static CreateOptions small() {
    CreateOptions options;
    options.shape.capacity = 1000;
    options.runtime.device = "cpu";
    options.runtime.threads = 1;  // so that a piece has few rows
    return options;
  }
  void copy(Pool& pool, int number) const {
    SnapshotOptions options;
    options.overwrite = true;
    if (number == 2) options.progress = [&](std::uint64_t, std::uint64_t) { static_cast<void>(pool.is_open()); };
    pool.snapshot(path + "." + std::to_string(number), options);
  }
  static void look(Table& table) {
    EXPECT_TRUE(table.is_open());
    const Stats stats = table.stats();
    EXPECT_GE(stats.space.slots, 1000u);
    EXPECT_FALSE(table.on_gpu());
    EXPECT_GT(table.slots(), 0u);
    EXPECT_LT(table.load_factor(), 1);
  }

  const std::string path = "/dev/shm/holdfast-everything-" + std::to_string(getpid()) + ".hold";
};

TEST_F(Everything, AtOnce) {
  Pool pool = Pool::create(path, true);
  Table one = pool.create_table("one", small());
  Writer first(0, kOfTable), second(1, kOfTable);
  run_all({
      [&](unsigned round) { first.write(one, round, [&] { round % 2 != 0 ? one.sync() : copy(pool, 1); }); },
      [&](unsigned round) {
        second.write(one, round, [&] { look(one); });
        second.expect_all(one);
      },
      [&](unsigned) {  // items of its own come and go
        std::vector<std::uint64_t> keys(1000);
        std::iota(keys.begin(), keys.end(), 10 * kOwn);
        one.insert(keys.data(), keys.data(), keys.size());
        Selection selection;
        selection.first = &keys.front();
        selection.last = &keys.back();
        const auto in_some_way = [](const void* key, const void*) {
          return *static_cast<const std::uint64_t*>(key) % 2 == 0;
        };
        selection.where = in_some_way;
        EXPECT_EQ(one.erase_if(selection), 500u);
        EXPECT_EQ(one.erase(keys.data(), keys.size()).of(Status::erased), 500u);
      },
      [&](unsigned) { one.sync(); },
      [&](unsigned) { look(one); },
      [&](unsigned) { EXPECT_TRUE(one.check().errors.empty()); },
      [&](unsigned) { copy(pool, 2); },
      [&](unsigned) {
        std::vector<std::uint64_t> keys(5000), values(5000);
        for (std::uint64_t cursor = 0; cursor != ~std::uint64_t{0};) {
          const std::size_t n = one.export_batch(cursor, keys.data(), values.data(), keys.size());
          for (std::size_t i = 0; i < n; ++i) EXPECT_TRUE(keys[i] >= 10 * kOwn || values[i] / 1000 == keys[i]);
        }
      },
      [&](unsigned) {  // a table that opens and closes
        CreateOptions options = small();
        options.overwrite = true;
        Table two = pool.create_table("two", options);
        const std::uint64_t key = 7;
        two.insert(&key, &key, 1);
        two.clear();
        EXPECT_EQ(two.size(), 0u);
        two.close();
        EXPECT_FALSE(two.is_open());
        EXPECT_TRUE(pool.check("two").errors.empty());
        pool.rename("two", "three", true);
        EXPECT_GE(pool.objects().size(), 2u);
        OpenOptions how;
        how.runtime.device = "cpu";
        static_cast<void>(pool.table("three", how));
      },
      [&](unsigned round) {
        one.reserve(1000 * round % 200'000);
        EXPECT_TRUE(pool.is_open());
        EXPECT_TRUE(pool.check().errors.empty());
      },
  });
  first.expect_all(one);
  second.expect_all(one);
  pool.close();
  EXPECT_FALSE(one.is_open());
  for (const std::string& file : {path, path + ".1", path + ".2"}) EXPECT_TRUE(check(file).errors.empty()) << file;
}

TEST_F(Everything, ClosedInTheMidst) {
  CreateOptions options = small();
  options.overwrite = true;
  Table table = Table::create(path, options);
  const Watchdog watchdog;
  std::vector<std::thread> threads;
  for (std::uint64_t t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      Writer writer(t, kOfTable);
      try {
        for (std::uint64_t version = 0;; ++version) writer.write(table, version, [&] { table.stats(); });
      } catch (const ObjectClosed&) {
      }
    });
  }
  threads.emplace_back([&] {
    while (table.is_open()) std::this_thread::yield();
  });
  threads.emplace_back([&] {
    try {
      for (;;) table.sync();
    } catch (const ObjectClosed&) {
    }
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  Writer writer(9, kOfTable);
  EXPECT_THROW(writer.write(table, 0, [&] { table.close(); }), ObjectClosed);
  table.close();
  for (std::thread& thread : threads) thread.join();
  const CheckReport report = check(path);
  EXPECT_TRUE(report.was_clean && report.errors.empty());
}

class EverythingInMemory : public testing::TestWithParam<std::uint32_t> {};
INSTANTIATE_TEST_SUITE_P(Sizes, EverythingInMemory, testing::Values(8, 16, 32, 64), testing::PrintToStringParamName());

TEST_P(EverythingInMemory, OfATable) {
  MemoryOptions options;
  options.value_bytes = GetParam();
  options.capacity = 1000;
  options.threads = 2;
  MemoryTable table(options);
  const WholeValues whole(GetParam());
  const std::size_t own = GetParam() == 8 ? kOwn : kOwn / 3, words = GetParam() / 8;
  Writer first(0, own, words), second(1, own, words);
  std::vector<std::function<void(unsigned)>> works;
  works.emplace_back([&](unsigned round) { first.write(table, round, [&] { table.reserve(50'000); }); });
  works.emplace_back([&](unsigned round) {
    second.write(table, round, [&] { EXPECT_GT(table.stats().space.slots, 0u); });
    second.expect_all(table);
  });
  for (std::uint64_t t = 2; t < 8; ++t) {
    works.emplace_back([&, t](unsigned) {
      std::vector<std::uint64_t> keys(2000);
      std::iota(keys.begin(), keys.end(), t * kOwn);
      std::vector<std::byte> values = whole.of(keys);
      EXPECT_EQ(table.insert(keys.data(), values.data(), keys.size()).of(Status::inserted), keys.size());
      EXPECT_EQ(table.erase(keys.data(), keys.size()).of(Status::erased), keys.size());
      std::uint64_t cursor = 0;
      const std::size_t n = table.export_batch(cursor, keys.data(), values.data(), keys.size());
      for (std::size_t i = 0; i < n; ++i) {
        EXPECT_TRUE(keys[i] < 2 * kOwn || whole.is_whole(keys[i], values.data() + i * whole.bytes()));
      }
    });
  }
  works.emplace_back([&](unsigned) {
    const std::uint64_t size = table.size();              // before the slots, which become more meanwhile
    EXPECT_LE(size, table.slots() + 256 * works.size());  // each thread tells every 256 items that it added or erased
  });
  works.emplace_back([&](unsigned round) { table.reserve(100 * (round % 1000)); });
  run_all(works, duration() / 3);
  first.expect_all(table);
  second.expect_all(table);
}

}  // namespace
}  // namespace holdfast::test
