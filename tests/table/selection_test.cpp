// selection_test.cpp: erase_if, export_if and size_if: by range, by predicate, while others change the table, and where a
// predicate misbehaves.
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>

#include "support/export_checks.hpp"

namespace holdfast::test {
namespace {

class Selecting : public testing::Test {
 protected:
  static constexpr std::uint64_t kKeys = 50000;

  Selecting() : path_("/dev/shm/holdfast-select-" + std::to_string(getpid()) + ".hold") {
    CreateOptions options;
    options.shape.value_bytes = 16;
    options.shape.capacity = kKeys;
    options.runtime.device = "cpu";
    options.runtime.threads = 1;
    options.overwrite = true;
    table_ = std::make_unique<Table>(Table::create(path_, options));
    std::vector<std::uint64_t> keys, values;
    for (std::uint64_t key = 0; key < kKeys; ++key) {
      keys.push_back(key);
      values.insert(values.end(), {key * key, ~key});
    }
    table_->insert(keys.data(), values.data(), kKeys);
  }
  ~Selecting() override { unlink(path_.c_str()); }

  static std::uint64_t number(const void* at) { return *static_cast<const std::uint64_t*>(at); }
  /// Keys whose value says so, and whose value is theirs.
  static Selection squares_of_multiples_of(std::uint64_t n) {
    Selection selection;
    selection.where = [n](const void* key, const void* value) {
      EXPECT_EQ(number(value), number(key) * number(key));
      return number(key) % n == 0;
    };
    return selection;
  }
  bool contains(std::uint64_t key) {
    bool found = false;
    table_->contains(&key, 1, &found);
    return found;
  }
  void expect_whole() {
    const CheckReport report = table_->check();
    EXPECT_TRUE(report.errors.empty()) << report.errors.front();
  }

  const std::string path_;
  std::unique_ptr<Table> table_;
};

TEST_F(Selecting, ByRangeBothEndsIncluded) {
  const std::uint64_t first = 100, last = 40000;
  Selection range;
  range.first = &first;
  range.last = &last;
  EXPECT_EQ(table_->size_if(range), last - first + 1);
  EXPECT_EQ(table_->erase_if(range), last - first + 1);
  EXPECT_EQ(table_->size(), kKeys - (last - first + 1));
  EXPECT_TRUE(contains(99) && !contains(100) && !contains(40000) && contains(40001));
  range.last = nullptr;
  EXPECT_EQ(table_->erase_if(range), kKeys - 40001);
  EXPECT_EQ(table_->size_if({}), 100u);
  EXPECT_EQ(table_->erase_if({}), 100u);
  EXPECT_EQ(table_->size(), 0u);
  expect_whole();
}

TEST_F(Selecting, KeysAreUnsignedNumbers) {
  const std::uint64_t greatest = ~std::uint64_t{0}, high = std::uint64_t{1} << 63;
  const std::uint64_t value[2] = {};
  table_->insert(&greatest, value, 1);
  Selection range;
  range.first = &high;
  EXPECT_EQ(table_->size_if(range), 1u);
  range.last = &high;
  EXPECT_EQ(table_->size_if(range), 0u);
}

TEST_F(Selecting, ByPredicateOfKeyAndValue) {
  EXPECT_EQ(table_->size_if(squares_of_multiples_of(10)), kKeys / 10);
  EXPECT_EQ(table_->erase_if(squares_of_multiples_of(10)), kKeys / 10);
  EXPECT_EQ(table_->size_if(squares_of_multiples_of(10)), 0u);
  EXPECT_EQ(table_->size(), kKeys - kKeys / 10);
  EXPECT_TRUE(!contains(0) && contains(1) && !contains(10));
  expect_whole();
}

TEST_F(Selecting, ByPredicateOfManyItems) {
  Selection odd;
  odd.where_all = [](const void* keys, const void* values, std::size_t n, bool* keep) {
    for (std::size_t i = 0; i < n; ++i) {
      const std::uint64_t key = static_cast<const std::uint64_t*>(keys)[i];
      EXPECT_EQ(static_cast<const std::uint64_t*>(values)[2 * i + 1], ~key);
      keep[i] = key % 2 == 1;
    }
  };
  EXPECT_EQ(table_->erase_if(odd), kKeys / 2);
  EXPECT_TRUE(contains(0) && !contains(1));
}

TEST_F(Selecting, AnExportOfSomeIsInPiecesToo) {
  Selection some = squares_of_multiples_of(7);
  const std::uint64_t last = 9999;
  some.last = &last;
  std::vector<std::uint64_t> all, keys(100), values(200);
  for (std::uint64_t cursor = 0; cursor != kExportEnd;) {
    const std::size_t n = table_->export_if(some, cursor, keys.data(), values.data(), keys.size());
    ASSERT_TRUE(n == keys.size() || cursor == kExportEnd);
    for (std::size_t i = 0; i < n; ++i) {
      EXPECT_EQ(values[2 * i + 1], ~keys[i]);
      all.push_back(keys[i]);
    }
  }
  std::sort(all.begin(), all.end());
  ASSERT_EQ(all.size(), (last + 7) / 7);
  for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i], 7 * i);
  std::uint64_t cursor = 0;
  EXPECT_EQ(table_->export_if(some, cursor, keys.data(), nullptr, keys.size()), keys.size());
}

TEST_F(Selecting, WhatAPredicateThrowsComesOutAndTheTableIsUnharmed) {
  Selection thrower;
  std::uint64_t seen = 0;
  thrower.where = [&](const void*, const void*) {
    if (++seen == kKeys / 2) throw std::runtime_error("no opinion");
    return true;
  };
  EXPECT_THROW(table_->erase_if(thrower), std::runtime_error);
  EXPECT_GT(table_->size(), 0u);
  EXPECT_LT(table_->size(), kKeys);  // what was erased before stands
  expect_whole();
  seen = 0;
  thrower.where = [](const void*, const void*) -> bool { throw std::runtime_error("none"); };
  EXPECT_THROW(table_->size_if(thrower), std::runtime_error);
  std::uint64_t cursor = 0, key = 0;
  EXPECT_THROW(table_->export_if(thrower, cursor, &key, nullptr, 1), std::runtime_error);
  EXPECT_EQ(table_->size_if({}), table_->size());
  table_->clear();  // nobody holds it
}

TEST_F(Selecting, APredicateMaySearchTheTableAndMustNotChangeIt) {
  Selection searcher;
  searcher.where = [&](const void* key, const void*) {
    const std::uint64_t number = *static_cast<const std::uint64_t*>(key);
    return number % 1000 == 0 && contains(number);
  };
  EXPECT_EQ(table_->erase_if(searcher), kKeys / 1000);
  for (int what = 0; what < 4; ++what) {
    Selection changer;
    changer.where = [&](const void* key, const void*) {
      if (what == 0) table_->erase(key, 1);
      if (what == 1) table_->sync();
      if (what == 2) table_->close();
      if (what == 3) table_->erase_if({});
      return false;
    };
    EXPECT_THROW(table_->erase_if(changer), InvalidArgument) << what;
  }
  EXPECT_EQ(table_->size(), kKeys - kKeys / 1000);
}

TEST_F(Selecting, StopsWhenItIsAskedTo) {
  Selection stopping;
  std::stop_source source;
  int asked = 0;
  stopping.stop = source.get_token();
  stopping.progress = [&] {
    if (++asked > 1) source.request_stop();
  };
  const std::uint64_t erased = table_->erase_if(stopping);
  EXPECT_GT(erased, 0u);
  EXPECT_LT(erased, kKeys);
  EXPECT_EQ(table_->size(), kKeys - erased);
}

TEST_F(Selecting, NothingIsErasedFromAReadOnlyTable) {
  table_->close();
  EXPECT_THROW(table_->erase_if({}), ObjectClosed);
  EXPECT_THROW(table_->size_if({}), ObjectClosed);
  OpenOptions options;
  options.runtime.device = "cpu";
  options.read_only = true;
  table_ = std::make_unique<Table>(Table::open(path_, options));
  EXPECT_THROW(table_->erase_if({}), ReadOnly);
  EXPECT_EQ(table_->size_if({}), kKeys);
}

/// An item whose value changes under the erase is judged by the value that it has when it goes.
TEST_F(Selecting, JudgesAnItemAsItIsWhenItIsErased) {
  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> assigned{0};
  std::thread writer([&] {  // marks keys, in order, as ones to be kept; what it marked must not be erased
    for (std::uint64_t key = 1; key < kKeys && !stop; key += 2) {
      const std::uint64_t keep[2] = {1, 1};
      if (table_->assign(&key, keep, 1).of(Status::updated) == 1) ++assigned;
    }
  });
  Selection unmarked;
  unmarked.where = [](const void* key, const void* value) { return number(key) % 2 == 1 && number(value) != 1; };
  std::uint64_t erased = 1;  // 1 * 1 is the mark already
  while (assigned == 0) std::this_thread::yield();
  erased += table_->erase_if(unmarked);
  stop = true;
  writer.join();
  Selection marked;
  marked.where = [](const void* key, const void* value) { return number(key) % 2 == 1 && number(value) == 1; };
  const std::uint64_t kept = table_->size_if(marked);
  EXPECT_TRUE(kept == assigned || kept == assigned + 1);
  EXPECT_EQ(table_->size(), kKeys - (erased - 1));
  expect_whole();
}

}  // namespace
}  // namespace holdfast::test
