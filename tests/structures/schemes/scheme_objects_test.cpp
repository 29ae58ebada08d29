// scheme_objects_test.cpp: tables of each form as objects: described, checked, copied, renamed, replaced, dropped, refused, killed; damage;
// and a full medium.
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>
#include <utility>
#include <vector>

#include "scheme_fixture.hpp"
#include "structures/cells/shape.hpp"
#include "structures/kind.hpp"
#include "structures/linear/linear_form.hpp"
#include "system/calls.hpp"

namespace holdfast::test {
namespace {

template <class E, class Act>
std::string refusal(const Act& act) {
  try {
    act();
  } catch (const E& error) {
    return error.what();
  }
  ADD_FAILURE() << "nothing was refused";
  return {};
}

class SchemeObjects : public SchemeTest {
 protected:
  /// A table with some items, closed.
  void make(std::uint32_t item_bytes = 16) {
    Pool pool = Pool::create(path);
    HashTable table = form.create(pool, "a", {.item_bytes = item_bytes, .cells = 512, .seed = 5});
    for (std::uint64_t i = 0; i < 200; ++i) ASSERT_EQ(table.insert(wide(i).data(), wide(i).data()), Status::inserted);
  }
  HashTable open(Pool& pool, const char* name = "a", std::uint32_t item_bytes = 0) {
    return form.open(pool, name, {.item_bytes = item_bytes});
  }
  std::uint64_t word(std::uint64_t number) const {
    std::ifstream file(path, std::ios::binary);
    std::uint64_t value = 0;
    file.seekg(offset(number)).read(reinterpret_cast<char*>(&value), 8);
    return value;
  }
  /// Replaces a word of the cells' extent.
  void put(std::uint64_t number, std::uint64_t value) const {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(offset(number)).write(reinterpret_cast<const char*>(&value), 8);
  }
  std::vector<std::string> errors() const { return Pool::open(path).check("a").errors; }
  /// What `check` finds when a word has another value; the word gets its value back.
  std::string found_with(std::uint64_t number, std::uint64_t value) const {
    const std::uint64_t before = word(number);
    put(number, value);
    const std::vector<std::string> found = errors();
    put(number, before);
    return found.empty() ? "" : found.front();
  }

 private:
  std::streamoff offset(std::uint64_t number) const {
    return static_cast<std::streamoff>(inspect(path).objects.at(0).extents.at(1).offset + number * 8);
  }
};

TEST_P(SchemeObjects, TakePartInWhatEveryObjectDoes) {
  make();
  Pool pool = Pool::open(path);
  HashTable table = open(pool);
  EXPECT_EQ(pool.objects().at(0).type, form.type);
  EXPECT_EQ(pool.objects().at(0).extents.at(1).kind, "cells");
  EXPECT_TRUE(pool.objects().at(0).damage.empty());
  EXPECT_EQ(table.domain() == Domain::none, !form.undo_log);
  const CheckReport report = pool.check("a");
  EXPECT_EQ(report.items, 200u);
  EXPECT_EQ(report.slots, table.cells());
  EXPECT_TRUE(report.errors.empty());
  EXPECT_EQ(pool.snapshot(folder + "/b.hold").items, 200u);
  table.insert(1000, 1);
  pool.rename("a", "c");
  table.close();
  EXPECT_FALSE(table.is_open());
  EXPECT_THROW(table.find(1), ObjectClosed);
  EXPECT_THROW(table.insert(1, 1), ObjectClosed);
  EXPECT_EQ(open(pool, "c").size(), 201u);
  EXPECT_TRUE(pool.check("c").errors.empty());
  {
    HashTable other = form.create(pool, "c", {.item_bytes = 32, .cells = 1, .overwrite = true});
    EXPECT_EQ(other.size(), 0u);
    EXPECT_THROW(other.insert(1, 1), InvalidArgument);
  }
  pool.drop("c");
  EXPECT_TRUE(pool.objects().empty());
  Pool copy = Pool::open(folder + "/b.hold");
  const HashTable copied = open(copy);
  EXPECT_EQ(copied.size(), 200u);
  for (std::uint64_t i = 0; i < 200; ++i) ASSERT_EQ(copied.find(i), i);
  EXPECT_FALSE(copied.find(1000));
}

TEST_P(SchemeObjects, RefuseWhatTheyAreNot) {
  Pool pool = Pool::create(path);
  for (const std::uint32_t bytes : {0u, 8u, 24u, 64u}) {
    const std::string what =
        refusal<InvalidArgument>([&] { form.create(pool, "a", {.item_bytes = bytes, .cells = 1}); });
    EXPECT_NE(what.find("items of 16 bytes and of 32"), std::string::npos) << what;
  }
  EXPECT_NE(refusal<InvalidArgument>([&] { form.create(pool, "a", {}); }).find("no cells"), std::string::npos);
  EXPECT_THROW(form.create(pool, "a", {.cells = ~std::uint64_t{0}}), InvalidArgument);
  EXPECT_TRUE(pool.objects().empty());
  form.create(pool, "a", {.cells = 1});
  pool.create_table("table", {});
  GroupTable::create(pool, "group", {.cells = 1});
  EXPECT_THROW(open(pool, "a", 32), PoolMismatch);
  EXPECT_THROW(open(pool, "table"), PoolMismatch);
  EXPECT_THROW(open(pool, "group"), PoolMismatch);
  EXPECT_THROW(GroupTable::open(pool, "a"), PoolMismatch);
  EXPECT_THROW(form.create(pool, "a", {.cells = 1}), ObjectExists);
  for (const SchemeForm& other : kForms) {
    if (std::string(other.type) == form.type) continue;
    EXPECT_THROW(other.create(pool, "a", {.cells = 1, .overwrite = true}), PoolMismatch) << other.name;
  }
  const HashTable opened = open(pool);
  EXPECT_THROW(open(pool), ObjectInUse);
  EXPECT_THROW(form.create(pool, "a", {.cells = 1, .overwrite = true}), ObjectInUse);
}

/// Each kind of damage that can be noticed, by its name.
TEST_P(SchemeObjects, NameDamage) {
  make();
  ASSERT_EQ(errors(), std::vector<std::string>{});
  EXPECT_EQ(word(cells::word::kCount), 200u);
  const auto names = [&](std::uint64_t number, std::uint64_t value, const char* part) {
    const std::string what = found_with(number, value);
    EXPECT_NE(what.find(part), std::string::npos) << "word " << number << ": " << what;
  };
  names(cells::word::kCount, 199, "it says that it has 199 items, and has 200");
  names(cells::word::kCount, 1 << 20, "more items than cells");
  names(cells::word::kState, 7, form.undo_log ? "state 7, which there is not" : "has no log");
  names(cells::word::kState, 1, form.undo_log ? "not void" : "has no log");
  names(cells::kLineWords, 5, "the reserved cell is damaged");
  std::uint64_t full = cells::kHeaderWords, empty = cells::kHeaderWords;
  while (word(full) == 0) full += 2;
  while (word(empty) != 0) empty += 2;
  names(full, word(full) + 1'000'000, "key");
  names(full, 0, "it has");  // an item is missing: the count, or a search behind it, is wrong
  names(empty, 12345, "key");
  EXPECT_EQ(errors(), std::vector<std::string>{});
}

/// A damaged log entry is refused before recovery would follow it.
TEST_P(SchemeObjects, RefuseADamagedEntry) {
  const pid_t child = fork();
  if (child == 0) {
    Pool pool = Pool::create(path);
    HashTable table = form.create(pool, "a", {.cells = 16, .seed = 5});
    table.insert(1, 1);
    kill(getpid(), SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  const auto refused_with = [&](std::uint64_t number, std::uint64_t value, std::uint64_t state) {
    put(cells::word::kState, state);
    const std::uint64_t before = word(number);
    put(number, value);
    Pool pool = Pool::open(path);
    const std::string what = refusal<PoolCorrupt>([&] { open(pool); });
    EXPECT_NE(what.find(":a is damaged: "), std::string::npos) << what;
    pool.close();
    put(number, before);
    put(cells::word::kState, 0);
    return what;
  };
  if (!form.undo_log) {
    refused_with(cells::word::kState, 1, 1);
    return;
  }
  EXPECT_NE(refused_with(cells::word::kState, 6, 6).find("state 6"), std::string::npos);
  EXPECT_NE(refused_with(cells::word::kState, 8, 8).find("state 8"), std::string::npos);
  EXPECT_NE(refused_with(cells::word::kState, 1 + (1000 << 3), 1).find("state"), std::string::npos);
  EXPECT_NE(refused_with(cells::word::kOther, 1000, 1).find("names the cell"), std::string::npos);
  EXPECT_NE(refused_with(cells::word::kOther, 0, 2).find("names the cell"), std::string::npos);
  EXPECT_NE(refused_with(cells::word::kOldCount, 1000, 1).find("count"), std::string::npos);
  EXPECT_NE(refused_with(cells::word::kOld + 3, 1, 1).find("not zero"), std::string::npos);
  EXPECT_NE(refused_with(cells::word::kCount, 1000, 0).find("more items than cells"), std::string::npos);
  Pool pool = Pool::open(path);
  EXPECT_EQ(open(pool).find(1), 1u);
}

/// Gives files no space while it lives.
class NoSpaceLeft : public system::Observer {
 public:
  NoSpaceLeft() : before_(system::observe(this)) {}
  ~NoSpaceLeft() override { system::observe(before_); }
  int before(const system::Event& event) noexcept override {
    return event.call == system::Call::posix_fallocate ? ENOSPC : 0;
  }

 private:
  system::Observer* const before_;
};

TEST_P(SchemeObjects, StayUsableWhereTheMediumIsFull) {
  Pool pool = Pool::create(path);
  HashTable table = form.create(pool, "a", {.cells = 16});
  const std::uint64_t cells = table.cells();
  std::uint64_t kept = 0, refused = 0;
  {
    const NoSpaceLeft full;
    for (std::uint64_t key = 0; key < 8000; ++key) {
      const Status status = table.insert(key, key);
      ASSERT_TRUE(status == Status::inserted || status == Status::no_space);
      ++(status == Status::inserted ? kept : refused);
    }
    EXPECT_GT(refused, 0u);
    EXPECT_EQ(table.size(), kept);
    EXPECT_THROW(table.reserve(100'000), NoSpace);
    EXPECT_EQ(table.check().errors, std::vector<std::string>{});
  }
  for (std::uint64_t key = 0; key < 8000; ++key) table.insert(key, key);
  EXPECT_EQ(table.size(), 8000u);
  EXPECT_GT(table.cells(), cells);
  table.close();
  EXPECT_TRUE(pool.check().errors.empty());
}

TEST_P(SchemeObjects, BelongToTheProcessThatOpenedThem) {
  make();
  Pool pool = Pool::open(path);
  HashTable table = open(pool);
  const pid_t child = fork();
  if (child == 0) {
    int status = table.is_open() ? 1 : 0;
    try {
      table.find(1);
      status = 2;
    } catch (const ObjectClosed&) {
    }
    { const HashTable last = std::move(table); }
    _exit(status);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(table.find(7), 7u);
  EXPECT_EQ(table.insert(1000, 1), Status::inserted);
}

TEST_P(SchemeObjects, AreOpenedAfterAKill) {
  const pid_t child = fork();
  if (child == 0) {
    Pool pool = Pool::create(path);
    HashTable table = form.create(pool, "a", {.item_bytes = 32, .cells = 1});
    for (std::uint64_t i = 0; i < 2000; ++i) table.insert(wide(i).data(), wide(i).data());
    kill(getpid(), SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(inspect(path).objects.at(0).domain == Domain::none, !form.undo_log);
  Pool pool = Pool::open(path);
  HashTable table = open(pool);
  const CheckReport report = table.check();
  EXPECT_FALSE(report.was_clean);
  EXPECT_TRUE(report.errors.empty());
  EXPECT_EQ(report.items, 2000u);
}

TEST_P(SchemeObjects, AreReadWhereNothingMayBeWritten) {
  make(32);
  for (const bool salvage : {false, true}) {
    Pool pool = Pool::open(path, {.read_only = true, .salvage = salvage});
    HashTable table = open(pool);
    Wide value = {};
    EXPECT_EQ(table.find(wide(7).data(), value.data()), Status::found);
    EXPECT_EQ(value, wide(7));
    EXPECT_THROW(table.insert(wide(1000).data(), value.data()), ReadOnly);
    EXPECT_THROW(table.clear(), ReadOnly);
    EXPECT_THROW(table.reserve(10'000), ReadOnly);
    EXPECT_TRUE(table.check().errors.empty());
  }
}

INSTANTIATE_TEST_SUITE_P(All, SchemeObjects, testing::ValuesIn(kForms), kFormName);

/// What a page and a directory may say of a table is verified before anything relies on it.
TEST(SchemeLayout, IsVerified) {
  using structures::Header, structures::Stored, structures::kCellsRole;
  const Header header{7, 16, 0, 0, 0};
  const pool::Extent pages{479232, 8192, 1, pool::kPagesRole, 0};
  const pool::Extent cells{487424, 12288, 1, kCellsRole, 9};  // 512 cells: 8,320 bytes
  const auto flaw = [&](const Header& its, const pool::Extent& extent) {
    pool::ObjectPage page = {};
    page.header_bytes = sizeof(Header);
    std::memcpy(page.header, &its, sizeof its);
    pool::Directory directory;
    directory.extents = {pages, extent};
    Stored stored;
    return linear::logged_kind().read_stored(directory, 1, page, stored);
  };
  EXPECT_EQ(flaw(header, cells), "");
  EXPECT_NE(flaw({7, 24, 0, 0, 0}, cells), "");
  EXPECT_NE(flaw({7, 16, 64, 0, 0}, cells), "") << "it has no groups";
  EXPECT_NE(flaw({7, 16, 0, 0, 1}, cells), "");
  EXPECT_NE(flaw({7, 32, 0, 0, 0}, cells), "") << "the extent is too small";
  EXPECT_NE(flaw(header, {487424, 12288, 1, kCellsRole, 10}), "") << "the extent is too small";
  EXPECT_NE(flaw(header, {487424, 12288, 1, kCellsRole, 3}), "") << "fewer cells than a table has";
  EXPECT_NE(flaw(header, {487424, 12288, 1, kCellsRole, 40}), "");
  EXPECT_NE(flaw(header, {487424, 12288, 1, kCellsRole, 64}), "");
  EXPECT_NE(flaw(header, {487424, 12288, 1, 2, 9}), "") << "an extent of another role";
}

}  // namespace
}  // namespace holdfast::test
