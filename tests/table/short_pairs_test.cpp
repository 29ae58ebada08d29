// short_pairs_test.cpp: calls with one key of a table whose keys and values have any length, and the cells that callers keep.
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <map>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "holdfast/epoch.hpp"

namespace holdfast::test {
namespace {

/// One key a call, by the table or by an epoch.
class OnePair {
 public:
  explicit OnePair(Table& table) : table_(table) {}
  OnePair(Table& table, Epoch& epoch) : table_(table), epoch_(&epoch) {}

  Status run(Op op, const std::string& key, const std::string& value = {}) {
    const std::uint64_t key_offsets[] = {0, key.size()}, value_offsets[] = {0, value.size()};
    Status status = Status::not_run;
    Batch batch;
    batch.op = op;
    batch.size = 1;
    batch.keys = key.data();
    batch.values = value.data();
    batch.statuses = &status;
    batch.variable = VariableLength{.key_offsets = key_offsets,
                                    .value_offsets = takes_value(op) ? value_offsets : nullptr,
                                    .blobs = op == Op::find ? &blobs_ : nullptr};
    epoch_ != nullptr ? epoch_->run(batch) : table_.run(batch);
    return status;
  }
  /// The value, or "none".
  std::string find(const std::string& key) {
    return run(Op::find, key) == Status::found ? std::string(blobs_[0]) : std::string("none");
  }

 private:
  Table& table_;
  Epoch* const epoch_ = nullptr;
  Blobs blobs_;
};

/// Values of a key and version, of 1 to 3,000 bytes.
std::string value_of(const std::string& key, std::uint64_t version) {
  return key + ":" + std::string((version * 37 + key.size()) % 3000, static_cast<char>('a' + version % 26));
}

class ShortPairs : public testing::TestWithParam<bool> {
 protected:
  ShortPairs() {
    CreateOptions options;
    options.shape = {.key_bytes = kVariableBytes, .value_bytes = kVariableBytes, .capacity = 16};
    options.runtime.device = "cpu";
    options.tuning.flush = GetParam();
    options.overwrite = true;
    table_ = std::make_unique<Table>(Table::create(path_, options));
  }
  ~ShortPairs() override { unlink(path_.c_str()); }
  void expect_sound() {
    const CheckReport report = table_->check();
    EXPECT_TRUE(report.errors.empty()) << report.errors.front();
  }

  const std::string path_ = "/dev/shm/holdfast-short-pairs-" + std::to_string(getpid()) + ".hold";
  std::unique_ptr<Table> table_;
};

TEST_P(ShortPairs, OneKeyAtATimeAsAMapSays) {
  std::map<std::string, std::string> oracle;
  std::mt19937_64 random(5);
  OnePair calls(*table_);
  for (std::uint64_t i = 0; i < 10'000; ++i) {
    const std::string key = "key " + std::to_string(random() % 1000);
    const std::string value = value_of(key, i);
    const auto at = oracle.find(key);
    const bool there = at != oracle.end();
    switch (random() % 5) {
      case 0:
        ASSERT_EQ(calls.run(Op::insert_or_assign, key, value), there ? Status::updated : Status::inserted);
        oracle[key] = value;
        break;
      case 1:
        ASSERT_EQ(calls.run(Op::insert, key, value), there ? Status::exists : Status::inserted);
        oracle.try_emplace(key, value);
        break;
      case 2:
        ASSERT_EQ(calls.run(Op::erase, key), there ? Status::erased : Status::not_found);
        if (there) oracle.erase(at);
        break;
      case 3:
        ASSERT_EQ(calls.run(Op::assign, key, value), there ? Status::updated : Status::not_found);
        if (there) at->second = value;
        break;
      default:
        ASSERT_EQ(calls.run(Op::contains, key), there ? Status::found : Status::not_found);
        ASSERT_EQ(calls.find(key), there ? at->second : "none");
    }
    if (i % 2000 == 0) expect_sound();
  }
  expect_sound();
  EXPECT_EQ(table_->size(), oracle.size());
  table_.reset();
  Table again = Table::open(path_);
  EXPECT_EQ(again.size(), oracle.size());
  OnePair calls_again(again);
  for (const auto& [key, value] : oracle) ASSERT_EQ(calls_again.find(key), value);
}

/// Callers with and without epochs, beside batches, growth and whatever excludes them: a search sees a whole value of its key.
TEST_P(ShortPairs, BesideBatchesAndGrowth) {
  constexpr std::uint64_t kThreads = 3, kOfEach = 1500, kConstant = 50;
  const auto constant = [](std::uint64_t i) { return "constant " + std::to_string(i % kConstant); };
  for (std::uint64_t i = 0; i < kConstant; ++i) OnePair(*table_).run(Op::insert, constant(i), value_of(constant(i), 0));
  std::atomic<unsigned> running{kThreads};
  std::vector<std::thread> all;
  for (std::uint64_t t = 0; t < kThreads; ++t) {
    all.emplace_back([&, t] {
      Epoch epoch(*table_);
      OnePair by_epoch(*table_, epoch), by_table(*table_);
      OnePair& calls = t == 0 ? by_table : by_epoch;
      for (std::uint64_t i = 0; i < kOfEach; ++i) {
        const std::string key = "key " + std::to_string(i * kThreads + t);
        EXPECT_EQ(calls.run(Op::insert, key, value_of(key, i)), Status::inserted);
        EXPECT_EQ(calls.find(key), value_of(key, i));
        EXPECT_EQ(calls.run(Op::assign, constant(i), value_of(constant(i), i + t)), Status::updated);
        const std::string other = constant(i * 7 + t), seen = calls.find(other);
        EXPECT_EQ(seen.substr(0, other.size() + 1), other + ":") << "it is never erased, and has a value of its own";
        if (i % 4 == 0) {
          EXPECT_EQ(calls.run(Op::erase, key), Status::erased);
        }
      }
      --running;
    });
  }
  for (unsigned round = 0; running != 0; ++round) {
    if (round % 2 == 0) {
      expect_sound();
    } else {
      table_->sync();
    }
    const std::vector<std::string> keys(100, "batch"), values(100, std::string(round % 500, 'b'));
    table_->insert_or_assign(keys, values);
  }
  for (std::thread& thread : all) thread.join();
  expect_sound();
  EXPECT_EQ(table_->size(), kConstant + 1 + kThreads * (kOfEach - (kOfEach + 3) / 4));
}

TEST_P(ShortPairs, CellsThatACallerKeepsAreFree) {
  OnePair calls(*table_);
  for (const char* const key : {"a", "b", "c"}) ASSERT_EQ(calls.run(Op::insert, key, "value"), Status::inserted);
  const Stats kept = table_->stats();
  expect_sound();  // takes them back
  const Stats taken_back = table_->stats();
  EXPECT_EQ(kept.space.free_cells, taken_back.space.free_cells);
  EXPECT_EQ(kept.space.cells, taken_back.space.cells);
  EXPECT_EQ(kept.pairs.live_bytes, taken_back.pairs.live_bytes);
}

TEST_P(ShortPairs, SearchesUseTheMemoryOfTheirBlobsAgain) {
  const auto find = [&](const std::string& key, Blobs& blobs) {
    const std::uint64_t offsets[] = {0, key.size()};
    Batch batch;
    batch.op = Op::find;
    batch.size = 1;
    batch.keys = key.data();
    batch.variable = VariableLength{.key_offsets = offsets, .blobs = &blobs};
    EXPECT_EQ(table_->run(batch).of(Status::found), 1u);
  };
  OnePair calls(*table_);
  calls.run(Op::insert, "a", "first");
  calls.run(Op::insert, "b", "second");
  Blobs blobs;
  find("a", blobs);
  const void* const memory = blobs[0].data();
  const Blob* const rows = blobs.rows();
  find("b", blobs);
  EXPECT_EQ(blobs[0], "second");
  EXPECT_EQ(blobs[0].data(), memory);
  EXPECT_EQ(blobs.rows(), rows);
  const Blobs moved = std::move(blobs);
  find("a", blobs);
  EXPECT_EQ(blobs[0], "first");
  EXPECT_EQ(moved[0], "second") << "memory that was moved away is not used again";
}

INSTANTIATE_TEST_SUITE_P(Domains, ShortPairs, testing::Values(false, true),
                         [](const auto& info) { return info.param ? "power" : "process"; });

/// A heap that cannot grow gives its last cells to batches too, although a caller took them in advance.
TEST(CellsOfCallers, AreTakenBackWhereTheHeapIsFull) {
  const std::string path = "/dev/shm/holdfast-callers-cells-" + std::to_string(getpid()) + ".hold";
  CreateOptions options;
  options.shape.value_bytes = 72;
  options.shape.capacity = 16;
  options.shape.max_bytes = 8192;
  options.runtime.device = "cpu";
  options.overwrite = true;
  std::vector<std::uint64_t> keys(200);
  std::iota(keys.begin(), keys.end(), 1);
  const std::vector<std::byte> values(keys.size() * 72);
  const auto fill = [&](bool beside_a_caller) {
    Table table = Table::create(path, options);
    if (beside_a_caller) std::thread([&] { table.insert(keys.data(), values.data(), 1); }).join();
    const BatchResult filled = table.insert(keys.data(), values.data(), keys.size());
    EXPECT_GT(filled.of(Status::no_space), 0u);
    EXPECT_EQ(table.assign(keys.data(), values.data(), keys.size()).of(Status::updated), table.size());
    EXPECT_EQ(table.assign(keys.data(), values.data(), 1).of(Status::updated), 1u);
    EXPECT_TRUE(table.check().errors.empty());
    // Where cells are free again, callers keep some again.
    table.erase(keys.data(), keys.size() / 2);
    for (std::size_t i = 0; i < keys.size() / 2; ++i) {
      EXPECT_EQ(table.insert(&keys[i], values.data(), 1).of(Status::inserted), 1u);
    }
    EXPECT_TRUE(table.check().errors.empty());
    return table.size();
  };
  const std::uint64_t alone = fill(false);
  EXPECT_GE(alone, 100u);
  EXPECT_EQ(fill(true), alone);
  unlink(path.c_str());
}

}  // namespace
}  // namespace holdfast::test
