// objects_test.cpp: several tables in one pool, as a user has them: made, opened, renamed, replaced, dropped, copied, checked.
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "holdfast/table.hpp"
#include "support/child.hpp"
#include "support/errors.hpp"
#include "support/folder.hpp"

namespace holdfast::test {
namespace {

namespace fs = std::filesystem;

class Objects : public testing::TestWithParam<const char*> {
 protected:
  static CreateOptions sizes(std::uint32_t key_bytes, std::uint32_t value_bytes) {
    CreateOptions options;
    options.shape.key_bytes = key_bytes;
    options.shape.value_bytes = value_bytes;
    options.runtime.device = "cpu";
    return options;
  }
  static Table open_table(Pool& pool, const std::string& name) {
    return pool.table(name, {.runtime = {.device = "cpu"}});
  }
  static std::vector<std::uint64_t> keys(std::size_t n) {
    std::vector<std::uint64_t> all(n);
    for (std::size_t i = 0; i < n; ++i) all[i] = i;
    return all;
  }
  /// Gives key i the value i × factor.
  static void fill(Table& table, std::size_t n, std::uint64_t factor) {
    const std::vector<std::uint64_t> all = keys(n);
    std::vector<std::uint64_t> values(n * table.value_bytes() / 8);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = i * 8 / table.value_bytes() * factor;
    ASSERT_EQ(table.insert_or_assign(all.data(), values.data(), n).of(Status::no_space), 0u);
  }
  static void expect_holds(Table& table, std::size_t n, std::uint64_t factor) {
    EXPECT_EQ(table.size(), n);
    const std::vector<std::uint64_t> all = keys(n);
    std::vector<std::uint64_t> values(n * table.value_bytes() / 8);
    table.find(all.data(), values.data(), n);
    for (std::size_t i = 0; i < values.size(); ++i) ASSERT_EQ(values[i], i * 8 / table.value_bytes() * factor) << i;
  }
  std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (const ObjectInfo& object : inspect(path).objects) all.push_back(object.name);
    return all;
  }

  const Folder folder{GetParam()};
  const std::string path = folder / "a.hold";
};
using Names = std::vector<std::string>;
INSTANTIATE_TEST_SUITE_P(Media, Objects, testing::Values("/dev/shm", "/tmp"),
                         [](const auto& info) { return std::string(info.param) == "/tmp" ? "file" : "shm"; });

TEST_P(Objects, SeveralTablesLiveInOnePool) {
  {
    Pool pool = Pool::create(path);
    Table users = pool.create_table("users", sizes(8, 128)), items = pool.create_table("items", sizes(8, 8));
    EXPECT_EQ(users.path(), path + ":users");
    fill(users, 20'000, 3);
    fill(items, 30'000, 5);
    expect_holds(users, 20'000, 3);
    EXPECT_TRUE(pool.check().errors.empty());
    users.close();
    fill(items, 100, 7);
    EXPECT_TRUE(pool.objects().at(0).clean) << "closing one table marks it";
    EXPECT_FALSE(pool.objects().at(1).clean) << "and no other";
    users = open_table(pool, "users");
    expect_holds(users, 20'000, 3);
    fill(items, 30'000, 5);
  }
  for (const ObjectInfo& object : inspect(path).objects) EXPECT_TRUE(object.clean) << object.name;
  EXPECT_EQ(check(path).items, 50'000u);
  Pool pool = Pool::open(path);
  Table items = open_table(pool, "items"), users = open_table(pool, "users");
  expect_holds(users, 20'000, 3);
  expect_holds(items, 30'000, 5);
}

TEST_P(Objects, BatchesOfTwoTablesGoSideBySide) {
  Pool pool = Pool::create(path);
  Table one = pool.create_table("one", sizes(8, 128)), two = pool.create_table("two", sizes(8, 128));
  std::thread first([&] {
    for (std::uint64_t i = 1; i < 10; ++i) fill(one, 3'000 * i, i);
  });
  for (std::uint64_t i = 1; i < 10; ++i) {
    fill(two, 2'000 * i, i);
    if (i == 5) two.sync();
  }
  first.join();
  expect_holds(one, 27'000, 9);
  expect_holds(two, 18'000, 9);
  EXPECT_TRUE(pool.check().errors.empty());
}

TEST_P(Objects, EachOpensOnceAtATime) {
  Pool pool = Pool::create(path);
  Table one = pool.create_table("one", sizes(8, 8));
  expect_error<ObjectInUse>([&] { open_table(pool, "one"); }, "close it first");
  expect_error<ObjectInUse>([&] { pool.drop("one"); }, "cannot be dropped");
  CreateOptions over = sizes(8, 16);
  over.overwrite = true;
  expect_error<ObjectInUse>([&] { pool.create_table("one", over); }, "cannot be replaced");
  expect_error<ObjectInUse>([&] { Pool::open(path); }, "is open for writing in this process");
  one.close();
  EXPECT_EQ(open_table(pool, "one").value_bytes(), 8u);
  EXPECT_EQ(pool.create_table("one", over).value_bytes(), 16u) << "the handle above is gone";
  EXPECT_EQ(names(), Names{"one"});
}

TEST_P(Objects, AnOpeningWaitsForTheClosingBeforeIt) {
  Pool pool = Pool::create(path);
  CreateOptions options = sizes(8, 128);
  options.shape.capacity = 100'000;
  auto table = std::make_unique<Table>(pool.create_table("one", options));
  for (std::uint64_t round = 1; round < 5; ++round) {
    fill(*table, 100'000, round);
    std::thread closing([gone = std::move(table)]() mutable { gone.reset(); });
    while (!table) {
      try {
        table = std::make_unique<Table>(open_table(pool, "one"));
      } catch (const ObjectInUse&) {  // the handle is there still
      }
    }
    EXPECT_TRUE(table->stats().recovery.was_clean);
    fill(*table, 1, round);
    EXPECT_FALSE(pool.objects().at(0).clean) << "marked clean by the closing before, although it was changed since";
    closing.join();
    EXPECT_FALSE(pool.objects().at(0).clean);
  }
}

TEST_P(Objects, AreRenamedReplacedAndDropped) {
  Pool pool = Pool::create(path);
  const std::uintmax_t empty = fs::file_size(path);
  for (const char* const name : {"a", "b", "c"}) {
    Table table = pool.create_table(name, sizes(8, 128));
    fill(table, 5'000, 1);
  }
  pool.rename("b", "B");
  expect_error<ObjectExists>([&] { pool.rename("B", "a"); }, "already");
  expect_error<ObjectNotFound>([&] { pool.rename("b", "x"); }, "the objects a, B and c");
  expect_error<InvalidArgument>([&] { pool.rename("B", "x/y"); }, "'/'");
  EXPECT_EQ(names(), (Names{"a", "B", "c"}));
  {
    Table other = pool.create_table("d", sizes(8, 128));
    fill(other, 100, 1);
    const Table replaced = open_table(pool, "a");
    expect_error<ObjectInUse>([&] { pool.rename("d", "a", true); }, "cannot be replaced");
  }
  pool.rename("d", "a", true);
  EXPECT_EQ(names(), (Names{"B", "c", "a"}));
  pool.rename("a", "a", true);
  {
    Table other = open_table(pool, "a");
    expect_holds(other, 100, 1);
  }
  pool.drop("a");
  expect_error<ObjectNotFound>([&] { pool.drop("a"); }, "no object \"a\"");
  Table left = open_table(pool, "B");
  expect_holds(left, 5'000, 1);
  left.close();
  pool.drop("B");
  pool.drop("c");
  EXPECT_TRUE(names().empty());
  EXPECT_EQ(fs::file_size(path), empty) << "the file is as small as before";
  pool.close();
  expect_error<ObjectNotFound>([&] { Table::open(path); }, "without objects: create a table");
}

TEST_P(Objects, ThePathAloneNamesAnOnlyTable) {
  {
    Pool pool = Pool::create(path);
    expect_error<ObjectNotFound>([&] { open_table(pool, "x"); }, "it has no object");
    pool.create_table("only", sizes(8, 8));
  }
  EXPECT_EQ(Table::open(path, {.runtime = {.device = "cpu"}}).path(), path);
  {
    Pool pool = Pool::open(path);
    pool.create_table("other", sizes(8, 8));
  }
  expect_error<InvalidArgument>([&] { Table::open(path); }, "the objects only and other");
  Table::create(folder / "/b.hold", sizes(8, 8));
  Pool pool = Pool::open(folder / "/b.hold");
  EXPECT_EQ(open_table(pool, kTableName).size(), 0u);
}

TEST_P(Objects, ASnapshotTakesAllAtOneMoment) {
  Pool pool = Pool::create(path);
  Table one = pool.create_table("one", sizes(8, 128)), two = pool.create_table("two", sizes(8, 8));
  fill(one, 10'000, 1);
  fill(two, 10'000, 1);
  pool.create_table("closed", sizes(8, 16)).close();
  std::atomic<bool> stop = false;
  // What is in two is in one first: so it is in every copy.
  std::thread writer([&] {
    for (std::uint64_t i = 2; !stop; ++i) {
      fill(one, 10'000, i);
      fill(two, 10'000, i);
    }
  });
  for (int round = 0; round < 5; ++round) {
    const std::string copy = folder / "/copy.hold";
    SnapshotOptions over;
    over.overwrite = true;
    const SnapshotResult result = one.snapshot(copy, over);
    EXPECT_EQ(result.items, 20'000u);
    Pool other = Pool::open(copy);
    EXPECT_EQ(other.objects().size(), 3u);
    for (const ObjectInfo& object : other.objects()) EXPECT_TRUE(object.clean) << object.name;
    Table first = open_table(other, "one"), second = open_table(other, "two");
    EXPECT_EQ(open_table(other, "closed").size(), 0u);
    std::uint64_t key = 1, of_one[16] = {}, of_two = 0;
    first.find(&key, of_one, 1);
    second.find(&key, &of_two, 1);
    EXPECT_TRUE(of_one[0] == of_two || of_one[0] == of_two + 1) << of_one[0] << " and " << of_two;
    expect_holds(first, 10'000, of_one[0]);
    expect_holds(second, 10'000, of_two);
    EXPECT_TRUE(other.check().errors.empty());
  }
  stop = true;
  writer.join();
}

TEST_P(Objects, ClosingThePoolClosesItsTables) {
  Pool pool = Pool::create(path);
  Table one = pool.create_table("one", sizes(8, 8));
  fill(one, 100, 1);
  const Pool handle = pool;
  pool.close();
  pool.close();
  EXPECT_FALSE(handle.is_open());
  EXPECT_FALSE(one.is_open());
  expect_error<ObjectClosed>([&] { fill(one, 1, 1); }, "closed");
  expect_error<ObjectClosed>([&] { pool.drop("one"); }, "closed");
  expect_error<ObjectClosed>([&] { pool.objects(); }, "closed");
  EXPECT_TRUE(inspect(path).objects.at(0).clean);
  Pool again = Pool::open(path);
  Table table = open_table(again, "one");
  again.close();
  EXPECT_FALSE(table.is_open());
}

TEST_P(Objects, AreReadByManyAndWrittenByOne) {
  {
    Pool pool = Pool::create(path);
    Table one = pool.create_table("one", sizes(8, 8)), two = pool.create_table("two", sizes(8, 8));
    fill(one, 100, 2);
    fill(two, 100, 3);
  }
  Pool a = Pool::open(path, {.read_only = true}), b = Pool::open(path, {.read_only = true});
  Table one = open_table(a, "one"), same = open_table(b, "one");
  expect_holds(one, 100, 2);
  expect_holds(same, 100, 2);
  expect_error<ReadOnly>([&] { fill(one, 1, 1); }, "read-only");
  expect_error<ReadOnly>([&] { a.drop("two"); }, "reading only");
  expect_error<ReadOnly>([&] { a.create_table("three", sizes(8, 8)); }, "reading only");
  expect_error<ReadOnly>([&] { a.rename("two", "zwei"); }, "reading only");
  EXPECT_EQ(a.check().items, 200u);
}

TEST_P(Objects, AKilledProcessLeavesEachTableWhole) {
  in_killed_child([&] {
    Pool pool = Pool::create(path);
    Table one = pool.create_table("one", sizes(8, 128)), two = pool.create_table("two", sizes(8, 128));
    fill(one, 1'000, 1);
    fill(two, 1'000, 2);
    two.sync();
    raise(SIGKILL);
  });
  EXPECT_FALSE(inspect(path).objects.at(0).clean);
  EXPECT_TRUE(inspect(path).objects.at(1).clean);
  expect_error<ReadOnly>(
      [&] {
        Pool reader = Pool::open(path, {.read_only = true});
        Table two = open_table(reader, "two");
        expect_holds(two, 1'000, 2);
        open_table(reader, "one");
      },
      "was not closed");
  Pool pool = Pool::open(path);
  Table one = open_table(pool, "one"), two = open_table(pool, "two");
  EXPECT_FALSE(one.stats().recovery.was_clean);
  EXPECT_TRUE(two.stats().recovery.was_clean);
  expect_holds(one, 1'000, 1);
  expect_holds(two, 1'000, 2);
}

TEST_P(Objects, AnEmptyPoolIsSmall) {
  Table::create(folder / "/values.hold", sizes(8, 128));
  Table::create(folder / "/any.hold", sizes(kVariableBytes, kVariableBytes));
  EXPECT_LE(fs::file_size(folder / "/values.hold"), 2u << 20);
  EXPECT_LE(fs::file_size(folder / "/any.hold"), 6u << 20);
}

#if defined(HOLDFAST_SANITIZED)
constexpr const char* kSmall = "size=4m";
constexpr std::uint64_t kInSmall = 10'000;
#else
constexpr const char* kSmall = "size=16m";
constexpr std::uint64_t kInSmall = 50'000;
#endif

TEST(ObjectsFull, TwoTablesFillOneMedium) {
  const Folder folder{"/tmp"};
  if (mount("holdfast-test", folder.path().c_str(), "tmpfs", 0, kSmall) != 0) {
    GTEST_SKIP() << "only root can mount a small tmpfs";
  }
  {
    Pool pool = Pool::create(folder / "/a.hold");
    CreateOptions options;
    options.shape.value_bytes = 128;
    options.runtime.device = "cpu";
    Table one = pool.create_table("one", options), two = pool.create_table("two", options);
    std::uint64_t in_one = 0, in_two = 0, key = 0;
    const std::vector<char> value(128, 7);
    for (bool full_one = false, full_two = false; !full_one || !full_two; ++key) {
      Status a = Status::no_space, b = Status::no_space;
      one.insert(&key, value.data(), 1, &a);
      two.insert(&key, value.data(), 1, &b);
      in_one += a == Status::inserted;
      in_two += b == Status::inserted;
      full_one |= a == Status::no_space;
      full_two |= b == Status::no_space;
      ASSERT_LT(key, 1'000'000u);
    }
    EXPECT_EQ(one.size(), in_one);
    EXPECT_EQ(two.size(), in_two);
    EXPECT_GT(in_one + in_two, kInSmall);
    EXPECT_THROW(pool.create_table("three", options), NoSpace);
    EXPECT_TRUE(pool.check().errors.empty());
    EXPECT_EQ(pool.objects().size(), 2u);
  }
  EXPECT_TRUE(check(folder / "/a.hold").errors.empty());
  EXPECT_EQ(umount(folder.path().c_str()), 0);
}

}  // namespace
}  // namespace holdfast::test
