// export_test.cpp: a key that is there throughout an export appears exactly once, whatever moves, grows, comes and goes meanwhile.
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <random>
#include <string>
#include <thread>

#include "support/export_checks.hpp"
#include "support/numbers.hpp"

namespace holdfast::test {
namespace {

struct Sizes {
  std::uint32_t value_bytes, key_bytes;
};

class Export : public testing::TestWithParam<Sizes> {
 protected:
  Export() : path_("/dev/shm/holdfast-export-" + std::to_string(getpid()) + ".hold") {
    CreateOptions options;
    options.shape.key_bytes = GetParam().key_bytes;
    options.shape.value_bytes = GetParam().value_bytes;
    options.shape.capacity = 4000;
    options.runtime.device = "cpu";
    options.runtime.threads = 1;
    options.overwrite = true;
    options.shape.seed = 5;
    table_ = std::make_unique<NumberedTable>(Table::create(path_, options), kNumbers);
  }
  ~Export() override { unlink(path_.c_str()); }

  std::uint64_t items_at(double load) const {
    return static_cast<std::uint64_t>(load * static_cast<double>(table_->slots()));
  }

  const std::string path_;
  static constexpr std::uint64_t kNumbers = 6;  // not the table's seed: hashes are as they come
  std::unique_ptr<NumberedTable> table_;
};
INSTANTIATE_TEST_SUITE_P(Values, Export, testing::Values(Sizes{8, 8}, Sizes{16, 8}, Sizes{8, 32}, Sizes{16, 24}));

TEST_P(Export, FollowsItemsThatMoveBetweenPieces) {
  const std::uint64_t there = items_at(0.8), most = items_at(0.955);
  insert_range(*table_, 0, there);
  std::uint64_t next = there;
  const Stats before = table_->stats();
  const auto times = export_in_pieces(*table_, there / 50, [&] {
    const std::uint64_t last = std::min(most, next + (most - there) / 40);
    insert_range(*table_, next, last);
    next = last;
  });
  const Stats after = table_->stats();
  EXPECT_GT(after.work.moves, before.work.moves);
  EXPECT_EQ(after.growth.resizes, before.growth.resizes);
  expect_each_once(times, there);
}

/// Items move to and fro past the export: it stands still in the middle while keys come and go.
TEST_P(Export, FollowsItemsThatMoveManyTimes) {
  const std::uint64_t there = items_at(0.9), some = items_at(0.05);
  insert_range(*table_, 0, there);
  unsigned pieces = 0;
  const auto times = export_in_pieces(*table_, there / 3, [&] {
    for (std::uint64_t round = 0; round < 50; ++round) {
      const std::uint64_t first = there + (50 * pieces + round) * some;
      insert_range(*table_, first, first + some);
      std::vector<std::uint64_t> keys;
      for (std::uint64_t key = first; key < first + some; ++key) keys.push_back(key);
      ASSERT_EQ(table_->erase(keys.data(), keys.size()).of(Status::erased), some);
    }
    ++pieces;
  });
  EXPECT_EQ(table_->stats().growth.resizes, 0u);
  EXPECT_GT(table_->stats().work.moves, 500u);
  expect_each_once(times, there);
}

TEST_P(Export, OutlivesResizes) {
  const std::uint64_t there = items_at(0.5);
  insert_range(*table_, 0, there);
  std::uint64_t next = there;
  const auto times = export_in_pieces(*table_, 97, [&] {
    insert_range(*table_, next, next + 500);
    next += 500;
  });
  EXPECT_GT(table_->stats().growth.resizes, 1u);
  expect_each_once(times, there);
}

TEST_P(Export, AResizeBeforeTheLastItemIsSeenToo) {
  insert_range(*table_, 0, 1000);
  bool grown = false;
  const auto times = export_in_pieces(*table_, 999, [&] {
    if (!grown) insert_range(*table_, 1000, 9000);
    grown = true;
  });
  ASSERT_GT(table_->stats().growth.resizes, 0u);
  expect_each_once(times, 1000);
}

TEST_P(Export, LeavesOutWhatIsErasedBeforeItIsReached) {
  insert_range(*table_, 0, 2000);
  bool erased = false;
  std::vector<std::uint64_t> odd;
  for (std::uint64_t key = 1; key < 2000; key += 2) odd.push_back(key);
  const auto times = export_in_pieces(*table_, 1, [&] {
    if (!erased) table_->erase(odd.data(), odd.size());
    erased = true;
  });
  EXPECT_LE(times.size(), 1001u);
  for (std::uint64_t key = 0; key < 2000; key += 2) ASSERT_EQ(times.count(key), 1u) << key;
}

TEST_P(Export, UnderConcurrentChangesEachKeyAppearsOnce) {
  const std::uint64_t there = items_at(0.9), some = items_at(0.05);
  insert_range(*table_, 0, there);
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 2; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937_64 random(t);
      std::vector<std::uint64_t> keys(some / 2), updated(64);
      const std::vector<std::uint8_t> values(std::max(keys.size(), updated.size()) * GetParam().value_bytes);
      while (!stop) {
        for (auto& key : keys) key = (std::uint64_t{t} + 1) << 40 | random() >> 32;
        for (auto& key : updated) key = random() % there;
        table_->insert(keys.data(), values.data(), keys.size());
        table_->assign(updated.data(), values.data(), updated.size());
        table_->erase(keys.data(), keys.size());
      }
    });
  }
  const std::uint64_t moved = table_->stats().work.moves;
  for (unsigned round = 0; round < 10 || table_->stats().work.moves < moved + 1000; ++round) {
    const auto times = export_in_pieces(*table_, 1 + there / 200);
    for (std::uint64_t key = 0; key < there; ++key) ASSERT_EQ(times.contains(key) ? times.at(key) : 0, 1u) << key;
  }
  std::uint64_t cursor = 0, key = 0;
  table_->export_batch(cursor, &key, nullptr, 1);
  table_->reserve(3 * there);  // and grow under the threads
  EXPECT_GT(table_->stats().growth.resizes, 0u);
  stop = true;
  for (auto& thread : threads) thread.join();
  EXPECT_TRUE(table_->check().errors.empty());
}

TEST_P(Export, RefusesACursorThatIsNotItsOwn) {
  insert_range(*table_, 0, 100);
  std::uint64_t cursor = 0, key = 0;
  table_->export_batch(cursor, &key, nullptr, 1);
  std::uint64_t again = cursor;
  table_->export_batch(cursor, &key, nullptr, 1);
  EXPECT_THROW(table_->export_batch(again, &key, nullptr, 1), InvalidArgument);
  table_->end_export(cursor);
  EXPECT_THROW(table_->export_batch(cursor, &key, nullptr, 1), InvalidArgument);
  table_->end_export(cursor);
  table_->end_export(kExportEnd);
}

TEST_P(Export, ForgetsTheExportsThatWereLeftLongest) {
  insert_range(*table_, 0, 100);
  std::vector<std::uint64_t> cursors(17);
  std::uint64_t key = 0;
  for (std::uint64_t& cursor : cursors) table_->export_batch(cursor, &key, nullptr, 1);
  EXPECT_THROW(table_->export_batch(cursors[0], &key, nullptr, 1), InvalidArgument);
  EXPECT_EQ(table_->export_batch(cursors[1], &key, nullptr, 1), 1u);
}

TEST_P(Export, GoesOnAtItsPlaceInAnotherProcess) {
  insert_range(*table_, 0, 1000);
  std::vector<std::uint64_t> keys(1000);
  std::uint64_t cursor = 0;
  ASSERT_EQ(table_->export_batch(cursor, keys.data(), nullptr, 600), 600u);
  table_->close();
  OpenOptions options;
  options.runtime.device = "cpu";
  options.read_only = true;
  table_ = std::make_unique<NumberedTable>(Table::open(path_, options), kNumbers);
  EXPECT_THROW(table_->export_batch(cursor, keys.data(), nullptr, 1), InvalidArgument);
  cursor &= kExportPlace;
  ASSERT_EQ(table_->export_batch(cursor, keys.data() + 600, nullptr, 400), 400u);
  std::sort(keys.begin(), keys.end());
  for (std::uint64_t key = 0; key < 1000; ++key) ASSERT_EQ(keys[key], key);
}

}  // namespace
}  // namespace holdfast::test
