// snapshot_test.cpp: a snapshot is the table between two batches, as a pool of its own; or there is none.
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <numeric>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "holdfast/table.hpp"

namespace holdfast::test {
namespace {

namespace fs = std::filesystem;

/// A folder on a medium, gone at the end.
class Folder {
 public:
  explicit Folder(const std::string& parent) {
    std::string name = parent + "/holdfast-snapshot-XXXXXX";
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no folder in " + parent);
    path_ = name;
  }
  ~Folder() { fs::remove_all(path_); }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  std::size_t files() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(path_), fs::directory_iterator()));
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

std::vector<std::uint64_t> keys_from(std::uint64_t first, std::size_t n) {
  std::vector<std::uint64_t> keys(n);
  std::iota(keys.begin(), keys.end(), first);
  return keys;
}

/// Values of `bytes` bytes that depend on their key and a version.
std::vector<std::uint8_t> values_of(const std::vector<std::uint64_t>& keys, std::uint32_t bytes,
                                    std::uint64_t version) {
  std::vector<std::uint8_t> values(keys.size() * bytes + 1);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    for (std::uint32_t b = 0; b < bytes; ++b) {
      values[i * bytes + b] = static_cast<std::uint8_t>((keys[i] + 1) * 31 + b * 7 + version * 13);
    }
  }
  return values;
}

Table make(const std::string& path, std::uint32_t bytes, std::uint64_t capacity = 16) {
  CreateOptions options;
  options.value_bytes = bytes;
  options.capacity = capacity;
  options.device = "cpu";
  return Table::create(path, options);
}

void expect_holds(Table& table, const std::vector<std::uint64_t>& keys, std::uint64_t version) {
  const std::uint32_t bytes = table.value_bytes();
  ASSERT_EQ(table.size(), keys.size());
  std::vector<std::uint8_t> values(keys.size() * bytes + 1);
  const std::unique_ptr<bool[]> found(new bool[keys.size() + 1]);
  table.find(keys.data(), values.data(), keys.size(), found.get());
  for (std::size_t i = 0; i < keys.size(); ++i) ASSERT_TRUE(found[i]) << keys[i];
  EXPECT_EQ(values, values_of(keys, bytes, version));
  const CheckReport report = table.check();
  EXPECT_TRUE(report.errors.empty()) << report.errors.front();
}

void expect_snapshot(const std::string& path, const std::vector<std::uint64_t>& keys, std::uint64_t version) {
  OpenOptions options;
  options.device = "cpu";
  options.read_only = true;
  Table table = Table::open(path, options);
  expect_holds(table, keys, version);
}

std::vector<char> read_all(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

template <class Type>
void expect_error(const std::function<void()>& statement, const std::string& text) {
  try {
    statement();
    ADD_FAILURE() << "no error; expected one with: " << text;
  } catch (const Type& error) {
    EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << error.what();
  }
}

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
  Table other = Table::open(path, {.device = "cpu"});
  const auto more = keys_from(5000, 3000);
  other.insert(more.data(), values_of(more, bytes, 1).data(), more.size());
  EXPECT_EQ(other.size(), 5000u);
  EXPECT_TRUE(other.check().errors.empty());
  table.insert_or_assign(keys.data(), values_of(keys, bytes, 2).data(), keys.size());
  expect_holds(table, keys, 2);
}

class Snapshot : public testing::Test {
 protected:
  static constexpr std::uint32_t kBytes = 64;
  void fill(std::uint64_t version) {
    table->insert_or_assign(keys.data(), values_of(keys, kBytes, version).data(), keys.size());
  }
  /// Runs `body` in a forked child with a table of its own; returns the status of wait.
  int in_child(const std::function<void()>& body) {
    table->close();
    const pid_t child = fork();
    if (child == 0) {
      try {
        table.emplace(Table::open(source, {.device = "cpu"}));
        body();
      } catch (const std::exception& error) {
        std::fprintf(stderr, "child: %s\n", error.what());
        _exit(99);
      }
      _exit(testing::Test::HasFailure() ? 98 : 0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    table.emplace(Table::open(source, {.device = "cpu"}));
    return status;
  }

  const Folder folder{"/dev/shm"}, disk{"/tmp"};
  const std::string source = folder / "a.hold", target = disk / "b.hold";
  const std::vector<std::uint64_t> keys = keys_from(0, 40'000);
  std::optional<Table> table{make(source, kBytes, 40'000)};
};

TEST_F(Snapshot, SearchesGoOnMeanwhileAndChangesWait) {
  fill(1);
  std::thread changing, syncing;
  std::atomic<bool> changed = false, synced = false;
  SnapshotOptions options;
  options.progress = [&](std::uint64_t done, std::uint64_t total) {
    if (!changing.joinable()) {
      EXPECT_EQ(done, 0u);
      changing = std::thread([&] {
        fill(2);
        changed = true;
      });
      syncing = std::thread([&] {
        table->sync();
        synced = true;
      });
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
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
    EXPECT_EQ(value, values_of({keys[7]}, kBytes, 1));
    EXPECT_FALSE(changed);
    EXPECT_FALSE(synced);
    EXPECT_LE(done, total);
    return true;
  };
  const SnapshotResult result = table->snapshot(target, options);
  EXPECT_GE(result.held_ms, 50);
  EXPECT_LE(result.held_ms, result.total_ms);
  ASSERT_TRUE(changing.joinable());
  changing.join();
  syncing.join();
  expect_snapshot(target, keys, 1);
  expect_holds(*table, keys, 2);
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
    options.device = "cpu";
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

TEST_F(Snapshot, LeavesOutStretchesOfZeros) {
  Table large = make(folder / "large.hold", 1000, 100'000);
  const auto few = keys_from(10, 20);
  large.insert(few.data(), values_of(few, 1000, 3).data(), few.size());
  const SnapshotResult result = large.snapshot(target);
  EXPECT_GT(result.bytes, 100'000'000u);
  EXPECT_LT(result.written, 10'000'000u);
  EXPECT_EQ(fs::file_size(target), inspect(target).file_bytes);
  expect_snapshot(target, few, 3);
}

TEST_F(Snapshot, OfATableOpenForReading) {
  fill(5);
  table->close();
  OpenOptions options;
  options.device = "cpu";
  options.read_only = true;
  Table reader = Table::open(source, options);
  const std::vector<char> before = read_all(source);
  reader.snapshot(target);
  EXPECT_EQ(read_all(source), before);
  expect_snapshot(target, keys, 5);
}

TEST_F(Snapshot, OfWhatIsSalvaged) {
  fill(5);
  EXPECT_EQ(in_child([] { raise(SIGKILL); }), SIGKILL);
  table->close();
  EXPECT_TRUE(inspect(source).objects.at(0).clean);
  OpenOptions options;
  options.device = "cpu";
  options.read_only = options.salvage = true;
  Table::open(source, options).snapshot(target);
  expect_snapshot(target, keys, 5);
}

TEST_F(Snapshot, RefusesWhatItCannotName) {
  fill(1);
  table->sync();
  const std::vector<char> before = read_all(source);
  table->snapshot(target);
  const std::vector<char> taken = read_all(target);
  const SnapshotOptions over{.overwrite = true, .threads = 0, .progress = {}};
  expect_error<PoolExists>([&] { table->snapshot(target); }, "exists already");
  expect_error<PoolExists>([&] { table->snapshot(source); }, "exists already");
  expect_error<PoolInUse>([&] { table->snapshot(source, over); }, "process " + std::to_string(getpid()));
  expect_error<MediumError>([&] { table->snapshot(folder / "no/b.hold"); }, "folder does not exist");
  expect_error<MediumError>([&] { table->snapshot(folder.path()); }, "is a directory");
  expect_error<MediumError>([&] { table->snapshot("/dev/null", over); }, "is a device");
  expect_error<InvalidArgument>([&] { table->snapshot(""); }, "path");
  {
    const Table open = Table::open(target, {.device = "cpu"});
    expect_error<PoolInUse>([&] { table->snapshot(target, over); }, "is open");
  }
  EXPECT_EQ(read_all(source), before);
  EXPECT_EQ(read_all(target), taken);
  EXPECT_EQ(folder.files() + disk.files(), 2u);
  fill(2);
  table->snapshot(target, over);
  EXPECT_EQ(disk.files(), 1u);
  expect_snapshot(target, keys, 2);
  table->close();
  expect_error<TableClosed>([&] { table->snapshot(disk / "c.hold"); }, "is closed");
  EXPECT_EQ(disk.files(), 1u);
}

TEST_F(Snapshot, StoppedLeavesNothing) {
  fill(1);
  SnapshotOptions options;
  for (const bool at_end : {false, true}) {
    options.progress = [&](std::uint64_t done, std::uint64_t total) { return at_end && done != total; };
    EXPECT_TRUE(table->snapshot(target, options).stopped);
    EXPECT_EQ(disk.files(), 0u);
  }
  options.progress = [&](std::uint64_t done, std::uint64_t total) {
    if (done == total) throw std::runtime_error("enough");
    return true;
  };
  EXPECT_THROW(table->snapshot(target, options), std::runtime_error);
  EXPECT_EQ(disk.files(), 0u);
  fill(2);
  expect_holds(*table, keys, 2);
}

TEST_F(Snapshot, KilledLeavesNothingUnderItsName) {
  fill(1);
  for (const bool exists : {false, true}) {
    if (exists) std::ofstream(target) << "something else";
    EXPECT_EQ(in_child([&] {
                SnapshotOptions options;
                options.overwrite = exists;
                options.progress = [](std::uint64_t done, std::uint64_t total) {
                  if (done == total) raise(SIGKILL);
                  return true;
                };
                table->snapshot(target, options);
              }),
              SIGKILL);
    EXPECT_EQ(fs::exists(target), exists);
    if (exists) {
      EXPECT_EQ(fs::file_size(target), 14u);
    }
    EXPECT_EQ(disk.files(), exists ? 2u : 1u);
    expect_holds(*table, keys, 1);
  }
  table->snapshot(target, {.overwrite = true, .threads = 0, .progress = {}});
  EXPECT_EQ(disk.files(), 1u) << "the next one removes what was left";
}

TEST_F(Snapshot, WithoutRoomIsOneErrorAndNoFile) {
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
  expect_error<NoSpace>([&] { table->snapshot(small / "b.hold"); }, "no room");
  EXPECT_EQ(small.files(), 0u);
  EXPECT_EQ(umount(small.path().c_str()), 0);
  fill(2);
  expect_holds(*table, keys, 2);
}

}  // namespace
}  // namespace holdfast::test
