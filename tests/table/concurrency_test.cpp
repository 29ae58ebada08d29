// concurrency_test.cpp: several host threads on one table. Run under ThreadSanitizer too.
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include "holdfast/table.hpp"
#include "support/numbers.hpp"

namespace holdfast::test {
namespace {

constexpr std::uint32_t kBytes = 64;
constexpr std::uint64_t kWideSeed = 9;  // makes wide keys whose hashes are equal

/// A value that says which key and version it belongs to, in every word.
void fill(std::uint64_t* value, std::uint64_t key, std::uint64_t version) {
  for (std::size_t i = 0; i < kBytes / 8; ++i) value[i] = key * 0x9e3779b97f4a7c15 + version * 1000003 + i;
}
bool is_whole(const std::uint64_t* value) {
  for (std::size_t i = 1; i < kBytes / 8; ++i) {
    if (value[i] != value[0] + i) return false;
  }
  return true;
}

/// By bytes of a key.
class Concurrency : public testing::TestWithParam<std::uint32_t> {
 protected:
  explicit Concurrency(std::uint32_t value_bytes = kBytes, std::uint64_t capacity = 64)
      : path_("/dev/shm/holdfast-threads-" + std::to_string(getpid()) + ".hold") {
    CreateOptions options;
    options.shape.key_bytes = GetParam();
    options.shape.seed = kWideSeed;
    options.shape.value_bytes = value_bytes;
    options.shape.capacity = capacity;
    options.runtime.device = "cpu";
    options.runtime.threads = 1;
    options.overwrite = true;
    table_ = std::make_unique<NumberedTable>(Table::create(path_, options), kWideSeed);
  }
  ~Concurrency() override { unlink(path_.c_str()); }

  const std::string path_;
  std::unique_ptr<NumberedTable> table_;
};

/// Rule 2: of rows that read one key, none answers with an older state than a row before it.
TEST_P(Concurrency, RepeatedReadsOfABatchNeverGoBack) {
  constexpr std::uint64_t kKey = 7, kStep = 1000003;
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    std::uint64_t value[kBytes / 8];
    for (std::uint64_t version = 1; !stop; ++version) {
      fill(value, kKey, version);
      table_->insert(&kKey, value, 1);
      table_->erase(&kKey, 1);
    }
  });
  // All rows of a group, and the first and the last of it, with time between their looks.
  std::vector<std::uint64_t> all(64, kKey), two(64);
  for (std::size_t i = 0; i < two.size(); ++i) two[i] = i == 0 || i + 1 == two.size() ? kKey : kKey + i;
  std::vector<std::uint64_t> values(64 * kBytes / 8);
  bool found[64];
  std::uint64_t batches = 0, last = 0, least = 0, changes = 0,
                wrong = 0;  // versions: the last one seen, and the least that may follow
  const auto begin = std::chrono::steady_clock::now();
  const auto is_over = [&] {  // on a busy machine the writer may not run in time
    const auto limit = changes == 0 ? std::chrono::seconds(60) : std::chrono::seconds(2);
    return changes >= 20'000 || std::chrono::steady_clock::now() - begin > limit;
  };
  while (wrong == 0 && !is_over()) {
    const std::vector<std::uint64_t>& keys = ++batches % 8 != 0 ? all : two;
    table_->find(keys.data(), values.data(), keys.size(), found);
    for (std::size_t i = 0; i < keys.size() && wrong == 0; ++i) {
      if (keys[i] != kKey) continue;
      if (!found[i]) {
        least = last + 1;
        continue;
      }
      const std::uint64_t version = (values[i * kBytes / 8] - kKey * 0x9e3779b97f4a7c15) / kStep;
      if (version < least) wrong = version;
      changes += version != last ? 1 : 0;
      last = least = version;
    }
  }
  stop = true;
  writer.join();
  EXPECT_EQ(wrong, 0u) << "a row saw version " << wrong << " after another had seen that it was gone, or a later one";
  EXPECT_GT(changes, 0u);
}

TEST_P(Concurrency, ReadersNeverSeeATornOrForeignValueWhileTheTableGrows) {
  constexpr std::uint64_t kKeys = 4000;
  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> read{0};
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 2; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937_64 random(t);
      std::vector<std::uint64_t> keys(64), values(64 * kBytes / 8);
      bool found[64];
      while (!stop) {
        for (auto& key : keys) key = random() % kKeys;
        table_->find(keys.data(), values.data(), keys.size(), found);
        for (std::size_t i = 0; i < keys.size(); ++i) {
          const std::uint64_t* const value = &values[i * kBytes / 8];
          if (!found[i]) continue;
          ASSERT_TRUE(is_whole(value));
          ASSERT_EQ((value[0] - keys[i] * 0x9e3779b97f4a7c15) % 1000003, 0u) << "the value of another key";
          ++read;
        }
      }
    });
  }
  std::mt19937_64 random(99);
  std::vector<std::uint64_t> keys(256), values(256 * kBytes / 8);
  for (std::uint64_t version = 1; version < 400; ++version) {
    for (std::size_t i = 0; i < keys.size(); ++i) {
      keys[i] = random() % kKeys;
      fill(&values[i * kBytes / 8], keys[i], version % 900);
    }
    if (version % 3 == 0) {
      table_->erase(keys.data(), keys.size());
    } else {
      table_->insert_or_assign(keys.data(), values.data(), keys.size());
    }
  }
  while (read == 0) std::this_thread::yield();
  stop = true;
  for (auto& thread : threads) thread.join();
  const CheckReport report = table_->check();
  EXPECT_TRUE(report.errors.empty()) << report.errors.front();
}

#if defined(HOLDFAST_SANITIZED)
constexpr int kFillings = 1'000, kExported = 1'000;
#else
constexpr int kFillings = 3'000, kExported = 4'000;
#endif

TEST_P(Concurrency, AKeyThatIsAlwaysThereIsAlwaysFoundWhileItemsMove) {
  // Fills the table to the brim again and again, so that inserts move items about under the readers.
  std::vector<std::uint64_t> always(20);
  for (std::size_t i = 0; i < always.size(); ++i) always[i] = 1'000'000 + i;
  std::vector<std::uint64_t> values(always.size() * kBytes / 8);
  for (std::size_t i = 0; i < always.size(); ++i) fill(&values[i * kBytes / 8], always[i], 1);
  table_->insert(always.data(), values.data(), always.size());
  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> missed{0};
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 2; ++t) {
    threads.emplace_back([&] {
      bool found[20];
      while (!stop) {
        table_->contains(always.data(), always.size(), found);
        for (const bool there : found) missed += !there;
      }
    });
  }
  std::mt19937_64 random(7);
  for (int i = 0; i < kFillings; ++i) {
    std::vector<std::uint64_t> keys(60), space(60 * kBytes / 8);
    for (auto& key : keys) key = 1 + random() % 100'000;
    table_->insert(keys.data(), space.data(), keys.size());
    table_->erase(keys.data(), keys.size());
  }
  stop = true;
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(missed, 0u);
  const CheckReport report = table_->check();
  EXPECT_TRUE(report.errors.empty()) << report.errors.front();
}

TEST_P(Concurrency, AnExportedValueBelongsToItsKey) {
  std::atomic<bool> stop{false};
  std::thread exporter([&] {
    std::vector<std::uint64_t> keys(500), values(500 * kBytes / 8);
    while (!stop) {
      for (std::uint64_t cursor = 0; cursor != ~std::uint64_t{0};) {
        const std::size_t n = table_->export_batch(cursor, keys.data(), values.data(), keys.size());
        for (std::size_t i = 0; i < n; ++i) {
          ASSERT_TRUE(is_whole(&values[i * kBytes / 8]));
          ASSERT_EQ(values[i * kBytes / 8], keys[i] * 0x9e3779b97f4a7c15) << "the value of another key";
        }
      }
    }
  });
  std::mt19937_64 random(5);
  for (int i = 0; i < kExported; ++i) {
    std::vector<std::uint64_t> keys(50), values(50 * kBytes / 8);
    for (std::size_t k = 0; k < keys.size(); ++k) {
      keys[k] = random() % 10'000;
      fill(&values[k * kBytes / 8], keys[k], 0);
    }
    table_->insert(keys.data(), values.data(), keys.size());
    table_->erase(keys.data(), keys.size());
  }
  stop = true;
  exporter.join();
}

TEST_P(Concurrency, SyncWaitsForTheBatchThatRuns) {
  // A clean mark over a batch that is still writing would keep the next open from mending what a crash left of it.
  std::vector<std::uint64_t> keys(36 * 4096), values(keys.size() * kBytes / 8);  // a piece has 32 * 4096
  for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = i;
  std::atomic<bool> synced{false};
  std::thread syncing;
  Batch batch;
  batch.size = keys.size();
  batch.op = Op::insert;
  batch.keys = keys.data();
  batch.values = values.data();
  batch.progress = [&](std::size_t) {
    if (!syncing.joinable()) {
      syncing = std::thread([&] {
        table_->sync();
        synced = true;
      });
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      EXPECT_FALSE(synced);
      EXPECT_FALSE(inspect(path_).objects.at(0).clean);
    }
  };
  EXPECT_EQ(table_->run(batch).of(Status::inserted), keys.size());
  ASSERT_TRUE(syncing.joinable());
  syncing.join();
  EXPECT_TRUE(inspect(path_).objects.at(0).clean);
}

class Counting : public Concurrency {
 protected:
  Counting() : Concurrency(8, 16) {}
};

TEST_P(Counting, NoIncrementIsLost) {
  constexpr unsigned kThreads = 4, kRounds = 300, kKeys = 50;
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      std::vector<std::uint64_t> keys(kKeys), ones(kKeys, 1);
      for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = i;  // the reserved key too
      for (unsigned i = 0; i < kRounds; ++i) {
        table_->accumulate(keys.data(), ones.data(), keys.size(), Combine::add, Element::u64);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  std::vector<std::uint64_t> keys(kKeys), sums(kKeys);
  for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = i;
  table_->find(keys.data(), sums.data(), keys.size());
  for (const std::uint64_t sum : sums) EXPECT_EQ(sum, std::uint64_t{kThreads} * kRounds);
  EXPECT_EQ(table_->size(), kKeys);
}

TEST_P(Counting, OneInserterOfAKeyWins) {
  constexpr unsigned kThreads = 4;
  std::atomic<std::uint64_t> inserted{0};
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      std::vector<std::uint64_t> keys(500), values(500, t);
      for (int round = 0; round < 10; ++round) {
        for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = round * 500 + i;
        inserted += table_->insert(keys.data(), values.data(), keys.size()).of(Status::inserted);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(inserted, 5000u);
  EXPECT_EQ(table_->size(), 5000u);
  EXPECT_TRUE(table_->check().errors.empty());
}

/// Nothing begins again where nobody else is: not the reads either of what their own batch has changed.
TEST_P(Concurrency, OneCallerAloneRetriesNothing) {
  constexpr std::size_t kRows = 500;
  std::vector<std::uint64_t> keys(kRows), values(kRows * kBytes / 8), out(values.size());
  std::vector<std::uint8_t> ops(kRows);
  for (std::size_t i = 0; i < kRows; ++i) {
    keys[i] = i / 2;
    ops[i] = static_cast<std::uint8_t>(i % 2 == 0 ? Op::insert : Op::find);
  }
  Batch batch;
  batch.size = kRows;
  batch.keys = keys.data();
  batch.ops = ops.data();
  batch.values = values.data();
  batch.out = out.data();
  const BatchResult result = table_->run(batch);
  EXPECT_EQ(result.of(Status::inserted), kRows / 2);
  EXPECT_EQ(result.of(Status::found), kRows / 2);
  EXPECT_EQ(table_->stats().work.retries, 0u);
}

INSTANTIATE_TEST_SUITE_P(Keys, Concurrency, testing::Values(8u, 16u, 128u));
INSTANTIATE_TEST_SUITE_P(Keys, Counting, testing::Values(8u, 32u));

}  // namespace
}  // namespace holdfast::test
