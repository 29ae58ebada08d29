// group_table_test.cpp: group tables in a pool: filled, grown, opened again, killed, and their persists counted.
#include <atomic>
#include <latch>
#include <map>
#include <thread>
#include <vector>

#include "core/hash.hpp"
#include "group_fixture.hpp"
#include "structures/group/shape.hpp"
#include "support/random.hpp"

namespace holdfast::test {
namespace {

TEST_F(GroupTables, KeepItemsOfBothSizesAndEveryGroupSize) {
  Pool pool = Pool::create(path);
  for (const std::uint32_t bytes : {16u, 32u}) {
    for (const std::uint32_t group : {64u, 128u, 256u, 512u, 1024u}) {
      const std::string name = std::to_string(bytes) + "-" + std::to_string(group);
      constexpr std::uint64_t kItems = 3000;
      {
        GroupTable table =
            GroupTable::create(pool, name, {.item_bytes = bytes, .cells = 1, .group_size = group, .flush = true});
        EXPECT_EQ(table.cells(), 2 * group);
        EXPECT_EQ(table.key_bytes(), bytes / 2);
        ASSERT_NO_FATAL_FAILURE(insert_and_change(table, kItems));
        EXPECT_GT(table.cells(), kItems);
        EXPECT_TRUE(table.check().errors.empty());
      }
      GroupTable table = GroupTable::open(pool, name);
      EXPECT_EQ(table.group_size(), group);
      ASSERT_NO_FATAL_FAILURE(expect_changed(table, kItems));
      table.clear();
      EXPECT_EQ(table.size(), 0u);
    }
  }
  EXPECT_TRUE(pool.check().errors.empty());
}

TEST_F(GroupTables, TakeEveryKey) {
  Pool pool = Pool::create(path);
  GroupTable table = GroupTable::create(pool, "a", {.cells = 1});
  constexpr std::uint64_t kKeys[] = {0, 1, ~std::uint64_t{0}, ~std::uint64_t{0} - 1, std::uint64_t{1} << 63};
  for (const std::uint64_t key : kKeys) {
    EXPECT_FALSE(table.find(key));
    EXPECT_EQ(table.insert(key, ~key), Status::inserted);
    EXPECT_EQ(table.find(key), ~key);
  }
  for (const std::uint64_t key : kKeys) EXPECT_EQ(table.erase(key), Status::erased);
  EXPECT_EQ(table.size(), 0u);
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

#if defined(HOLDFAST_SANITIZED)
constexpr std::uint64_t kRounds = 300;
#else
constexpr std::uint64_t kRounds = 4000;
#endif

/// Threads change and search keys of their own and a few that they share, while the table grows under them.
TEST_F(GroupTables, AreOneTableForAllThreads) {
  constexpr unsigned kThreads = 4;
  Pool pool = Pool::create(path);
  for (const std::uint32_t bytes : {16u, 32u}) {
    GroupTable table =
        GroupTable::create(pool, std::to_string(bytes), {.item_bytes = bytes, .cells = 1, .group_size = 64});
    std::latch begin(kThreads);
    std::vector<std::thread> threads;
    std::vector<std::string> wrong(kThreads);
    for (unsigned t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        begin.arrive_and_wait();
        Random random(t);
        for (std::uint64_t i = 0; i < kRounds; ++i) {
          const std::uint64_t own = 1000 + i * kThreads + t;
          if (table.insert(wide(own).data(), wide(own).data()) != Status::inserted) wrong[t] = "its own key is there";
          const Wide shared = wide(random.below(8));
          switch (random.below(4)) {
            case 0: table.insert(shared.data(), wide(random.below(1000)).data()); break;
            case 1: table.assign(shared.data(), wide(random.below(1000)).data()); break;
            case 2: table.erase(shared.data()); break;
            default: break;
          }
          Wide value = {};
          if (table.find(shared.data(), value.data()) == Status::found && bytes == 32 && value != wide(value[0])) {
            wrong[t] = "a value is torn";
          }
          const std::uint64_t old = 1000 + random.below(i + 1) * kThreads + t;
          if (table.find(wide(old).data(), value.data()) != Status::found || value[0] != old)
            wrong[t] = "its own key is lost";
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (const std::string& what : wrong) EXPECT_EQ(what, "");
    EXPECT_GE(table.size(), kRounds * kThreads);
    EXPECT_LE(table.size(), kRounds * kThreads + 8);
    EXPECT_TRUE(table.check().errors.empty());
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

TEST_F(GroupTables, CopyEveryItemOnceWhileTheyGrow) {
  Pool pool = Pool::create(path);
  GroupTable table = GroupTable::create(pool, "a", {.cells = 4096, .group_size = 64});
  for (std::uint64_t key = 0; key < 1000; ++key) table.insert(key, key);
  std::map<std::uint64_t, unsigned> seen;
  std::uint64_t visits = 0;
  table.for_each([&](const void* key, const void*) {
    const std::uint64_t number = *static_cast<const std::uint64_t*>(key);
    if (number < 1000) ++seen[number];
    if (++visits % 100 == 0 && visits < 500) table.reserve(table.cells() * 2);
    return true;
  });
  EXPECT_EQ(table.cells(), 4096u * 16);
  EXPECT_EQ(seen.size(), 1000u);
  for (const auto& [key, times] : seen) EXPECT_EQ(times, 1u) << key;
  EXPECT_EQ(inspect(path).objects.at(0).extents.size(), 2u);
}

}  // namespace
}  // namespace holdfast::test
