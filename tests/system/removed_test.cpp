// removed_test.cpp: somebody removes or replaces the file of an open pool: its writer notices at the next batch, and acknowledges no more.
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "holdfast/table.hpp"
#include "support/folder.hpp"

namespace holdfast::proof {
namespace {

namespace fs = std::filesystem;

class Removed : public testing::Test {
 protected:
  void SetUp() override {
    fs::create_directory(folder_ / "in");
    table_.emplace(create(path_));
    put(0, 10);
  }
  void TearDown() override { table_.reset(); }

  static Table create(const std::string& path) {
    CreateOptions options;
    options.shape.capacity = 8;
    options.runtime.device = "cpu";
    options.runtime.threads = 1;
    return Table::create(path, options);
  }
  void put(std::uint64_t first, std::uint64_t last) {
    for (std::uint64_t key = first; key < last; ++key) {
      Status status = Status::not_found;
      table_->insert(&key, &key, 1, &status);
      EXPECT_EQ(status, Status::inserted);
    }
  }
  /// The clock by which small batches look has gone on.
  static void later() { std::this_thread::sleep_for(std::chrono::milliseconds(30)); }

  void expect_noticed() {
    later();
    const std::uint64_t key = 4711;
    for (int again = 0; again < 2; ++again) {
      try {
        table_->insert(&key, &key, 1);
        ADD_FAILURE() << "a batch was acknowledged";
      } catch (const MediumError& error) {
        EXPECT_EQ(std::string(error.what()).find(path_ + " was removed or replaced"), 0u) << error.what();
      }
    }
    EXPECT_EQ(table_->stats().place.domain, Domain::none);
    EXPECT_THROW(table_->sync(), MediumError);
    EXPECT_THROW(table_->clear(), MediumError);
    EXPECT_EQ(table_->size(), 10u) << "what was there is still found";
    const std::string kept = folder_ / "kept.hold";
    table_->snapshot(kept);
    EXPECT_THROW(table_->close(), MediumError) << "it was not synced";
    EXPECT_EQ(Table::open(kept, {.runtime = {.device = "cpu"}}).size(), 10u);
  }
  void expect_unharmed() {
    later();
    put(10, 20);
    table_->sync();
    EXPECT_EQ(table_->stats().place.domain, Domain::process);
  }

  const test::Folder folder_;
  const std::string path_ = folder_ / "in/a.hold";
  std::optional<Table> table_;
};

TEST_F(Removed, FilesAreNoticedByTheNextBatch) {
  fs::remove(path_);
  expect_noticed();
}

TEST_F(Removed, AreThoseThatAnotherFileReplaces) {
  create(folder_ / "b.hold").close();
  fs::rename(folder_ / "b.hold", path_);
  expect_noticed();
}

/// A second name keeps the file, but those who look by the first find another.
TEST_F(Removed, AreThoseWhoseNameLeadsToAnotherFile) {
  fs::create_hard_link(path_, folder_ / "second");
  create(folder_ / "b.hold").close();
  fs::rename(folder_ / "b.hold", path_);
  expect_noticed();
}

TEST_F(Removed, AreThoseThatAPoolWasMadeInsteadOf) {
  fs::remove(path_);
  create(path_).close();
  expect_noticed();
}

TEST_F(Removed, IsWhatALargeBatchLooksForAtOnce) {
  const std::vector<std::uint64_t> keys(5000, 4711);
  table_->insert_or_assign(keys.data(), keys.data(), keys.size());
  fs::remove(path_);
  EXPECT_THROW(table_->insert_or_assign(keys.data(), keys.data(), keys.size()), MediumError);
}

TEST_F(Removed, IsNoticedByAWriterWithoutPauses) {
  std::thread remover([this] {
    later();
    fs::remove(path_);
  });
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  bool noticed = false;
  for (std::uint64_t key = 0; !noticed && std::chrono::steady_clock::now() < deadline; ++key) {
    const std::uint64_t one = key % 100;
    try {
      table_->insert_or_assign(&one, &key, 1);
    } catch (const MediumError&) {
      noticed = true;
    }
  }
  remover.join();
  EXPECT_TRUE(noticed);
}

TEST_F(Removed, AreNotThoseThatWereMovedNorTheirFolders) {
  fs::rename(path_, folder_ / "moved.hold");
  expect_unharmed();
  table_->close();
  EXPECT_EQ(Table::open(folder_ / "moved.hold", {.runtime = {.device = "cpu"}}).size(), 20u);
}

TEST_F(Removed, IsNotAFolderThatHasAnotherName) {
  fs::rename(folder_ / "in", folder_ / "out");
  expect_unharmed();
}

/// A relative name, and a process that works elsewhere by now, where another file has it.
TEST_F(Removed, IsNotLookedForWhereTheProcessWorks) {
  const fs::path before = fs::current_path();
  create(folder_ / "in/b.hold").close();
  fs::current_path(folder_.path());
  std::optional<Table> relative = create("b.hold");
  for (std::uint64_t key = 1; key < 3; ++key) {
    fs::current_path(folder_ / "in");
    later();
    EXPECT_NO_THROW(relative->insert(&key, &key, 1));
    fs::current_path(folder_.path());
    relative.reset();
    relative = Table::open("b.hold", {.runtime = {.device = "cpu"}});
  }
  EXPECT_EQ(relative->size(), 2u);
  fs::current_path(before);
}

TEST_F(Removed, TakesNoNewTable) {
  table_->close();
  Pool pool = Pool::open(path_);
  fs::remove(path_);
  EXPECT_THROW(pool.create_table("another", {.shape = {.capacity = 8}, .runtime = {.device = "cpu"}}), MediumError);
  table_.reset();
}

TEST_F(Removed, AndNotChangedSinceItWasSyncedClosesQuietly) {
  table_->sync();
  fs::remove(path_);
  EXPECT_NO_THROW(table_->close());
}

}  // namespace
}  // namespace holdfast::proof
