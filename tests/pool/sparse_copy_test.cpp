// sparse_copy_test.cpp: copies of pools whose pages of zeros are holes, as cp and backup programs leave them: what is written there
// stays, whatever the object, and a pool in which nothing was written has its holes again.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <string>
#include <vector>

#include "holdfast/checkpoint.hpp"
#include "holdfast/table.hpp"
#include "holdfast/transaction.hpp"
#include "pool_test.hpp"
#include "support/pages.hpp"

namespace holdfast::pool {
namespace {

constexpr std::uint64_t kRegionBytes = 64 * kPage, kFar = 40 * kPage;

class SparseCopies : public testing::Test {
 protected:
  static void save(Checkpoint& checkpoint, std::uint64_t value) {
    const std::vector<std::uint64_t> data(10'000, value);
    const TensorView tensors[] = {{"a", ElementType::u64, {data.size()}, data.data()}};
    checkpoint.save(value, tensors).wait();
  }
  void SetUp() override {
    const std::string whole = folder / "whole.hold";
    {
      Pool pool = Pool::create(whole);
      Region::create(pool, "r", kRegionBytes).section().as<std::uint64_t>()[0] = 1;
      Region ballast = Region::create(pool, "ballast", 2 << 20);  // more than half of the file is there
      for (std::uint64_t& word : ballast.section().as<std::uint64_t>()) word = 1;
      Log::create(pool, "l", {.entry_bytes = 1024, .capacity = 8, .threads = 64});
      Log::create(pool, "undo", {.entry_bytes = 16});
      Checkpoint checkpoint = Checkpoint::create(pool, "c");
      for (const std::uint64_t value : {0, 0, 0}) save(checkpoint, value);
      pool.create_table("t", {.shape = {.value_bytes = 16, .capacity = 1000}, .runtime = {.device = "cpu"}});
    }
    const std::vector<char> bytes = read_all(whole);
    test::write_pages(path, test::pack_pages({bytes.begin(), bytes.end()}), 1 << 20, true);
    holes = blocks();
    ASSERT_LT(holes, bytes.size() / 512);
  }
  std::uint64_t blocks() const {
    struct stat status = {};
    EXPECT_EQ(stat(path.c_str(), &status), 0);
    return static_cast<std::uint64_t>(status.st_blocks);
  }

  const Folder folder{"/dev/shm"};
  const std::string path = folder / "copy.hold";
  std::uint64_t holes = 0;  ///< the blocks of a file that has them
};

TEST_F(SparseCopies, KeepWhatASectionWrites) {
  {
    Pool pool = Pool::open(path);
    Region region = Region::open(pool, "r");
    const Section section = region.section();
    section.as<std::uint64_t>()[kFar / 8] = 2;
    section.persist(section.bytes().data() + kFar, 8);
  }
  Pool pool = Pool::open(path);
  EXPECT_EQ(Region::open(pool, "r").as<std::uint64_t>()[0], 1u);
  EXPECT_EQ(Region::open(pool, "r").as<std::uint64_t>()[kFar / 8], 2u);
}

TEST_F(SparseCopies, KeepEntriesOfLogs) {
  const std::vector<std::uint64_t> entry(128, 7);
  {
    Pool pool = Pool::open(path);
    Log log = Log::open(pool, "l");
    EXPECT_EQ(log.insert(50, entry.data(), 1024), LogStatus::ok);
  }
  Pool pool = Pool::open(path);
  Log log = Log::open(pool, "l");
  std::vector<std::uint64_t> found(128);
  ASSERT_EQ(log.read(50, found.data(), 1024), LogStatus::ok);
  EXPECT_EQ(found, entry);
}

TEST_F(SparseCopies, KeepTransactions) {
  {
    Pool pool = Pool::open(path);
    Region region = Region::open(pool, "r");
    Log log = Log::open(pool, "undo");
    Transaction batch(log, region);
    EXPECT_EQ(batch.update(3, kFar, std::uint64_t{9}), LogStatus::ok);
    batch.commit();
  }
  Pool pool = Pool::open(path);
  EXPECT_EQ(Region::open(pool, "r").as<std::uint64_t>()[kFar / 8], 9u);
}

TEST_F(SparseCopies, KeepSaves) {
  {
    Pool pool = Pool::open(path);
    Checkpoint checkpoint = Checkpoint::open(pool, "c");
    save(checkpoint, 5);
    save(checkpoint, 6);
  }
  Pool pool = Pool::open(path);
  Checkpoint checkpoint = Checkpoint::open(pool, "c");
  EXPECT_TRUE(pool.check().errors.empty());
  EXPECT_EQ(checkpoint.restore().step, 6u);
  EXPECT_EQ(checkpoint.list().size(), 2u);
}

TEST_F(SparseCopies, KeepItems) {
  std::vector<std::uint64_t> keys(500), values(1000);
  for (std::uint64_t i = 0; i < keys.size(); ++i) keys[i] = i + 1, values[2 * i] = values[2 * i + 1] = ~i;
  {
    Pool pool = Pool::open(path);
    Table table = pool.table("t", {.runtime = {.device = "cpu"}});
    table.insert(keys.data(), values.data(), keys.size());
  }
  Pool pool = Pool::open(path);
  Table table = pool.table("t", {.runtime = {.device = "cpu"}});
  std::vector<std::uint64_t> found(1000);
  table.find(keys.data(), found.data(), keys.size());
  EXPECT_EQ(found, values);
  EXPECT_TRUE(table.check().errors.empty());
}

TEST_F(SparseCopies, HaveTheirHolesAgainWhereNothingWasWritten) {
  {
    Pool pool = Pool::open(path);
    EXPECT_GT(blocks(), holes);
    Region region = Region::open(pool, "r");
    EXPECT_EQ(region.as<std::uint64_t>()[0], 1u);
    Log log = Log::open(pool, "l");
    EXPECT_EQ(log.count(0), 0u);
    EXPECT_EQ(Checkpoint::open(pool, "c").list().size(), 2u);
  }
  EXPECT_LE(blocks(), holes + kPage / 512) << "but for the page of the owner's note";
}

}  // namespace
}  // namespace holdfast::pool
