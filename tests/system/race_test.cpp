// race_test.cpp: between two calls of an opener another process does something; the opener must notice.
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "holdfast/table.hpp"
#include "proof/recorder.hpp"

namespace holdfast::proof {
namespace {

/// Does something once, before the first call of a kind. In this process, but a lock does not know the difference.
class Meanwhile : public memory::system::Observer {
 public:
  Meanwhile(Call call, std::function<void()> act) : call_(call), act_(std::move(act)) {}
  int before(const Event& event) noexcept override {
    const bool unlocks = event.call == Call::flock && (event.flags & LOCK_UN) != 0;
    if (event.call == call_ && !unlocks && !done_) {
      done_ = true;
      act_();
    }
    return 0;
  }
  bool done() const { return done_; }

 private:
  const Call call_;
  const std::function<void()> act_;
  bool done_ = false;
};

class Races : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = "/dev/shm/holdfast-race-XXXXXX";
    ASSERT_NE(mkdtemp(folder_.data()), nullptr);
    path_ = folder_ + "/a.hold";
    put(create(false), 0, 10);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  Table create(bool overwrite) const {
    CreateOptions options;
    options.capacity = 8;
    options.device = "cpu";
    options.threads = 1;
    options.overwrite = overwrite;
    return Table::create(path_, options);
  }
  Table open() const {
    OpenOptions options;
    options.device = "cpu";
    options.threads = 1;
    return Table::open(path_, options);
  }
  static void put(Table table, std::uint64_t first, std::uint64_t last) {
    for (std::uint64_t key = first; key < last; ++key) table.insert_or_assign(&key, &key, 1);
  }
  static void expect_keys(Table& table, std::uint64_t first, std::uint64_t last) {
    EXPECT_EQ(table.size(), last - first);
    for (std::uint64_t key = first; key < last; ++key) {
      bool found = false;
      table.contains(&key, 1, &found);
      EXPECT_TRUE(found) << "key " << key;
    }
    EXPECT_TRUE(table.check().errors.empty());
  }

  std::string folder_, path_;
};

// Planted: the superblock read before the lock; then the opener maps levels that are no more.
TEST_F(Races, AnOpenerReadsTheSuperblockUnderItsLock) {
  Meanwhile other(Call::flock, [this] { put(open(), 10, 500); });
  {
    const Watch watch(other);
    Table table = open();
    expect_keys(table, 0, 500);
    put(std::move(table), 500, 600);
  }
  EXPECT_TRUE(other.done());
  Table table = open();
  expect_keys(table, 0, 600);
}

// Planted: the opened file not compared with its name; then what the opener acknowledges is in a file that nobody finds.
TEST_F(Races, AnOpenerComparesTheFileWithItsName) {
  Meanwhile other(Call::flock, [this] { put(create(true), 100, 120); });
  {
    const Watch watch(other);
    Table table = open();
    expect_keys(table, 100, 120);
    put(std::move(table), 120, 130);
  }
  EXPECT_TRUE(other.done());
  Table table = open();
  expect_keys(table, 100, 130);
}

TEST_F(Races, AnOpenerOfARemovedFileFindsNone) {
  Meanwhile other(Call::flock, [this] { ::unlink(path_.c_str()); });
  const Watch watch(other);
  EXPECT_THROW(open(), PoolNotFound);
}

TEST_F(Races, WhoComesBetweenALookAndTheNameKeepsIt) {
  ::unlink(path_.c_str());
  Meanwhile other(Call::renameat2, [this] { put(create(false), 0, 20); });
  {
    const Watch watch(other);
    EXPECT_THROW(create(false), PoolExists);
  }
  EXPECT_TRUE(other.done());
  Table table = open();
  expect_keys(table, 0, 20);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 1);
}

}  // namespace
}  // namespace holdfast::proof
