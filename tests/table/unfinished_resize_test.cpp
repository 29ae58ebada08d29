// unfinished_resize_test.cpp: a resize needs a second level and finds no room for it. The table refuses to work, whoever
// opens it again has every item, and what is to be salvaged of it is.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "holdfast/table.hpp"
#include "support/errors.hpp"
#include "support/folder.hpp"

namespace holdfast::test {
namespace {

namespace fs = std::filesystem;

/// Limits the size of files for a scope: what needs a larger one has no room.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(std::uint64_t bytes) {
    getrlimit(RLIMIT_FSIZE, &before_);
    rlimit limit = before_;
    limit.rlim_cur = bytes;
    EXPECT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  }
  ~FileSizeLimit() { setrlimit(RLIMIT_FSIZE, &before_); }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  rlimit before_ = {};
};

/// By size of value: in the slots, in cells.
class UnfinishedResize : public testing::TestWithParam<std::uint32_t> {
 protected:
  void SetUp() override {
    find_the_key();
    ASSERT_NE(last_, 0u) << "no resize of this table needs two levels";
    fill_up();
  }

  /// One level, two places for a key: when half of a level moves up, some item finds both of its places taken.
  CreateOptions options() const {
    CreateOptions options;
    options.shape.value_bytes = GetParam();
    options.shape.levels = 1;
    options.shape.hash_locations = 2;
    options.shape.slots = 1;
    options.shape.capacity = 200;
    options.runtime.device = "cpu";
    options.runtime.threads = 1;
    options.shape.seed = seed_;
    options.overwrite = true;
    return options;
  }

  std::vector<std::uint64_t> value_of(std::uint64_t key) const { return {key * 3 + 1, key * 5 + 2}; }
  void insert(Table& table, std::uint64_t key) const {
    ASSERT_EQ(table.insert(&key, value_of(key).data(), 1).of(Status::inserted), 1u);
  }

  /// A seed of the table, and the first key for which it adds two levels in one resize. Both decide everything.
  void find_the_key() {
    const std::string scout_path = folder_ / "scout.hold";
    for (seed_ = 1; seed_ < 100; ++seed_) {
      Table scout = Table::create(scout_path, options());
      Stats before = scout.stats();
      for (std::uint64_t key = 1; key < 3000 && last_ == 0; ++key) {
        insert(scout, key);
        const Stats now = scout.stats();
        const bool grew_twice =
            now.growth.resizes == before.growth.resizes + 1 && now.space.slots == 4 * before.space.slots;
        if (grew_twice && before.space.slots >= 1024 && now.growth.heap_growths == before.growth.heap_growths)
          last_ = key;
        before = now;
      }
      if (last_ != 0) break;
    }
    fs::remove(scout_path);
  }

  /// A table with room for one level more, and not for two, when the next key comes.
  void fill_up() {
    table_.emplace(Table::create(path_, options()));
    for (std::uint64_t key = 1; key < last_; ++key) insert(*table_, key);
    limit_ = fs::file_size(path_) + table_->slots() * 2 * 16 + 8192;
    const FileSizeLimit limit(limit_);
    EXPECT_THROW(insert(*table_, last_), NoSpace);
  }

  Table reopen(bool read_only = false, bool salvage = false) const {
    OpenOptions options;
    options.runtime.device = "cpu";
    options.read_only = read_only;
    options.salvage = salvage;
    return Table::open(path_, options);
  }

  std::map<std::uint64_t, std::string> items(Table& table) const {
    std::map<std::uint64_t, std::string> found;
    std::uint64_t key = 0;
    std::string value(GetParam(), '\0');
    for (std::uint64_t cursor = 0; cursor != ~std::uint64_t{0};) {
      if (table.export_batch(cursor, &key, value.data(), 1) == 1) found[key] = value;
    }
    return found;
  }
  /// What was acknowledged: every key but the last.
  std::map<std::uint64_t, std::string> acknowledged() const {
    std::map<std::uint64_t, std::string> all;
    for (std::uint64_t key = 1; key < last_; ++key) {
      all[key] = std::string(reinterpret_cast<const char*>(value_of(key).data()), GetParam());
    }
    return all;
  }

  const Folder folder_;
  const std::string path_ = folder_ / "a.hold";
  std::uint64_t seed_ = 0, last_ = 0, limit_ = 0;
  std::optional<Table> table_;
};
INSTANTIATE_TEST_SUITE_P(Values, UnfinishedResize, testing::Values(8u, 16u));

TEST_P(UnfinishedResize, RefusesFurtherWork) {
  std::uint64_t key = 1, cursor = 0;
  std::vector<std::uint64_t> value(2);
  bool found = false;
  const std::vector<std::function<void()>> calls = {
      [&] { table_->find(&key, value.data(), 1, &found); },
      [&] { table_->contains(&key, 1, &found); },
      [&] { table_->insert(&key, value.data(), 1); },
      [&] { table_->erase(&key, 1); },
      [&] { table_->export_batch(cursor, &key, value.data(), 1); },
      [&] { table_->reserve(1); },
      [&] { table_->clear(); },
      [&] { table_->check(); },
      [&] { table_->snapshot(folder_ / "/b.hold"); },
  };
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const FileSizeLimit limit(limit_);
    expect_error<NoSpace>([&] { calls[i](); }, "open it again");
  }
  EXPECT_TRUE(inspect(path_).objects.at(0).table.resizing);
  table_->sync();
  table_->close();
  EXPECT_FALSE(fs::exists(folder_ / "/b.hold"));
}

TEST_P(UnfinishedResize, LeavesEveryItemToWhoeverHasSpace) {
  table_->close();
  EXPECT_TRUE(inspect(path_).objects.at(0).clean) << "a power cut takes nothing from it now";
  EXPECT_THROW(reopen(true), ReadOnly) << "a reader would look at the upper level alone";
  {
    const FileSizeLimit limit(limit_);
    EXPECT_THROW(reopen(), NoSpace);
  }
  EXPECT_TRUE(inspect(path_).objects.at(0).table.resizing);
  Table table = reopen();
  EXPECT_FALSE(inspect(path_).objects.at(0).table.resizing);
  EXPECT_FALSE(inspect(path_).objects.at(0).clean) << "finishing it changed the pool";
  EXPECT_FALSE(table.stats().recovery.was_clean);
  EXPECT_EQ(table.size(), last_ - 1);
  EXPECT_EQ(items(table), acknowledged());
  EXPECT_GT(table.stats().recovery.rehashed, 0u);
  EXPECT_TRUE(table.check().errors.empty());
  insert(table, last_);
  table.close();
  Table again = reopen(true);
  EXPECT_EQ(again.size(), last_);
}

TEST_P(UnfinishedResize, IsSalvagedInAPrivateCopy) {
  table_->close();
  const FileSizeLimit limit(limit_);
  const fs::file_time_type written = fs::last_write_time(path_);
  Table table = reopen(true, true);
  EXPECT_EQ(items(table), acknowledged());
  EXPECT_EQ(table.stats().recovery.left_out, 0u);
  EXPECT_TRUE(table.check().errors.empty());
  EXPECT_EQ(fs::last_write_time(path_), written);
  EXPECT_TRUE(inspect(path_).objects.at(0).table.resizing);
}

TEST_P(UnfinishedResize, IsSalvagedWithoutWhatIsDamaged) {
  table_->close();
  std::fstream file(path_, std::ios::binary | std::ios::in | std::ios::out);
  std::map<std::uint64_t, unsigned> copies;
  const auto each_item = [&](const ExtentInfo& extent,
                             const std::function<bool(std::uint64_t at, std::uint64_t key)>& act) {
    if (extent.kind.rfind("level", 0) != 0) return;
    for (std::uint64_t at = extent.offset; at < extent.offset + extent.bytes; at += 16) {
      std::uint64_t key = 0;
      file.seekg(static_cast<std::streamoff>(at));
      file.read(reinterpret_cast<char*>(&key), 8);
      if (key != 0 && !act(at, key)) return;
    }
  };
  const ObjectInfo info = inspect(path_).objects.at(0);
  for (const ExtentInfo& extent : info.extents)
    each_item(extent, [&](std::uint64_t, std::uint64_t key) { return ++copies[key] > 0; });
  // One slot of each level gets a key that does not belong there. Items that were copied up lose one of two copies.
  auto expected = acknowledged();
  unsigned alone = 0, copied = 0;
  std::uint64_t upper = 0;
  for (const ExtentInfo& extent : info.extents)
    each_item(extent, [&](std::uint64_t, std::uint64_t) { return upper = std::max(upper, extent.bytes), false; });
  for (const ExtentInfo& extent : info.extents) {
    const bool wants_copied = extent.bytes == upper;
    each_item(extent, [&](std::uint64_t at, std::uint64_t key) {
      if ((copies[key] == 2) != wants_copied) return true;
      ++(wants_copied ? copied : alone);
      if (!wants_copied) expected.erase(key);
      key ^= std::uint64_t{1} << 40;
      file.seekp(static_cast<std::streamoff>(at));
      file.write(reinterpret_cast<const char*>(&key), 8);
      return false;
    });
  }
  file.close();
  ASSERT_EQ(copied, 1u);
  ASSERT_EQ(alone, 1u) << "nothing was left to copy";
  ASSERT_EQ(expected.size(), last_ - 2);
  EXPECT_THROW(reopen(), PoolCorrupt);
  Table table = reopen(true, true);
  EXPECT_EQ(items(table), expected);
  EXPECT_EQ(table.stats().recovery.left_out, 2u);
  EXPECT_TRUE(table.check().errors.empty());
}

}  // namespace
}  // namespace holdfast::test
