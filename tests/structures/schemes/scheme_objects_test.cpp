// scheme_objects_test.cpp: tables of each form as objects: described, checked, copied, renamed, replaced, dropped, refused, killed; and a
// full medium.
#include <utility>
#include <vector>

#include "../no_space_left.hpp"
#include "scheme_fixture.hpp"
#include "support/child.hpp"
#include "support/errors.hpp"

namespace holdfast::test {
namespace {

class SchemeObjects : public SchemeTest {};

TEST_P(SchemeObjects, TakePartInWhatEveryObjectDoes) {
  make(form);
  Pool pool = Pool::open(path);
  HashTable table = open(pool);
  EXPECT_EQ(pool.objects().at(0).type, form.type);
  EXPECT_EQ(pool.objects().at(0).extents.at(1).kind, form.extent);
  EXPECT_TRUE(pool.objects().at(0).damage.empty());
  EXPECT_EQ(table.domain() == Domain::none, !form.is_durable);
  const CheckReport report = pool.check("a");
  EXPECT_EQ(report.items, 200u);
  EXPECT_EQ(report.slots, table.cells());
  EXPECT_TRUE(report.errors.empty());
  EXPECT_EQ(pool.snapshot(folder / "b.hold").items, 200u);
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
  Pool copy = Pool::open(folder / "b.hold");
  const HashTable copied = open(copy);
  EXPECT_EQ(copied.size(), 200u);
  for (std::uint64_t i = 0; i < 200; ++i) ASSERT_EQ(copied.find(i), i);
  EXPECT_FALSE(copied.find(1000));
}

TEST_P(SchemeObjects, RefuseWhatTheyAreNot) {
  Pool pool = Pool::create(path);
  for (const std::uint32_t bytes : {0u, 8u, 24u, 64u}) {
    expect_error<InvalidArgument>([&] { form.create(pool, "a", {.item_bytes = bytes, .cells = 1}); },
                                  "items of 16 bytes and of 32");
  }
  expect_error<InvalidArgument>([&] { form.create(pool, "a", {}); }, "no cells");
  EXPECT_THROW(form.create(pool, "a", {.cells = ~std::uint64_t{0}}), InvalidArgument);
  EXPECT_TRUE(pool.objects().empty());
  form.create(pool, "a", {.cells = 1});
  pool.create_table("table", {});
  const SchemeForm& foreign = is("group") ? kCellForms.front() : kGroupForms.front();
  foreign.create(pool, "foreign", {.cells = 1});
  EXPECT_THROW(open(pool, "a", 32), PoolMismatch);
  EXPECT_THROW(open(pool, "table"), PoolMismatch);
  EXPECT_THROW(open(pool, "foreign"), PoolMismatch);
  EXPECT_THROW(foreign.open(pool, "a", {}), PoolMismatch);
  EXPECT_THROW(pool.table("a"), PoolMismatch);
  EXPECT_THROW(form.create(pool, "a", {.cells = 1}), ObjectExists);
  for (const SchemeForm& other : kForms) {
    if (std::string(other.type) == form.type) continue;
    EXPECT_THROW(other.create(pool, "a", {.cells = 1, .overwrite = true}), PoolMismatch) << other.name;
  }
  const HashTable opened = open(pool);
  EXPECT_THROW(open(pool), ObjectInUse);
  EXPECT_THROW(form.create(pool, "a", {.cells = 1, .overwrite = true}), ObjectInUse);
}

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

TEST_P(SchemeObjects, ReportAKeyThatIsThereTwice) {
  Pool pool = Pool::create(path);
  HashTable table = form.create(pool, "a", {.cells = 64});
  table.insert(1, 1);
  table.insert_new(1, 2);  // the promise is broken
  const CheckReport report = table.check();
  ASSERT_EQ(report.errors.size(), 1u);
  EXPECT_NE(report.errors[0].find("have one key"), std::string::npos) << report.errors[0];
}

TEST_P(SchemeObjects, BelongToTheProcessThatOpenedThem) {
  make(form);
  Pool pool = Pool::open(path);
  HashTable table = open(pool);
  EXPECT_EQ(in_child([&] {
              const int status = table.is_open() ? 1 : 0;
              EXPECT_THROW(table.find(1), ObjectClosed);
              { const HashTable last = std::move(table); }
              return testing::Test::HasFailure() ? 2 : status;
            }),
            0);
  EXPECT_EQ(table.find(7), 7u);
  EXPECT_EQ(table.insert(1000, 1), Status::inserted);
}

TEST_P(SchemeObjects, AreOpenedAfterAKill) {
  in_killed_child([&] {
    Pool pool = Pool::create(path);
    HashTable table = form.create(pool, "a", {.item_bytes = 32, .cells = 1});
    for (std::uint64_t i = 0; i < 2000; ++i) table.insert(wide(i).data(), wide(i).data());
    raise(SIGKILL);
  });
  EXPECT_EQ(inspect(path).objects.at(0).domain == Domain::none, !form.is_durable);
  Pool pool = Pool::open(path);
  HashTable table = open(pool);
  const CheckReport report = table.check();
  EXPECT_FALSE(report.was_clean);
  EXPECT_TRUE(report.errors.empty());
  EXPECT_EQ(report.items, 2000u);
  EXPECT_EQ(table.size(), 2000u);
}

TEST_P(SchemeObjects, AreReadWhereNothingMayBeWritten) {
  make(form, 32);
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

}  // namespace
}  // namespace holdfast::test
