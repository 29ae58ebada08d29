// snapshot_faults_test.cpp: a snapshot that cannot be, is stopped, or killed, or finds no room, leaves nothing and harms nothing.
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <stdexcept>
#include <string>
#include <vector>

#include "snapshot_fixture.hpp"

namespace holdfast::test {
namespace {

class SnapshotFaults : public Snapshot {};

TEST_F(SnapshotFaults, RefusesWhatItCannotName) {
  fill(1);
  table->sync();
  const std::vector<char> before = read_all(source);
  table->snapshot(target);
  const std::vector<char> taken = read_all(target);
  const SnapshotOptions over{.overwrite = true};
  expect_error<PoolExists>([&] { table->snapshot(target); }, "exists already");
  expect_error<PoolExists>([&] { table->snapshot(source); }, "exists already");
  expect_error<ObjectInUse>([&] { table->snapshot(source, over); },
                            source + " is the pool that is to be copied: source and target are one file");
  expect_error<MediumError>([&] { table->snapshot(folder / "no/b.hold"); }, "folder does not exist");
  expect_error<MediumError>([&] { table->snapshot(folder.path()); }, "is a directory");
  expect_error<MediumError>([&] { table->snapshot("/dev/null", over); }, "is a device");
  expect_error<InvalidArgument>([&] { table->snapshot(""); }, "path");
  {
    const Table open = Table::open(target, {.runtime = {.device = "cpu"}});
    expect_error<ObjectInUse>([&] { table->snapshot(target, over); }, "is open");
  }
  EXPECT_EQ(read_all(source), before);
  EXPECT_EQ(read_all(target), taken);
  EXPECT_EQ(folder.files() + disk.files(), 2u);
  fill(2);
  table->snapshot(target, over);
  EXPECT_EQ(disk.files(), 1u);
  expect_snapshot(target, keys, 2);
  table->close();
  expect_error<ObjectClosed>([&] { table->snapshot(disk / "c.hold"); }, "is closed");
  EXPECT_EQ(disk.files(), 1u);
}

TEST_F(SnapshotFaults, StoppedLeavesNothing) {
  fill(1);
  SnapshotOptions options;
  for (const bool at_end : {false, true}) {
    std::stop_source stopping;
    options.stop = stopping.get_token();
    options.progress = [&](std::uint64_t done, std::uint64_t total) {
      if (!at_end || done == total) stopping.request_stop();
    };
    EXPECT_TRUE(table->snapshot(target, options).stopped);
    EXPECT_EQ(disk.files(), 0u);
    options.progress = {};  // stopped before it began, and nobody hears of it
    EXPECT_TRUE(table->snapshot(target, options).stopped);
    EXPECT_EQ(disk.files(), 0u);
  }
  options.stop = {};
  options.progress = [&](std::uint64_t done, std::uint64_t total) {
    if (done == total) throw std::runtime_error("enough");
  };
  EXPECT_THROW(table->snapshot(target, options), std::runtime_error);
  EXPECT_EQ(disk.files(), 0u);
  fill(2);
  expect_holds(*table, keys, 2);
}

TEST_F(SnapshotFaults, KilledLeavesNothingUnderItsName) {
  fill(1);
  for (const bool exists : {false, true}) {
    if (exists) make(target, kBytes).close();
    const std::vector<char> before = exists ? read_all(target) : std::vector<char>();
    EXPECT_EQ(in_child([&] {
                SnapshotOptions options;
                options.overwrite = exists;
                options.progress = [](std::uint64_t done, std::uint64_t total) {
                  if (done == total) raise(SIGKILL);
                };
                table->snapshot(target, options);
              }),
              100 + SIGKILL);
    EXPECT_EQ(fs::exists(target), exists);
    if (exists) {
      EXPECT_EQ(read_all(target), before);
    }
    EXPECT_EQ(disk.files(), exists ? 2u : 1u);
    expect_holds(*table, keys, 1);
  }
  table->snapshot(target, {.overwrite = true});
  EXPECT_EQ(disk.files(), 1u) << "the next one removes what was left";
}

TEST_F(SnapshotFaults, WithoutSpaceIsOneErrorAndNoFile) {
  fill(1);
  const int status = in_child([&] {
    const rlimit limit = {1 << 20, 1 << 20};
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) _exit(1);
    expect_error<NoSpace>([&] { table->snapshot(target); }, "ulimit -f");
    EXPECT_EQ(disk.files(), 0u);
    expect_holds(*table, keys, 1);
  });
  EXPECT_EQ(status, 0);
  const Folder small("/tmp");
  if (mount("holdfast-test", small.path().c_str(), "tmpfs", 0, "size=1m") != 0) {
    GTEST_SKIP() << "only root can mount a small tmpfs";
  }
  expect_error<NoSpace>([&] { table->snapshot(small / "b.hold"); }, "no space");
  EXPECT_EQ(small.files(), 0u);
  EXPECT_EQ(umount(small.path().c_str()), 0);
  fill(2);
  expect_holds(*table, keys, 2);
}

}  // namespace
}  // namespace holdfast::test
