// group_table_test.cpp: group hashing alone: the sizes of groups, persists counted, how full it becomes, damaged words, searches in growth.
#include <atomic>
#include <latch>
#include <string>
#include <thread>
#include <vector>

#include "../no_space_left.hpp"
#include "../schemes/scheme_fixture.hpp"
#include "core/hash.hpp"
#include "structures/group/shape.hpp"
#include "support/errors.hpp"

namespace holdfast::test {
namespace {

class GroupTables : public testing::Test, protected PoolInFolder {};

TEST_F(GroupTables, HaveGroupsOfTheSizesThatThereAre) {
  Pool pool = Pool::create(path);
  for (const std::uint32_t size : {0u, 1u, 32u, 65u, 100u, 2048u}) {
    expect_error<InvalidArgument>([&] { GroupTable::create(pool, "a", {.cells = 1, .group_size = size}); },
                                  "power of two of cells, from 64 to 1024");
  }
  for (const std::uint32_t size : {64u, 128u, 256u, 512u, 1024u}) {
    const GroupTable table = GroupTable::create(pool, std::to_string(size), {.cells = 1, .group_size = size});
    EXPECT_EQ(table.cells(), 2 * size);
  }
}

TEST_F(GroupTables, PersistAsOftenAsTheyMust) {
  PersistCounter persists;
  Pool pool = Pool::create(path);
  for (const std::uint32_t bytes : {16u, 32u}) {
    GroupTable table =
        GroupTable::create(pool, std::to_string(bytes), {.item_bytes = bytes, .cells = 4096, .flush = true});
    table.insert(wide(0).data(), wide(0).data());  // and the clean mark is cleared
    const auto takes = [&](unsigned most, const auto& operation) {
      const unsigned lines = persists.counts.lines, fences = persists.counts.fences;
      operation();
      EXPECT_EQ(persists.counts.fences - fences, most);
      EXPECT_EQ(persists.counts.lines - lines, most) << "each line once";
    };
    for (std::uint64_t i = 1; i < 200; ++i) {
      takes(2, [&] { table.insert(wide(i).data(), wide(i).data()); });
      takes(0, [&] { table.insert(wide(i).data(), wide(i).data()); });
      Wide value;
      takes(0, [&] { table.find(wide(i).data(), value.data()); });
      if (bytes == 16) takes(1, [&] { table.assign(wide(i).data(), wide(1).data()); });
      if (i % 2 == 0) takes(1, [&] { table.erase(wide(i).data()); });
      if (i % 2 == 0) takes(2, [&] { table.insert_new(wide(i).data(), wide(i).data()); });
    }
    if (bytes == 32) {
      const unsigned fences = persists.counts.fences;
      for (std::uint64_t i = 1; i < 200; ++i) table.assign(wide(i).data(), wide(i + 1).data());
      EXPECT_LE(persists.counts.fences - fences, 3u * 199);
      EXPECT_GE(persists.counts.fences - fences, 2u * 199);
    }
    EXPECT_TRUE(table.check().errors.empty());
  }
}

/// Items that fit before a group is full: the same as in a count of hashes alone.
std::uint64_t simulated(std::uint64_t groups, std::uint32_t group_size, std::uint64_t seed) {
  const group::Shape shape{groups, group_size, 2};
  std::vector<bool> first(groups * group_size);
  std::vector<std::uint32_t> second(groups);
  for (std::uint64_t key = 0;; ++key) {  // ends: a group is full
    const std::uint64_t hash = hash_key(key, seed);
    const std::uint64_t number = shape.group_of(hash);
    const std::uint64_t cell = number * group_size + shape.position_of(hash);
    if (first[cell] && ++second[number] > group_size) return key;
    first[cell] = true;
  }
}

TEST_F(GroupTables, AreAsFullAsSimulated) {
  Pool pool = Pool::create(path);
  for (const std::uint32_t group_size : {64u, 256u, 1024u}) {
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      constexpr std::uint64_t kCells = 1 << 14;
      GroupTable table =
          GroupTable::create(pool, "a", {.cells = kCells, .group_size = group_size, .seed = seed, .overwrite = true});
      std::uint64_t key = 0;
      while (table.insert_new(key, key) == Status::inserted && table.cells() == kCells) ++key;
      EXPECT_EQ(key, simulated(kCells / 2 / group_size, group_size, seed)) << group_size;
      EXPECT_GT(key, kCells / 2) << group_size;
    }
  }
}

/// A search never misses an item, and never looks at the memory of a smaller table.
TEST_F(GroupTables, AnswerSearchesWhileTheyGrow) {
  Pool pool = Pool::create(path);
  for (int round = 0; round < 10; ++round) {
    GroupTable table = GroupTable::create(pool, "a", {.cells = 1, .group_size = 64, .overwrite = true});
    for (std::uint64_t key = 0; key < 80; ++key) table.insert(key, key);
    std::atomic<bool> ends = false;
    std::atomic<unsigned> missed = 0;
    std::latch begun(3);
    std::vector<std::thread> readers;
    for (unsigned t = 0; t < 2; ++t) {
      readers.emplace_back([&, t] {
        begun.arrive_and_wait();
        for (std::uint64_t i = t; !ends; ++i) {
          if (table.find(i % 80) != i % 80) ++missed;
          if (i % 64 == 0 && table.size() != 80) ++missed;
        }
      });
    }
    begun.arrive_and_wait();
    while (table.cells() < 1 << 15) table.reserve(table.cells() + 1);
    ends = true;
    for (std::thread& reader : readers) reader.join();
    EXPECT_EQ(missed, 0u);
  }
}

/// An assignment of a wide value needs a second cell.
TEST_F(GroupTables, KeepTheOldValueWhereTheMediumIsFull) {
  Pool pool = Pool::create(path);
  GroupTable table = GroupTable::create(pool, "a", {.item_bytes = 32, .cells = 1, .group_size = 64});
  const NoSpaceLeft full;
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

TEST_F(GroupTables, NameDamagedWords) {
  make(kGroupForms.front());
  ASSERT_TRUE(errors().empty());
  // The bit of a cell of level 1 that no item has: its key, 0, belongs elsewhere.
  const std::uint64_t group_words = 8 + 128 * 2;
  unsigned noticed = 0;
  for (std::uint64_t group = 0; group < 4; ++group) {
    for (const std::uint64_t bit : {3u, 40u}) {
      const std::uint64_t at = group * group_words;
      const std::string found = found_with(at, word(at) ^ std::uint64_t{1} << bit);
      if (found.empty()) continue;
      EXPECT_NE(found.find("group " + std::to_string(group) + ": occupancy word"), std::string::npos) << found;
      EXPECT_NE(found.find("damaged"), std::string::npos) << found;
      ++noticed;
    }
  }
  EXPECT_GE(noticed, 2u);  // of the cells that no item has
  put(group_words + 5, 1);
  Pool salvaged = Pool::open(path, {.read_only = true, .salvage = true});
  EXPECT_EQ(GroupTable::open(salvaged, "a").check().errors.size(), 1u);
  salvaged.close();
  EXPECT_EQ(errors(), std::vector<std::string>{"group 1: word 5, behind its occupancy words, is not zero"});
  put(group_words + 5, 0);
  EXPECT_TRUE(errors().empty());
}

}  // namespace
}  // namespace holdfast::test
