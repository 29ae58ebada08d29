// group_objects_test.cpp: group tables as objects: described, checked, copied, renamed, replaced, dropped, refused; and a full medium.
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>
#include <utility>
#include <vector>

#include "group_fixture.hpp"
#include "structures/group/form.hpp"
#include "system/calls.hpp"

namespace holdfast::test {
namespace {

class GroupObjects : public GroupTables {
 protected:
  /// A table of 4 groups with some items, closed.
  void make(std::uint32_t item_bytes = 16) {
    Pool pool = Pool::create(path);
    GroupTable table =
        GroupTable::create(pool, "a", {.item_bytes = item_bytes, .cells = 512, .group_size = 64, .seed = 5});
    for (std::uint64_t i = 0; i < 200; ++i) ASSERT_EQ(table.insert(wide(i).data(), wide(i).data()), Status::inserted);
  }
  /// Flips bits of a word of the object's last extent.
  void flip(std::uint64_t word, std::uint64_t bits) const {
    const auto at = static_cast<std::streamoff>(inspect(path).objects.at(0).extents.at(1).offset + word * 8);
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    std::uint64_t value = 0;
    file.seekg(at).read(reinterpret_cast<char*>(&value), 8);
    value ^= bits;
    file.seekp(at).write(reinterpret_cast<const char*>(&value), 8);
  }
};

template <class E, class Act>
std::string refused(const Act& act) {
  try {
    act();
  } catch (const E& error) {
    return error.what();
  }
  ADD_FAILURE() << "nothing was refused";
  return {};
}

TEST_F(GroupObjects, TakePartInWhatEveryObjectDoes) {
  make();
  Pool pool = Pool::open(path);
  GroupTable table = GroupTable::open(pool, "a");
  EXPECT_EQ(pool.objects().at(0).type, "group table");
  EXPECT_EQ(pool.objects().at(0).extents.at(1).kind, "groups");
  EXPECT_TRUE(pool.objects().at(0).damage.empty());
  const CheckReport report = pool.check("a");
  EXPECT_EQ(report.items, 200u);
  EXPECT_EQ(report.slots, 512u);
  EXPECT_TRUE(report.errors.empty());
  EXPECT_EQ(pool.snapshot(folder + "/b.hold").items, 200u);
  table.insert(1000, 1);
  pool.rename("a", "c");
  table.close();
  EXPECT_FALSE(table.is_open());
  EXPECT_THROW(table.find(1), ObjectClosed);
  EXPECT_THROW(table.insert(1, 1), ObjectClosed);
  EXPECT_EQ(GroupTable::open(pool, "c").size(), 201u);
  EXPECT_TRUE(pool.check("c").errors.empty());
  {
    GroupTable other = GroupTable::create(pool, "c", {.item_bytes = 32, .cells = 1, .overwrite = true});
    EXPECT_EQ(other.size(), 0u);
    EXPECT_THROW(other.insert(1, 1), InvalidArgument);
  }
  pool.drop("c");
  EXPECT_TRUE(pool.objects().empty());
  Pool copy = Pool::open(folder + "/b.hold");
  const GroupTable copied = GroupTable::open(copy, "a");
  EXPECT_EQ(copied.size(), 200u);
  for (std::uint64_t i = 0; i < 200; ++i) ASSERT_EQ(copied.find(i), i);
  EXPECT_FALSE(copied.find(1000));
}

TEST_F(GroupObjects, RefuseWhatTheyAreNot) {
  Pool pool = Pool::create(path);
  for (const std::uint32_t size : {0u, 1u, 32u, 65u, 100u, 2048u}) {
    const std::string what =
        refused<InvalidArgument>([&] { GroupTable::create(pool, "a", {.cells = 1, .group_size = size}); });
    EXPECT_NE(what.find("power of two of cells, from 64 to 1024"), std::string::npos) << what;
  }
  for (const std::uint32_t bytes : {0u, 8u, 24u, 64u}) {
    const std::string what =
        refused<InvalidArgument>([&] { GroupTable::create(pool, "a", {.item_bytes = bytes, .cells = 1}); });
    EXPECT_NE(what.find("items of 16 bytes and of 32"), std::string::npos) << what;
  }
  EXPECT_NE(refused<InvalidArgument>([&] { GroupTable::create(pool, "a", {}); }).find("no cells"), std::string::npos);
  EXPECT_THROW(GroupTable::create(pool, "a", {.cells = ~std::uint64_t{0}}), InvalidArgument);
  EXPECT_TRUE(pool.objects().empty());
  GroupTable::create(pool, "a", {.cells = 1});
  pool.create_table("table", {});
  EXPECT_THROW(GroupTable::open(pool, "a", {.item_bytes = 32}), PoolMismatch);
  EXPECT_THROW(GroupTable::open(pool, "table"), PoolMismatch);
  EXPECT_THROW(pool.table("a"), PoolMismatch);
  EXPECT_THROW(GroupTable::create(pool, "a", {.cells = 1}), ObjectExists);
  const GroupTable open = GroupTable::open(pool, "a");
  EXPECT_THROW(GroupTable::open(pool, "a"), ObjectInUse);
  EXPECT_THROW(GroupTable::create(pool, "a", {.cells = 1, .overwrite = true}), ObjectInUse);
}

/// What a page and a directory may say of a table is verified before anything relies on it.
TEST(GroupLayout, IsVerified) {
  using structures::Header, structures::Stored, structures::kCellsRole;
  const Header header{7, 16, 64, 0, 0};
  const pool::Extent pages{479232, 8192, 1, pool::kPagesRole, 0};
  const pool::Extent groups{487424, 12288, 1, kCellsRole, 2};  // 4 groups of 2112 bytes
  const auto flaw = [&](const Header& its, const pool::Extent& extent, std::uint32_t header_bytes = sizeof(Header)) {
    pool::ObjectPage page = {};
    page.header_bytes = header_bytes;
    std::memcpy(page.header, &its, sizeof its);
    pool::Directory directory;
    directory.extents = {pages, extent};
    Stored stored;
    return group::kind().read_stored(directory, 1, page, stored);
  };
  EXPECT_EQ(flaw(header, groups), "");
  EXPECT_NE(flaw(header, groups, 24), "");
  EXPECT_NE(flaw({7, 24, 64, 0, 0}, groups), "");
  EXPECT_NE(flaw({7, 16, 96, 0, 0}, groups), "");
  EXPECT_NE(flaw({7, 16, 32, 0, 0}, groups), "");
  EXPECT_NE(flaw({7, 16, 2048, 0, 0}, groups), "");
  EXPECT_NE(flaw({7, 16, 64, 0, 1}, groups), "");
  EXPECT_NE(flaw({7, 32, 64, 0, 0}, groups), "") << "the extent is too small";
  EXPECT_NE(flaw(header, {487424, 12288, 1, kCellsRole, 3}), "") << "the extent is too small";
  EXPECT_NE(flaw(header, {487424, 12288, 1, kCellsRole, 39}), "");
  EXPECT_NE(flaw(header, {487424, 12288, 1, kCellsRole, 64}), "");
  EXPECT_NE(flaw(header, {487424, 12288, 1, 2, 2}), "") << "an extent of another role";
}

TEST_F(GroupObjects, NameDamagedWords) {
  make();
  const auto errors = [&] { return Pool::open(path).check("a").errors; };
  ASSERT_TRUE(errors().empty());
  // The bit of a cell of level 1 that no item has: its key, 0, belongs elsewhere.
  const std::uint64_t group_words = 8 + 128 * 2;
  unsigned noticed = 0;
  for (std::uint64_t group = 0; group < 4; ++group) {
    for (const std::uint64_t bit : {3u, 40u}) {
      flip(group * group_words, std::uint64_t{1} << bit);
      const std::vector<std::string> found = errors();
      if (!found.empty()) {
        EXPECT_NE(found[0].find("group " + std::to_string(group) + ": occupancy word"), std::string::npos) << found[0];
        EXPECT_NE(found[0].find("damaged"), std::string::npos) << found[0];
        ++noticed;
      }
      flip(group * group_words, std::uint64_t{1} << bit);
    }
  }
  EXPECT_GE(noticed, 2u);  // of the cells that no item has
  flip(group_words + 5, 1);
  Pool salvaged = Pool::open(path, {.read_only = true, .salvage = true});
  EXPECT_EQ(GroupTable::open(salvaged, "a").check().errors.size(), 1u);
  salvaged.close();
  EXPECT_EQ(errors(), std::vector<std::string>{"group 1: word 5, behind its occupancy words, is not zero"});
  flip(group_words + 5, 1);
  EXPECT_TRUE(errors().empty());
}

TEST_F(GroupObjects, ReportAKeyThatIsThereTwice) {
  Pool pool = Pool::create(path);
  GroupTable table = GroupTable::create(pool, "a", {.cells = 1});
  table.insert(1, 1);
  table.insert_new(1, 2);  // the promise is broken
  const CheckReport report = table.check();
  ASSERT_EQ(report.errors.size(), 1u);
  EXPECT_NE(report.errors[0].find("have one key"), std::string::npos) << report.errors[0];
}

/// Gives files no space while it lives.
class FullMedium : public system::Observer {
 public:
  FullMedium() : before_(system::observe(this)) {}
  ~FullMedium() override { system::observe(before_); }
  int before(const system::Event& event) noexcept override {
    return event.call == system::Call::posix_fallocate ? ENOSPC : 0;
  }

 private:
  system::Observer* const before_;
};

TEST_F(GroupObjects, StandWhereTheMediumIsFull) {
  Pool pool = Pool::create(path);
  GroupTable table = GroupTable::create(pool, "a", {.cells = 1, .group_size = 64});
  std::uint64_t kept = 0, refused = 0;
  {
    const FullMedium full;
    for (std::uint64_t key = 0; key < 300; ++key) {
      const Status status = table.insert(key, key);
      ASSERT_TRUE(status == Status::inserted || status == Status::no_space);
      ++(status == Status::inserted ? kept : refused);
    }
    EXPECT_GT(refused, 0u);
    EXPECT_EQ(table.cells(), 128u);
    EXPECT_EQ(table.size(), kept);
    EXPECT_THROW(table.reserve(1000), NoSpace);
    EXPECT_TRUE(table.check().errors.empty());
  }
  for (std::uint64_t key = 0; key < 300; ++key) table.insert(key, key);
  EXPECT_EQ(table.size(), 300u);
  table.close();
  EXPECT_TRUE(pool.check().errors.empty());
}

/// An assignment of a wide value needs a second cell.
TEST_F(GroupObjects, KeepTheOldValueWhereTheMediumIsFull) {
  Pool pool = Pool::create(path);
  GroupTable table = GroupTable::create(pool, "a", {.item_bytes = 32, .cells = 1, .group_size = 64});
  const FullMedium full;
  std::uint64_t keys = 0;
  while (keys < 128 && table.insert(wide(keys).data(), wide(keys).data()) == Status::inserted) ++keys;
  ASSERT_LT(keys, 128u);
  unsigned refused = 0;
  for (std::uint64_t key = 0; key < keys; ++key) {
    const Status status = table.assign(wide(key).data(), wide(key + 1000).data());
    Wide value = {};
    ASSERT_EQ(table.find(wide(key).data(), value.data()), Status::found);
    ASSERT_EQ(value, wide(status == Status::updated ? key + 1000 : key));
    refused += status == Status::no_space ? 1 : 0;
  }
  EXPECT_GT(refused, 0u);
  EXPECT_EQ(table.size(), keys);
  EXPECT_TRUE(table.check().errors.empty());
}

TEST_F(GroupObjects, BelongToTheProcessThatOpenedThem) {
  make();
  Pool pool = Pool::open(path);
  GroupTable table = GroupTable::open(pool, "a");
  const pid_t child = fork();
  if (child == 0) {
    int status = table.is_open() ? 1 : 0;
    try {
      table.find(1);
      status = 2;
    } catch (const ObjectClosed&) {
    }
    { const GroupTable last = std::move(table); }
    _exit(status);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(table.find(7), 7u);
  EXPECT_EQ(table.insert(1000, 1), Status::inserted);
}

TEST_F(GroupObjects, AreRecoveredAfterAKill) {
  const pid_t child = fork();
  if (child == 0) {
    Pool pool = Pool::create(path);
    GroupTable table = GroupTable::create(pool, "a", {.item_bytes = 32, .cells = 1});
    for (std::uint64_t i = 0; i < 2000; ++i) table.insert(wide(i).data(), wide(i).data());
    kill(getpid(), SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  Pool pool = Pool::open(path);
  GroupTable table = GroupTable::open(pool, "a");
  const CheckReport report = table.check();
  EXPECT_FALSE(report.was_clean);
  EXPECT_TRUE(report.errors.empty());
  EXPECT_EQ(report.items, 2000u);
  EXPECT_EQ(table.size(), 2000u);
}

TEST_F(GroupObjects, AreReadWhereNothingMayBeWritten) {
  make(32);
  for (const bool salvage : {false, true}) {
    Pool pool = Pool::open(path, {.read_only = true, .salvage = salvage});
    GroupTable table = GroupTable::open(pool, "a");
    Wide value = {};
    EXPECT_EQ(table.find(wide(7).data(), value.data()), Status::found);
    EXPECT_EQ(value, wide(7));
    EXPECT_THROW(table.insert(wide(1000).data(), value.data()), ReadOnly);
    EXPECT_THROW(table.clear(), ReadOnly);
    EXPECT_THROW(table.reserve(10'000), ReadOnly);
    EXPECT_TRUE(table.check().errors.empty());
  }
}

}  // namespace
}  // namespace holdfast::test
