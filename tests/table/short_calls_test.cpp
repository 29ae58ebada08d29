// short_calls_test.cpp: calls with few keys beside each other and beside all that excludes them: growth, exports, sync, check, close.
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstring>
#include <map>
#include <random>
#include <thread>
#include <vector>

#include "holdfast/epoch.hpp"

namespace holdfast::test {
namespace {

struct ShortValues {
  std::uint32_t value_bytes;
  bool flush;
};

class ShortCalls : public testing::TestWithParam<ShortValues> {
 protected:
  ShortCalls() : path_("/dev/shm/holdfast-short-" + std::to_string(getpid()) + ".hold") {
    CreateOptions options;
    options.shape = {.key_bytes = 8, .value_bytes = GetParam().value_bytes, .capacity = 16};
    options.runtime.device = "cpu";
    options.tuning.flush = GetParam().flush;
    options.overwrite = true;
    table_ = std::make_unique<Table>(Table::create(path_, options));
  }
  ~ShortCalls() override { unlink(path_.c_str()); }

  using Value = std::vector<std::uint64_t>;
  Value value_of(std::uint64_t key, std::uint64_t version = 0) const {
    return Value(GetParam().value_bytes / 8, key * 1000 + version);
  }
  Status put(std::uint64_t key, std::uint64_t version = 0) {
    Status status;
    table_->insert_or_assign(&key, value_of(key, version).data(), 1, &status);
    return status;
  }
  Status insert(std::uint64_t key) {
    Status status;
    table_->insert(&key, value_of(key).data(), 1, &status);
    return status;
  }
  Status erase(std::uint64_t key) {
    Status status;
    table_->erase(&key, 1, &status);
    return status;
  }
  /// True if the key is there with a whole value of its own.
  bool has(std::uint64_t key) {
    Value value(GetParam().value_bytes / 8);
    bool found = false;
    table_->find(&key, value.data(), 1, &found);
    if (!found) return false;
    EXPECT_EQ(value[0] / 1000, key);
    for (const std::uint64_t word : value) EXPECT_EQ(word, value[0]);
    return true;
  }

  const std::string path_;
  std::unique_ptr<Table> table_;
};

TEST_P(ShortCalls, OneKeyAtATimeAsAMapSays) {
  std::map<std::uint64_t, std::uint64_t> oracle;
  std::mt19937_64 random(5);
  for (std::uint64_t i = 0; i < 20'000; ++i) {
    const std::uint64_t key = random() % 3000;
    const bool there = oracle.contains(key);
    const unsigned what = random() % 5;
    if (what == 0) {
      ASSERT_EQ(put(key, i % 1000), there ? Status::updated : Status::inserted);
      oracle[key] = i % 1000;
    } else if (what == 1) {
      ASSERT_EQ(insert(key), there ? Status::exists : Status::inserted);
      oracle.try_emplace(key, 0);
    } else if (what == 2) {
      ASSERT_EQ(erase(key), there ? Status::erased : Status::not_found);
      oracle.erase(key);
    } else {
      Value value(GetParam().value_bytes / 8);
      bool found = false;
      table_->find(&key, value.data(), 1, &found);
      ASSERT_EQ(found, there);
      if (there) {
        ASSERT_EQ(value, value_of(key, oracle[key]));
      }
    }
    ASSERT_EQ(table_->size(), oracle.size());
  }
  EXPECT_TRUE(table_->check().errors.empty());
  table_.reset();
  Table again = Table::open(path_);
  EXPECT_EQ(again.size(), oracle.size());
}

TEST_P(ShortCalls, BesideAllThatExcludesThem) {
  constexpr std::uint64_t kThreads = 3, kOfEach = 3000, kConstant = 100;
  for (std::uint64_t key = 0; key < kConstant; ++key) ASSERT_EQ(insert(key), Status::inserted);
  std::atomic<unsigned> running{kThreads};
  std::vector<std::thread> all;
  for (std::uint64_t t = 0; t < kThreads; ++t) {
    all.emplace_back([&, t] {
      for (std::uint64_t i = 0; i < kOfEach; ++i) {
        const std::uint64_t key = kConstant + i * kThreads + t;
        EXPECT_EQ(insert(key), Status::inserted);
        EXPECT_TRUE(has(key)) << "this caller inserted it";
        EXPECT_TRUE(has(i % kConstant)) << "it is never erased";
        if (i % 3 == 0) {
          EXPECT_EQ(put(i % kConstant, t + 1), Status::updated);
        }
        if (i % 4 == 0) {
          EXPECT_EQ(erase(key), Status::erased);
        }
      }
      --running;
    });
  }
  for (unsigned round = 0; running != 0; ++round) {
    if (round % 4 == 0) {
      table_->sync();
    } else if (round % 4 == 1) {
      EXPECT_TRUE(table_->check().errors.empty());
    } else {
      std::map<std::uint64_t, unsigned> seen;
      std::uint64_t cursor = 0, keys[64];
      while (cursor != ~std::uint64_t{0}) {
        const std::size_t n = table_->export_batch(cursor, keys, nullptr, 64);
        for (std::size_t i = 0; i < n; ++i) ++seen[keys[i]];
      }
      for (const auto& [key, times] : seen) EXPECT_EQ(times, 1u) << key;
      for (std::uint64_t key = 0; key < kConstant; ++key) EXPECT_EQ(seen[key], 1u) << key;
    }
  }
  for (std::thread& thread : all) thread.join();
  EXPECT_GT(table_->stats().growth.resizes, 2u);
  EXPECT_EQ(table_->size(), kConstant + kThreads * (kOfEach - kOfEach / 4));
  EXPECT_TRUE(table_->check().errors.empty());
}

TEST_P(ShortCalls, AClosedTableRefusesThemInTheWordsOfABatch) {
  const auto words = [&](std::size_t n) {
    std::vector<std::uint64_t> keys(n), values(n * 64);
    try {
      table_->insert(keys.data(), values.data(), n);
    } catch (const ObjectClosed& error) {
      return std::string(error.what());
    }
    return std::string("none");
  };
  table_->close();
  EXPECT_EQ(words(1), words(100));
  EXPECT_NE(words(1), "none");
}

TEST_P(ShortCalls, AnEpochStaysAcrossCallsAndYieldsToWhatExcludesIt) {
  constexpr std::uint64_t kThreads = 3, kOfEach = 3000;
  std::vector<std::thread> all;
  std::atomic<unsigned> running{kThreads};
  for (std::uint64_t t = 0; t < kThreads; ++t) {
    all.emplace_back([&, t] {
      Epoch epoch(*table_);
      Value value(GetParam().value_bytes / 8);
      for (std::uint64_t i = 0; i < kOfEach; ++i) {  // the table grows meanwhile, which needs every epoch to yield
        const std::uint64_t key = i * kThreads + t;
        EXPECT_FALSE(epoch.contains(&key));
        EXPECT_EQ(epoch.insert(&key, value_of(key).data()), Status::inserted);
        EXPECT_EQ(epoch.assign(&key, value_of(key, 1).data()), Status::updated);
        EXPECT_TRUE(epoch.find(&key, value.data()));
        EXPECT_EQ(value, value_of(key, 1));
        if (i % 4 == 0) {
          EXPECT_EQ(epoch.erase(&key), Status::erased);
        }
        if (i % 64 == 1) {
          EXPECT_TRUE(has(key)) << "the table's methods may be called as well";
        }
      }
      --running;
    });
  }
  while (running != 0) EXPECT_TRUE(table_->check().errors.empty());
  for (std::thread& thread : all) thread.join();
  EXPECT_EQ(table_->size(), kThreads * (kOfEach - kOfEach / 4));
  EXPECT_TRUE(table_->check().errors.empty());
}

TEST_P(ShortCalls, TheThreadOfAnEpochMayDoWhatExcludesCalls) {
  Epoch epoch(*table_);
  const std::uint64_t key = 7;
  EXPECT_EQ(epoch.insert(&key, value_of(key).data()), Status::inserted);
  table_->sync();
  EXPECT_TRUE(epoch.contains(&key));
  EXPECT_TRUE(table_->check().errors.empty());
  EXPECT_TRUE(epoch.contains(&key));
  table_->clear();
  EXPECT_FALSE(epoch.contains(&key));
  table_->close();
  EXPECT_THROW(epoch.contains(&key), ObjectClosed);
}

TEST_P(ShortCalls, AnEpochFindsOrInserts) {
  Epoch epoch(*table_);
  const std::uint64_t key = 7;
  Value value(GetParam().value_bytes / 8);
  EXPECT_EQ(epoch.find_or_insert(&key, value_of(key, 1).data(), value.data()), Status::inserted);
  EXPECT_EQ(value, value_of(key, 1));
  EXPECT_EQ(epoch.find_or_insert(&key, value_of(key, 2).data(), value.data()), Status::found);
  EXPECT_EQ(value, value_of(key, 1));
}

TEST_P(ShortCalls, AnEpochThatWasLeftKeepsNoOneWaiting) {
  Epoch epoch(*table_);
  const std::uint64_t key = 7;
  EXPECT_EQ(epoch.insert(&key, value_of(key).data()), Status::inserted);
  epoch.leave();
  std::thread([&] { table_->sync(); }).join();
  EXPECT_TRUE(epoch.contains(&key));
}

TEST_P(ShortCalls, AnEpochRefusesWhatABatchRefuses) {
  const auto words = [&](const auto& call) {
    try {
      call();
    } catch (const InvalidArgument& error) {
      return std::string(error.what());
    }
    return std::string("none");
  };
  Epoch epoch(*table_);
  const std::uint64_t key = 7;
  const auto of_batch = [&](const void* keys, const void* values) {
    return words([&] { table_->insert(keys, values, 1); });
  };
  EXPECT_EQ(words([&] { epoch.insert(nullptr, &key); }), of_batch(nullptr, &key));
  EXPECT_EQ(words([&] { epoch.insert(&key, nullptr); }), of_batch(&key, nullptr));
  EXPECT_NE(of_batch(&key, nullptr), "none");
  using Wrong = TypedEpoch<std::uint64_t, std::array<std::uint64_t, 3>>;
  EXPECT_NE(words([&] { const Wrong wrong(*table_); }), "none");
}

TEST_P(ShortCalls, CellsThatACallerKeepsAreFree) {
  table_->reserve(1000);
  const std::uint64_t cells = table_->stats().space.cells;
  for (std::uint64_t key = 1; key <= 10; ++key) ASSERT_EQ(insert(key), Status::inserted);
  const Stats stats = table_->stats();
  EXPECT_EQ(stats.space.cells, cells);
  EXPECT_EQ(stats.space.free_cells, GetParam().value_bytes == 8 ? 0 : cells - 10);
}

TEST_P(ShortCalls, TryRunNeverWaits) {
  const std::uint64_t keys[40] = {};
  std::vector<std::uint64_t> values(40 * GetParam().value_bytes / 8);
  Batch batch;
  batch.op = Op::insert;
  batch.keys = keys;
  batch.values = values.data();
  batch.size = 40;
  BatchResult result;
  EXPECT_EQ(table_->try_run(batch, result), 0u) << "too many rows";
  batch.size = 3;
  EXPECT_EQ(table_->try_run(batch, result), 3u);
  EXPECT_EQ(result.of(Status::inserted), 1u);
  EXPECT_EQ(result.of(Status::exists), 2u);
}

INSTANTIATE_TEST_SUITE_P(Values, ShortCalls,
                         testing::Values(ShortValues{8, false}, ShortValues{8, true}, ShortValues{64, false}),
                         [](const auto& info) {
                           return "value" + std::to_string(info.param.value_bytes) + (info.param.flush ? "_power" : "");
                         });

}  // namespace
}  // namespace holdfast::test
