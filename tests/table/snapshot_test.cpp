// snapshot_test.cpp: a snapshot is the table between two batches, as a pool of its own; or there is none.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "snapshot_fixture.hpp"

namespace holdfast::test {
namespace {

/// From and to each medium, with each place that values can have.
struct Case {
  const char* from;
  const char* to;
  std::uint32_t bytes;
};
class Snapshots : public testing::TestWithParam<Case> {};
INSTANTIATE_TEST_SUITE_P(Media, Snapshots,
                         testing::Values(Case{"/dev/shm", "/tmp", 0}, Case{"/dev/shm", "/tmp", 8},
                                         Case{"/dev/shm", "/tmp", 100}, Case{"/tmp", "/dev/shm", 100},
                                         Case{"/tmp", "/tmp", 3}, Case{"/dev/shm", "/dev/shm", 5000}));

TEST_P(Snapshots, AreClosedPoolsThatHoldTheTable) {
  const auto [from, to, bytes] = GetParam();
  const Folder source(from), target(to);
  // Grows several times, so that the file has free extents and its heap lies in pieces.
  Table table = make(source / "a.hold", bytes);
  for (std::uint64_t at = 0; at < 3000; at += 100) {
    const auto keys = keys_from(at, 100);  // 0, which lives aside, among them
    table.insert(keys.data(), values_of(keys, bytes, 1).data(), keys.size());
  }
  const auto erased = keys_from(2000, 1000);
  table.erase(erased.data(), erased.size());
  const auto keys = keys_from(0, 2000);

  const std::string path = target / "b.hold";
  const SnapshotResult result = table.snapshot(path);
  EXPECT_FALSE(result.stopped);
  EXPECT_EQ(result.items, keys.size());
  EXPECT_GT(result.bytes, keys.size() * (16 + bytes));
  EXPECT_LE(result.written, result.bytes);
  EXPECT_EQ(target.files(), 1u);

  struct stat status = {};
  ASSERT_EQ(stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0600u);
  const PoolInfo original = inspect(source / "a.hold"), copy = inspect(path);
  EXPECT_FALSE(original.objects.at(0).clean) << "the table itself was not synced";
  EXPECT_TRUE(copy.objects.at(0).clean);
  EXPECT_TRUE(copy.objects.at(0).same_boot);
  EXPECT_EQ(copy.objects.at(0).name, original.objects.at(0).name);
  EXPECT_EQ(copy.valid_copies, 2u);
  EXPECT_EQ(copy.owner, "");
  EXPECT_EQ(copy.generation, 1u);
  EXPECT_NE(copy.pool_id, original.pool_id);
  EXPECT_EQ(copy.pool_id.size(), 32u);
  std::size_t heaps = 0;
  for (const ExtentInfo& extent : copy.objects.at(0).extents) heaps += extent.kind == "heap";
  EXPECT_EQ(heaps, bytes > 8 ? 1u : 0u);
  EXPECT_LE(copy.file_bytes, original.file_bytes + (2u << 20)) << "large extents fit huge pages";

  expect_snapshot(path, keys, 1);
  expect_holds(table, keys, 1);
  // Both live on, apart from each other.
  Table other = Table::open(path, {.runtime = {.device = "cpu"}});
  const auto more = keys_from(5000, 3000);
  other.insert(more.data(), values_of(more, bytes, 1).data(), more.size());
  EXPECT_EQ(other.size(), 5000u);
  EXPECT_TRUE(other.check().errors.empty());
  table.insert_or_assign(keys.data(), values_of(keys, bytes, 2).data(), keys.size());
  expect_holds(table, keys, 2);
}

TEST_F(Snapshot, SearchesGoOnMeanwhileAndChangesWait) {
  fill(1);
  std::thread changing, syncing;
  SnapshotOptions options;
  options.progress = [&](std::uint64_t done, std::uint64_t total) {
    if (!changing.joinable()) {
      EXPECT_EQ(done, 0u);
      changing = std::thread([&] { fill(2); });
      syncing = std::thread([&] { table->sync(); });
    }
    // From this thread and from another one, even while somebody waits to be alone on the table.
    std::thread([&] {
      bool found[3];
      table->contains(keys.data(), 3, found);
      EXPECT_TRUE(found[0] && found[1] && found[2]);
      EXPECT_EQ(table->size(), keys.size());
    }).join();
    std::vector<std::uint8_t> value(kBytes + 1);
    table->find(&keys[7], value.data(), 1);
    EXPECT_TRUE(value == values_of({keys[7]}, kBytes, 1) || value == values_of({keys[7]}, kBytes, 2));
    EXPECT_LE(done, total);
  };
  const SnapshotResult result = table->snapshot(target, options);
  EXPECT_LE(result.held_ms, result.total_ms);
  ASSERT_TRUE(changing.joinable());
  changing.join();
  syncing.join();
  expect_snapshot(target, keys, 1);  // the change had begun when nothing was copied yet
  expect_holds(*table, keys, 2);
}

TEST_F(Snapshot, ItsProgressMayChangeAndCloseTheTable) {
  fill(1);
  SnapshotOptions options;
  options.progress = [&](std::uint64_t done, std::uint64_t total) {
    if (done == 0) fill(2);  // waits for the copy, which does not wait for it
    if (done == total) {
      table->snapshot(disk / "inner.hold");
      table->close();
    }
  };
  table->snapshot(target, options);
  expect_snapshot(target, keys, 1);
  expect_snapshot(disk / "inner.hold", keys, 2);
}

TEST_F(Snapshot, IsTheTableBetweenTwoBatches) {
  fill(0);
  std::atomic<bool> stop = false;
  std::thread writer([&] {
    for (std::uint64_t version = 1; !stop; ++version) fill(version % 200);
  });
  for (int round = 0; round < 8; ++round) {
    const std::string path = (round % 2 == 0 ? folder : disk) / std::to_string(round);
    table->snapshot(path);
    OpenOptions options;
    options.runtime.device = "cpu";
    options.read_only = true;
    Table copy = Table::open(path, options);
    std::vector<std::uint8_t> first(kBytes);
    copy.find(keys.data(), first.data(), 1);
    std::uint64_t version = 0;
    while (version < 200 && values_of({keys[0]}, kBytes, version)[0] != first[0]) ++version;
    ASSERT_LT(version, 200u);
    expect_holds(copy, keys, version);
  }
  stop = true;
  writer.join();
}

TEST_F(Snapshot, LeavesOutRangesOfZeros) {
  Table large = make(folder / "large.hold", 1000, 100'000);
  const auto more = keys_from(10, 55'000);  // than half of its capacity: else the copy is a compact one
  large.insert(more.data(), values_of(more, 1000, 3).data(), more.size());
  const SnapshotResult result = large.snapshot(target);
  EXPECT_GT(result.bytes, 100'000'000u);
  EXPECT_LT(result.written, 65'000'000u);
  EXPECT_EQ(fs::file_size(target), inspect(target).file_bytes);
  expect_snapshot(target, more, 3);
}

TEST_F(Snapshot, OfATableOpenForReading) {
  fill(5);
  table->close();
  OpenOptions options;
  options.runtime.device = "cpu";
  options.read_only = true;
  Table reader = Table::open(source, options);
  const std::vector<char> before = read_all(source);
  reader.snapshot(target);
  EXPECT_EQ(read_all(source), before);
  expect_snapshot(target, keys, 5);
}

TEST_F(Snapshot, OfWhatIsSalvaged) {
  fill(5);
  EXPECT_EQ(in_child([] { raise(SIGKILL); }), 100 + SIGKILL);
  table->close();
  EXPECT_TRUE(inspect(source).objects.at(0).clean);
  OpenOptions options;
  options.runtime.device = "cpu";
  options.read_only = options.salvage = true;
  Table::open(source, options).snapshot(target);
  expect_snapshot(target, keys, 5);
}

}  // namespace
}  // namespace holdfast::test
