// clean_mark_test.cpp: what changes nothing leaves the clean mark alone, and what changes something does not.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <string>
#include <vector>

#include "holdfast/table.hpp"

namespace holdfast::test {
namespace {

class CleanMark : public testing::Test {
 protected:
  CleanMark() : table(Table::create(path, options())) {
    insert(7, 1);
    table.sync();
  }
  ~CleanMark() override { unlink(path.c_str()); }

  static CreateOptions options() {
    CreateOptions options;
    options.shape.capacity = 100;
    options.runtime.device = "cpu";
    options.overwrite = true;
    return options;
  }
  BatchResult insert(std::uint64_t key, std::size_t n, std::vector<std::uint8_t> mask = {}) {
    const std::vector<std::uint64_t> keys(n, key);
    Batch batch;
    batch.op = Op::insert_or_assign;
    batch.size = n;
    batch.keys = batch.values = keys.data();
    batch.mask = mask.empty() ? nullptr : mask.data();
    return table.run(batch);
  }
  bool is_clean() const { return inspect(path).objects.at(0).clean; }

  const std::string path = "/dev/shm/holdfast-clean-" + std::to_string(getpid()) + ".hold";
  Table table;
};

TEST_F(CleanMark, StandsAfterAnEmptyBatch) {
  insert(8, 0);
  EXPECT_TRUE(is_clean());
}

TEST_F(CleanMark, StandsAfterAMaskedBatch) {
  EXPECT_EQ(insert(8, 3, {0, 0, 0}).of(Status::not_run), 3u);
  EXPECT_TRUE(is_clean());
  EXPECT_EQ(insert(8, 3, {0, 0, 1}).of(Status::inserted), 1u);
  EXPECT_FALSE(is_clean());
}

TEST_F(CleanMark, StandsAfterASelectionOfNothing) {
  Selection selection;
  selection.where = [](const void*, const void*) { return false; };
  EXPECT_EQ(table.erase_if(selection), 0u);
  EXPECT_TRUE(is_clean());
  selection.where = [](const void* key, const void*) { return *static_cast<const std::uint64_t*>(key) == 7; };
  EXPECT_EQ(table.erase_if(selection), 1u);
  EXPECT_FALSE(is_clean());
}

TEST_F(CleanMark, ReadOnlyTablesRefuseThemAllTheSame) {
  table.close();
  OpenOptions how;
  how.runtime.device = "cpu";
  how.read_only = true;
  table = Table::open(path, how);
  EXPECT_THROW(insert(8, 0), ReadOnly);
  EXPECT_THROW(insert(8, 1, {0}), ReadOnly);
  EXPECT_THROW(table.erase_if({}), ReadOnly);
}

}  // namespace
}  // namespace holdfast::test
