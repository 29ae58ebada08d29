// pairs_test.cpp: keys and values of any length: random batches against a map, reopening, growth, bad input, damage.
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "conformance/checked.hpp"
#include "heap/slab.hpp"
#include "holdfast/table.hpp"
#include "support/exercise.hpp"

namespace holdfast::test {
namespace {

class PairsBadInput : public testing::Test {
 protected:
  PairsBadInput() : path_("/dev/shm/holdfast-test-pairs-bad-" + std::to_string(getpid()) + ".hold") {}
  ~PairsBadInput() override { unlink(path_.c_str()); }
  Table make() {
    CreateOptions options;
    options.shape.key_bytes = options.shape.value_bytes = kVariableBytes;
    options.runtime.device = "cpu";
    options.overwrite = true;
    options.shape.capacity = 16;
    return Table::create(path_, options);
  }
  static Status insert(Table& table, const std::string& key, const std::string& value) {
    Strings keys, values;
    keys.add(key);
    values.add(value);
    Status status = Status::not_run;
    Batch batch;
    batch.op = Op::insert_or_assign;
    batch.size = 1;
    batch.keys = keys.bytes.data();
    batch.variable = VariableLength{.key_offsets = keys.offsets.data(), .value_offsets = values.offsets.data()};
    batch.values = values.bytes.data();
    batch.statuses = &status;
    table.run(batch);
    return status;
  }
  std::string path_;
};

TEST_F(PairsBadInput, ASnapshotHasEveryPair) {
  Checked<Table> checked({.key_bytes = kVariableBytes, .value_bytes = kVariableBytes});
  Table table = make();
  ASSERT_NO_FATAL_FAILURE(checked.rounds(table, 300, 1000));
  const std::string copy = path_ + ".copy";
  table.snapshot(copy, {.overwrite = true});
  Table other = Table::open(copy, {.runtime = {.device = "cpu"}});
  unlink(copy.c_str());
  ASSERT_NO_FATAL_FAILURE(checked.verify(other));
}

TEST_F(PairsBadInput, IsOneErrorAndNothingChanged) {
  Table table = make();
  EXPECT_EQ(insert(table, std::string(65536, 'k'), std::string(65536, 'v')), Status::inserted);
  EXPECT_EQ(insert(table, "", ""), Status::inserted);
  EXPECT_THROW(insert(table, std::string(65537, 'k'), "v"), InvalidArgument);
  EXPECT_THROW(insert(table, "k", std::string(65537, 'v')), InvalidArgument);
  const std::uint64_t falls[] = {0, 5, 3};
  const std::string bytes(8, 'x');
  Batch batch;
  batch.size = 2;
  batch.keys = bytes.data();
  EXPECT_THROW(table.run(batch), InvalidArgument) << "no offsets";
  batch.variable = VariableLength{.key_offsets = falls};
  EXPECT_THROW(table.run(batch), InvalidArgument) << "offsets that fall";
  std::uint64_t key = 1;
  EXPECT_THROW(table.find(&key, &key, 1), InvalidArgument);
  EXPECT_THROW(table.accumulate(&key, &key, 1, Combine::add, Element::u64), InvalidArgument);
  std::uint64_t cursor = 0;
  EXPECT_THROW(table.export_batch(cursor, &key, &key, 1), InvalidArgument);
  EXPECT_EQ(table.size(), 2u);
  EXPECT_TRUE(table.check().errors.empty());
  table.close();
  OpenOptions fixed;
  fixed.key_bytes = 8;
  EXPECT_THROW(Table::open(path_, fixed), PoolMismatch);
  CreateOptions half;
  half.shape.key_bytes = kVariableBytes;
  EXPECT_THROW(Table::create(path_ + "2", half), InvalidArgument);
}

TEST_F(PairsBadInput, FlippedBitsAreFoundByCheckAndLeftOutBySalvage) {
  {
    Table table = make();
    ASSERT_EQ(insert(table, "the damaged key", "the value of it, which is long enough to be seen"), Status::inserted);
    ASSERT_EQ(insert(table, "another key", "another value"), Status::inserted);
  }
  std::string file;
  {
    std::ifstream in(path_, std::ios::binary);
    file.assign(std::istreambuf_iterator<char>(in), {});
  }
  const std::size_t at = file.find("long enough");
  ASSERT_NE(at, std::string::npos);
  {
    std::fstream out(path_, std::ios::binary | std::ios::in | std::ios::out);
    out.seekp(static_cast<std::streamoff>(at));
    out.put('L');
  }
  EXPECT_FALSE(check(path_).errors.empty());
  OpenOptions salvage;
  salvage.runtime.device = "cpu";
  salvage.read_only = salvage.salvage = true;
  Table table = Table::open(path_, salvage);
  EXPECT_EQ(table.stats().recovery.left_out, 1u);
  EXPECT_EQ(table.size(), 1u);
}

/// Whatever bit flips, of slots, of the directory, of pairs: an error, or a table that agrees with itself.
TEST_F(PairsBadInput, FlippedBitsAnywhereDoNoMore) {
  Items items;
  {
    Table table = make();
    for (unsigned i = 0; i < 60; ++i) {
      const std::string key = "key " + std::to_string(i), value(i * i, static_cast<char>(i));
      ASSERT_EQ(insert(table, key, value), Status::inserted);
      items[key] = value;
    }
  }
  const ObjectInfo info = inspect(path_).objects.at(0);
  std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges;  // of the levels, of the directory, of the first slabs
  for (const ExtentInfo& extent : info.extents) {
    if (extent.kind == "heap") {
      ranges.push_back({extent.offset, 64});
      for (unsigned slab = 1; slab < 4; ++slab) ranges.push_back({extent.offset + slab * heap::kSlabBytes, 4096});
    } else {
      ranges.push_back({extent.offset, extent.bytes});
    }
  }
  std::string whole;
  {
    std::ifstream in(path_, std::ios::binary);
    whole.assign(std::istreambuf_iterator<char>(in), {});
  }
#if defined(HOLDFAST_SANITIZED)
  constexpr unsigned kFlips = 12;
#else
  constexpr unsigned kFlips = 40;
#endif
  std::mt19937_64 random(3);
  for (unsigned i = 0; i < kFlips; ++i) {
    std::string bytes = whole;
    const auto& [offset, size] = ranges[random() % ranges.size()];
    std::uint64_t at = offset + random() % size;
    for (unsigned tries = 0; bytes[at] == 0 && tries < 200; ++tries) at = offset + random() % size;
    bytes[at] = static_cast<char>(bytes[at] ^ (1 << (random() % 8)));
    {
      std::ofstream out(path_, std::ios::binary | std::ios::trunc);
      out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    }
    const Exercised result = exercise(path_);
    ASSERT_EQ(result.wrong, "") << "byte " << at;
  }
}

/// The whole heap is used up; updates go on, and what does not fit says so.
TEST_F(PairsBadInput, AFullHeapRefusesInsertsAndTakesUpdates) {
  CreateOptions options;
  options.shape.key_bytes = options.shape.value_bytes = kVariableBytes;
  options.runtime.device = "cpu";
  options.overwrite = true;
  options.shape.capacity = 16;
  options.shape.max_bytes = 16 << 20;  // eight slabs
  Table table = Table::create(path_, options);
  unsigned inserted = 0;
  while (insert(table, "key " + std::to_string(inserted), std::string(4000, 'a')) == Status::inserted) ++inserted;
  EXPECT_GT(inserted, 2000u);
  EXPECT_EQ(insert(table, "one more", std::string(4000, 'a')), Status::no_space);
  for (unsigned round = 0; round < 3; ++round) {
    for (unsigned i = 0; i < inserted; ++i) {
      ASSERT_EQ(insert(table, "key " + std::to_string(i), std::string(4000, static_cast<char>('b' + round))),
                Status::updated);
    }
  }
  EXPECT_EQ(table.size(), inserted);
  EXPECT_TRUE(table.check().errors.empty());
  const Stats stats = table.stats();
  EXPECT_EQ(stats.pairs.live_bytes, inserted * std::uint64_t{heap::class_bytes(heap::class_of(16 + 8 + 4000))});
  EXPECT_LT(stats.pairs.rounding_bytes * 5, stats.pairs.live_bytes);
}

}  // namespace
}  // namespace holdfast::test
