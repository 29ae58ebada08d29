// limits_test.cpp: pools made to stand at the end of a count, which no use of a pool reaches: they open, and refuse the change that
// would make them look damaged.
#include <gtest/gtest.h>

#include <filesystem>

#include "fixture.hpp"
#include "holdfast/table.hpp"
#include "support/exercise.hpp"
#include "support/pool_bytes.hpp"

namespace holdfast::test::corrupt {
namespace {

class Limits : public testing::Test {
 protected:
  ~Limits() override {
    std::filesystem::remove(path_);
    std::filesystem::remove(copy_);
  }

  Pool open() {
    write_file(path_, bytes_);
    return Pool::open(path_);
  }
  static CreateOptions small() {
    CreateOptions options;
    options.shape.capacity = 16;
    options.runtime.device = "cpu";
    options.runtime.threads = 1;
    return options;
  }
  static void expect_items(Pool& pool) {
    OpenOptions options;
    options.runtime.device = "cpu";
    options.runtime.threads = 1;
    Exercised exercised;
    Table table = pool.table("numbers", options);
    EXPECT_TRUE(export_all(table, exercised) == objects().items.at(kNumbers));
  }

  std::string bytes_ = objects().bytes;
  const std::string path_ = pool_path() + "-limits", copy_ = path_ + "-copy";
};

TEST_F(Limits, ThereIsNoNumberForOneObjectMore) {
  edit_area_header(bytes_, [](pool::AreaHeader& header) { header.next_number = ~0u - 1; });
  {
    Pool pool = open();
    pool.create_table("the last", small()).close();
    EXPECT_THROW(pool.create_table("one more", small()), NoSpace);
  }
  Pool pool = Pool::open(path_);
  EXPECT_EQ(pool.objects().back().number, ~0u - 1);
  EXPECT_EQ(pool.objects().back().name, "the last");
  expect_items(pool);
}

TEST_F(Limits, ThereIsNoGenerationForOneCommitMore) {
  const std::uint64_t last = pool::kGenerations - 1;
  edit_superblock(bytes_, [=](pool::Superblock& block) { block.generation = last - 1; });
  edit_area_header(bytes_, [=](pool::AreaHeader& header) { header.generation = last - 1; });
  Pool pool = open();
  pool.rename("set", "the last change");
  EXPECT_THROW(pool.rename("scores", "one more"), SystemError);
  EXPECT_THROW(pool.create_table("one more", small()), SystemError);
  EXPECT_THROW(pool.drop("scores"), SystemError);
  pool.snapshot(copy_);
  pool.close();
  for (const std::string& path : {path_, copy_}) {
    Pool again = Pool::open(path);
    EXPECT_EQ(again.objects().size(), 9u);
    EXPECT_EQ(again.objects()[4].name, "the last change");
    expect_items(again);
  }
  Pool::open(copy_).rename("scores", "a copy begins anew");
}

TEST_F(Limits, ThereIsNoGenerationForOneMarkMore) {
  edit_page(bytes_, kNumbers, [](pool::ObjectPage& page) { page.generation = pool::kGenerations - 1; });
  Pool pool = open();
  {
    Table table = pool.table("numbers");
    const std::uint64_t key = 4711;
    EXPECT_THROW(table.insert(&key, &key, 1), SystemError);
    pool.snapshot(copy_);
  }
  pool.close();
  pool = Pool::open(path_);
  expect_items(pool);
  Pool copy = Pool::open(copy_);
  expect_items(copy);
  Table table = copy.table("numbers");
  const std::uint64_t key = 4711;
  EXPECT_EQ(table.insert(&key, &key, 1).of(Status::inserted), 1u) << "a copy begins anew";
}

}  // namespace
}  // namespace holdfast::test::corrupt
