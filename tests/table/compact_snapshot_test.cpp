// compact_snapshot_test.cpp: the snapshot of a table that was large once is as small as its items, and has all of them.
#include <gtest/gtest.h>

#include <csignal>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "conformance/checked.hpp"
#include "snapshot_fixture.hpp"

namespace holdfast::test {
namespace {

constexpr std::size_t kMany = 20'000, kFew = 300;
constexpr std::uint64_t kHeader = 1 << 19;  // superblocks and directories, with which every pool begins

OpenOptions on_cpu() { return {.runtime = {.device = "cpu"}}; }

struct CompactedTable {
  std::uint32_t key_bytes, value_bytes;
  Score score = Score::none;
  std::uint32_t levels = 2, hash_locations = 2, slots = 8;
  bool predictable = true;  ///< it is not larger than a table that is made for as many items
};

class CompactSnapshots : public testing::TestWithParam<CompactedTable> {
 protected:
  CreateOptions options(std::uint64_t capacity) const {
    const CompactedTable& kind = GetParam();
    CreateOptions options;
    options.shape = {.key_bytes = kind.key_bytes,
                     .value_bytes = kind.value_bytes,
                     .score = kind.score,
                     .capacity = capacity,
                     .levels = kind.levels,
                     .hash_locations = kind.hash_locations,
                     .slots = kind.slots};
    options.runtime.device = "cpu";
    return options;
  }
  /// One change of many items, `from` the first on.
  void change(Table& table, Op op, std::uint64_t from, std::size_t n) {
    Rows rows = checked.some_rows(n, 1, false, op);
    for (std::size_t i = 0; i < n; ++i) rows.keys[i] = from + i;
    std::fill(rows.mask.begin(), rows.mask.end(), 1);
    ASSERT_NO_FATAL_FAILURE(checked.run(table, rows));
  }
  void set_step(Table& table, std::uint64_t step) {
    if (GetParam().score == Score::step) checked.set_step(table, step);
  }

  const Folder folder{"/dev/shm"}, disk{"/tmp"};
  const std::string source = folder / "a.hold", target = disk / "b.hold", second = disk / "c.hold";
  Checked<Table> checked{{GetParam().key_bytes, GetParam().value_bytes, 0, GetParam().score}};
};

INSTANTIATE_TEST_SUITE_P(Kinds, CompactSnapshots,
                         testing::Values(CompactedTable{8, 8}, CompactedTable{8, 0}, CompactedTable{8, 100},
                                         CompactedTable{8, 4, Score::frequency}, CompactedTable{8, 24, Score::step},
                                         CompactedTable{32, 24, Score::step}, CompactedTable{16, 4, Score::time},
                                         CompactedTable{32, 8}, CompactedTable{128, 300},
                                         CompactedTable{kVariableBytes, kVariableBytes},
                                         CompactedTable{8, 100, Score::none, 4, 2, 4},
                                         CompactedTable{8, 8, Score::none, 1, 4, 8},
                                         CompactedTable{kVariableBytes, kVariableBytes, Score::none, 1, 4, 4},
                                         CompactedTable{8, 16, Score::none, 1, 1, 4, false},
                                         CompactedTable{16, 8, Score::none, 3, 1, 2, false}));

TEST_P(CompactSnapshots, AreAsSmallAsTheirItems) {
  Table table = Table::create(source, options(16));
  set_step(table, 7);
  ASSERT_NO_FATAL_FAILURE(change(table, Op::insert, 0, kMany));  // 0, which lives aside, among them
  set_step(table, 9);
  ASSERT_NO_FATAL_FAILURE(change(table, Op::insert_or_assign, kFew / 2, kFew));
  ASSERT_NO_FATAL_FAILURE(change(table, Op::erase, kFew, kMany - kFew));
  table.describe("what users say of it");

  std::uint64_t done = 1, total = 0;
  const auto progress = [&](std::uint64_t now, std::uint64_t all) { done = now, total = all; };
  const SnapshotResult result = table.snapshot(target, {.progress = progress});
  EXPECT_EQ(result.items, kFew);
  EXPECT_EQ(done, total);
  EXPECT_EQ(result.bytes, total);
  ASSERT_NO_FATAL_FAILURE(checked.verify(table));
  table.close();
  Pool::open(source).snapshot(second);  // the same of a table that is not open

  const Table fresh = Table::create(folder / "fresh.hold", options(kFew));
  const ObjectInfo as_new = inspect(folder / "fresh.hold").objects.at(0);
  const ObjectInfo large = inspect(source).objects.at(0);
  for (const std::string& path : {target, second}) {
    const PoolInfo info = inspect(path);
    const ObjectInfo& copy = info.objects.at(0);
    EXPECT_LE(copy.bytes * 2, large.bytes);
    EXPECT_TRUE(copy.clean);
    EXPECT_EQ(copy.table.created, large.table.created);
    if (GetParam().predictable && GetParam().key_bytes != kVariableBytes) {
      EXPECT_EQ(copy.bytes, as_new.bytes);
      EXPECT_EQ(copy.table.total_slots, as_new.table.total_slots);
      EXPECT_LE(info.file_bytes, kHeader + as_new.bytes);
    }
    EXPECT_EQ(fs::file_size(path), info.file_bytes);
    OpenOptions reading = on_cpu();
    reading.read_only = true;
    Table other = Table::open(path, reading);
    EXPECT_EQ(other.description(), "what users say of it");
    if (GetParam().score == Score::step) {
      EXPECT_EQ(other.step(), 9u);
    }
    ASSERT_NO_FATAL_FAILURE(checked.verify(other));
  }
}

TEST_P(CompactSnapshots, LiveOnAndGrow) {
  {
    Table table = Table::create(source, options(16));
    ASSERT_NO_FATAL_FAILURE(change(table, Op::insert, 0, kMany));
    ASSERT_NO_FATAL_FAILURE(change(table, Op::erase, kFew, kMany - kFew));
    table.snapshot(target);
  }
  for (int round = 0; round < 3; ++round) {
    Table copy = Table::open(target, on_cpu());
    set_step(copy, 20 + round);
    ASSERT_NO_FATAL_FAILURE(checked.verify(copy));
    ASSERT_NO_FATAL_FAILURE(checked.rounds(copy, 500, 2 * kFew));
    ASSERT_NO_FATAL_FAILURE(change(copy, Op::insert, 10 * kFew, 3000));
    ASSERT_NO_FATAL_FAILURE(change(copy, Op::erase, 20 * kFew, 1000));
    ASSERT_NO_FATAL_FAILURE(checked.verify(copy));
  }
}

TEST_P(CompactSnapshots, OfAnEmptyTable) {
  Table table = Table::create(source, options(kMany));
  table.snapshot(target);
  EXPECT_LE(fs::file_size(target), kHeader + (GetParam().key_bytes == kVariableBytes ? 5 << 20 : 1 << 17));
  Table copy = Table::open(target, on_cpu());
  EXPECT_EQ(copy.size(), 0u);
  ASSERT_NO_FATAL_FAILURE(change(copy, Op::insert, 0, kFew));
  ASSERT_NO_FATAL_FAILURE(checked.verify(copy));
}

class CompactSnapshot : public testing::Test {
 protected:
  static constexpr std::uint32_t kBytes = 100;
  /// Holds `left` of `many` items, and is closed.
  void make_shrunk(std::size_t many, std::size_t left) {
    Table table = make(source, kBytes, many);
    const std::vector<std::uint64_t> all = keys_from(0, many);
    table.insert(all.data(), values_of(all, kBytes, 1).data(), many);
    table.erase(&all[left], many - left);
  }
  std::fstream open_file() const { return std::fstream(source, std::ios::in | std::ios::out | std::ios::binary); }
  /// Where the words of the first `n` occupied slots of the top level lie in the file.
  std::vector<std::uint64_t> occupied(std::fstream& file, std::size_t n) const {
    const ObjectInfo table = inspect(source).objects.at(0);
    std::vector<std::uint64_t> places;
    for (const ExtentInfo& extent : table.extents) {
      if (extent.kind != "level " + std::to_string(table.table.top_level)) continue;
      for (std::uint64_t at = extent.offset; places.size() < n && at < extent.offset + extent.bytes; at += 16) {
        std::uint64_t slot[2] = {};
        file.seekg(static_cast<std::streamoff>(at)).read(reinterpret_cast<char*>(slot), 16);
        if (slot[0] != 0 && slot[1] != 0) places.push_back(at);
      }
    }
    EXPECT_EQ(places.size(), n);
    return places;
  }
  static std::uint64_t word_at(std::fstream& file, std::uint64_t at) {
    std::uint64_t word = 0;
    file.seekg(static_cast<std::streamoff>(at)).read(reinterpret_cast<char*>(&word), 8);
    return word;
  }
  static void write_word(std::fstream& file, std::uint64_t at, std::uint64_t word) {
    file.seekp(static_cast<std::streamoff>(at)).write(reinterpret_cast<const char*>(&word), 8);
  }
  static bool is_damaged(const std::string& path) {
    try {
      return !check(path).errors.empty();
    } catch (const PoolCorrupt&) {
      return true;
    }
  }
  void expect_as_it_is() {
    Pool::open(source).snapshot(target, {.overwrite = true});
    EXPECT_EQ(inspect(target).objects.at(0).bytes, inspect(source).objects.at(0).bytes);
  }

  const Folder folder{"/dev/shm"}, disk{"/tmp"};
  const std::string source = folder / "a.hold", target = disk / "b.hold";
};

TEST_F(CompactSnapshot, IsNotMadeWhereItSavesLessThanHalf) {
  make_shrunk(kMany, kMany * 7 / 10);
  expect_as_it_is();
  Table table = Table::open(source, on_cpu());
  table.snapshot(target, {.overwrite = true});
  EXPECT_EQ(inspect(target).objects.at(0).bytes, inspect(source).objects.at(0).bytes);
  expect_snapshot(target, keys_from(0, kMany * 7 / 10), 1);
}

TEST_F(CompactSnapshot, HasTheCellsThatTwoWritesShare) {
  constexpr std::uint32_t kLarge = 1000;  // no part of the 8 MiB that a write has
  Table table = make(source, kLarge, kMany * 2);
  const std::vector<std::uint64_t> all = keys_from(0, kMany * 2), few = keys_from(0, kMany * 9 / 10);
  table.insert(all.data(), values_of(all, kLarge, 1).data(), all.size());
  table.erase(&all[few.size()], all.size() - few.size());
  const SnapshotResult result = table.snapshot(target);
  EXPECT_LE(result.bytes, few.size() * 1100);
  expect_snapshot(target, few, 1);
}

TEST_F(CompactSnapshot, HidesNoDamage) {
  make_shrunk(kMany, kFew);
  for (const bool same_cell : {false, true}) {
    std::fstream file = open_file();
    const std::vector<std::uint64_t> slots = occupied(file, 2);
    const std::uint64_t at = slots[0] + (same_cell ? 8 : 0), was = word_at(file, at);
    write_word(file, at, same_cell ? word_at(file, slots[1] + 8) : was ^ std::uint64_t{1} << 40);
    file.flush();
    expect_as_it_is();
    EXPECT_TRUE(is_damaged(target));
    write_word(file, at, was);
  }
  Pool::open(source).snapshot(target, {.overwrite = true});
  EXPECT_LT(inspect(target).objects.at(0).bytes * 2, inspect(source).objects.at(0).bytes);
  expect_snapshot(target, keys_from(0, kFew), 1);
}

TEST_F(CompactSnapshot, IsNotMadeOfATableThatWasKilled) {
  make_shrunk(kMany, kFew);
  in_killed_child([&] {
    Table table = Table::open(source, on_cpu());
    const std::uint64_t key = 3;
    table.insert_or_assign(&key, values_of({key}, kBytes, 1).data(), 1);
    raise(SIGKILL);
  });
  expect_as_it_is();
  EXPECT_FALSE(inspect(target).objects.at(0).clean);
  Table copy = Table::open(target, on_cpu());  // recovers, as the table would
  expect_holds(copy, keys_from(0, kFew), 1);
}

TEST_F(CompactSnapshot, OfPairsOfAllLengthsTakesFewSlabs) {
  CreateOptions options;
  options.shape = {.key_bytes = kVariableBytes, .value_bytes = kVariableBytes, .capacity = 1000};
  options.runtime.device = "cpu";
  Table table = Table::create(source, options);
  Checked<Table> checked({kVariableBytes, kVariableBytes});
  std::vector<std::string> values;
  Strings keys, bytes;
  for (unsigned i = 0; i < 40; ++i) {  // each of another class of cells, up to the largest
    keys.add("key " + std::to_string(i));
    values.emplace_back(i == 39 ? 65536 : (std::size_t{16} << i / 4) * (4 + i % 4) / 4,
                        static_cast<char>('a' + i % 26));
    bytes.add(values.back());
  }
  Batch batch;
  batch.op = Op::insert;
  batch.size = values.size();
  batch.keys = keys.bytes.data();
  batch.values = bytes.bytes.data();
  batch.variable = VariableLength{.key_offsets = keys.offsets.data(), .value_offsets = bytes.offsets.data()};
  table.run(batch);
  table.snapshot(target);
  EXPECT_GE(fs::file_size(source), 40u << 21);
  EXPECT_LE(fs::file_size(target), 5u << 21);
  Table copy = Table::open(target, on_cpu());
  EXPECT_TRUE(copy.check().errors.empty());
  Blobs found_keys, found;
  std::uint64_t cursor = 0;
  ASSERT_EQ(copy.export_pairs(cursor, &found_keys, &found, 100), values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t number = std::stoul(std::string(found_keys[i]).substr(4));
    EXPECT_EQ(found[i], values.at(number)) << number;
  }
}

}  // namespace
}  // namespace holdfast::test
