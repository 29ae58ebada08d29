// scheme_table_test.cpp: tables of each form in a pool: filled, grown, opened again; their persists counted; how full they become.
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <latch>
#include <map>
#include <set>
#include <thread>
#include <vector>

#include "scheme_fixture.hpp"
#include "support/random.hpp"

namespace holdfast::test {
namespace {

class SchemeTables : public SchemeTest {};

TEST_P(SchemeTables, KeepItemsOfBothSizes) {
  Pool pool = Pool::create(path);
  for (const std::uint32_t bytes : {16u, 32u}) {
    const std::string name = std::to_string(bytes);
    constexpr std::uint64_t kItems = 3000;
    {
      HashTable table = form.create(pool, name, {.item_bytes = bytes, .cells = 1, .flush = true});
      EXPECT_EQ(table.key_bytes(), bytes / 2);
      EXPECT_EQ(table.survives_crashes(), form.undo_log);
      ASSERT_NO_FATAL_FAILURE(insert_and_change(table, kItems));
      EXPECT_GE(table.cells(), kItems);
      EXPECT_EQ(table.check().errors, std::vector<std::string>{});
    }
    HashTable table = form.open(pool, name, {.item_bytes = 0});
    ASSERT_NO_FATAL_FAILURE(expect_changed(table, kItems));
    const std::uint64_t cells = table.cells();
    table.clear();
    EXPECT_EQ(table.size(), 0u);
    EXPECT_EQ(table.cells(), cells);
    EXPECT_EQ(table.insert(wide(1).data(), wide(1).data()), Status::inserted);
  }
  EXPECT_EQ(pool.check().errors, std::vector<std::string>{});
}

TEST_P(SchemeTables, TakeEveryKey) {
  Pool pool = Pool::create(path);
  for (const std::uint32_t bytes : {16u, 32u}) {
    HashTable table = form.create(pool, std::to_string(bytes), {.item_bytes = bytes, .cells = 1});
    constexpr std::uint64_t kWords[] = {0, 1, ~std::uint64_t{0}, ~std::uint64_t{0} - 1, std::uint64_t{1} << 63};
    std::vector<Wide> keys;
    for (const std::uint64_t first : kWords) {
      for (const std::uint64_t second : {std::uint64_t{0}, std::uint64_t{1}, ~std::uint64_t{0}}) {
        if (bytes == 32 || second == 0) keys.push_back({first, second});
      }
    }
    for (const Wide& key : keys) {
      Wide value = {};
      EXPECT_EQ(table.find(key.data(), value.data()), Status::not_found);
      EXPECT_EQ(table.insert(key.data(), key.data()), Status::inserted);
      EXPECT_EQ(table.insert(key.data(), value.data()), Status::exists);
      EXPECT_EQ(table.find(key.data(), value.data()), Status::found);
      EXPECT_EQ(value[0], key[0]);
    }
    while (table.cells() < 1000) table.reserve(table.cells() + 1);
    EXPECT_EQ(table.size(), keys.size());
    EXPECT_EQ(table.check().errors, std::vector<std::string>{});
    std::set<Wide> seen;
    table.for_each([&](const void* key, const void*) {
      const auto* const words = static_cast<const std::uint64_t*>(key);
      seen.insert({words[0], bytes == 32 ? words[1] : 0});
      return true;
    });
    EXPECT_EQ(seen, std::set<Wide>(keys.begin(), keys.end()));
    for (const Wide& key : keys) EXPECT_EQ(table.erase(key.data()), Status::erased);
    EXPECT_EQ(table.size(), 0u);
  }
}

TEST_P(SchemeTables, PersistAsOftenAsTheyMust) {
  PersistCounter persists;
  Pool pool = Pool::create(path);
  for (const std::uint32_t bytes : {16u, 32u}) {
    HashTable table = form.create(pool, std::to_string(bytes), {.item_bytes = bytes, .cells = 4096, .flush = true});
    table.insert(wide(0).data(), wide(0).data());  // and the clean mark is cleared
    const std::uint64_t cells = table.cells();
    unsigned moved = 0;
    /// `fences` and `lines` of a change that moves no item, and at least `of_move` lines for each item that it moves.
    const auto takes = [&](unsigned fences, unsigned lines, unsigned of_move, const auto& operation) {
      const PersistCounter::Counts before = persists.counts;
      operation();
      const unsigned all_fences = persists.counts.fences - before.fences;
      const unsigned all_lines = persists.counts.lines - before.lines;
      EXPECT_EQ(persists.counts.twice, before.twice) << "each line once";
      if (fences == 0) {
        EXPECT_EQ(all_fences + all_lines, 0u);
        return;
      }
      ASSERT_EQ(all_fences % fences, 0u);
      const unsigned moves = all_fences / fences - 1;
      moved += moves;
      EXPECT_GE(all_lines, lines + moves * of_move);
      EXPECT_LE(all_lines, lines + moves * (of_move + 1) + (is("pfht") ? 1 : 0));  // a displaced item: one line more
    };
    const auto counted = [&](const auto& operation) {
      takes(form.undo_log ? 3 : 1, form.undo_log ? 3 : 2, form.undo_log ? 3 : 1, operation);
    };
    for (std::uint64_t i = 1; i < 2000; ++i) {
      counted([&] { table.insert(wide(i).data(), wide(i).data()); });
      EXPECT_EQ(moved, 0u) << "an insert takes three";
      takes(0, 0, 0, [&] { table.insert(wide(i).data(), wide(i).data()); });
      Wide value;
      takes(0, 0, 0, [&] { table.find(wide(i).data(), value.data()); });
      takes(form.undo_log ? 3 : 1, form.undo_log ? 3 : 1, 0, [&] { table.assign(wide(i).data(), wide(1).data()); });
      if (i % 2 == 0) counted([&] { table.erase(wide(i).data()); });
      moved = 0;
      if (i % 2 == 0) counted([&] { table.insert_new(wide(i).data(), wide(i).data()); });
    }
    unsigned in_erases = 0;
    for (std::uint64_t i = 1; i < 1000; ++i) {
      moved = 0;
      counted([&] { table.erase(wide(i).data()); });
      in_erases += moved;
    }
    EXPECT_EQ(table.cells(), cells);
    if (is("linear")) {
      EXPECT_GT(in_erases, 100u);
    } else {
      EXPECT_EQ(in_erases, 0u);
    }
    EXPECT_EQ(table.check().errors, std::vector<std::string>{});
  }
}

/// Load factors at the first failure: PFHT 0.95, path hashing 0.94 (the paper's Figure 7 has path hashing a little fuller).
TEST_P(SchemeTables, BecomeAsFullAsTheyShould) {
  Pool pool = Pool::create(path);
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    HashTable table = form.create(pool, "a", {.cells = 1 << 14, .seed = seed, .overwrite = true});
    const std::uint64_t cells = table.cells();
    std::uint64_t key = 1;
    while (table.insert_new(key, key) == Status::inserted && table.cells() == cells) ++key;
    const double load = static_cast<double>(key - 1) / static_cast<double>(cells);
    std::printf("%s, seed %d: %.4f of %d cells\n", form.name, static_cast<int>(seed), load, static_cast<int>(cells));
    if (is("linear")) {
      EXPECT_EQ(key - 1, cells / 16 * 15);
    } else {
      EXPECT_GT(load, 0.9);
      EXPECT_LT(load, 0.99);
    }
    EXPECT_EQ(table.check().errors, std::vector<std::string>{});
    EXPECT_EQ(table.size(), key);
  }
}

/// The items of PFHT's stash are in its first cells, although hundreds come and go: inserts and erases search for their end by halves.
TEST(PfhtStash, HasItsItemsInItsFirstCells) {
  const std::string path = "/dev/shm/holdfast-stash-" + std::to_string(getpid()) + ".hold";
  {
    Pool pool = Pool::create(path);
    PfhtTable table = PfhtTable::create(pool, "a", {.cells = 1 << 14, .seed = 3});
    const std::uint64_t cells = table.cells(), items = cells / 1000 * 945;
    for (std::uint64_t key = 1; key <= items; ++key) ASSERT_EQ(table.insert(key, key), Status::inserted);
    ASSERT_EQ(table.cells(), cells) << "it has grown, and its stash is short";
    for (unsigned round = 0; round < 3; ++round) {
      for (std::uint64_t key = 1 + round; key <= items; key += 7) ASSERT_EQ(table.erase(key), Status::erased);
      EXPECT_EQ(table.check().errors, std::vector<std::string>{});
      for (std::uint64_t key = 1; key <= items; ++key) ASSERT_EQ(table.find(key).has_value(), key % 7 != 1 + round);
      for (std::uint64_t key = 1 + round; key <= items; key += 7) ASSERT_EQ(table.insert(key, key), Status::inserted);
    }
    EXPECT_EQ(table.check().errors, std::vector<std::string>{});
    EXPECT_EQ(table.size(), items);
  }
  std::filesystem::remove(path);
}

#if defined(HOLDFAST_SANITIZED)
constexpr std::uint64_t kSchemeRounds = 200;
#else
constexpr std::uint64_t kSchemeRounds = 1500;
#endif

/// Threads change and search keys that only they change and a few that they share, while the table grows under them.
TEST_P(SchemeTables, AreOneTableForAllThreads) {
  constexpr unsigned kThreads = 3;
  Pool pool = Pool::create(path);
  HashTable table = form.create(pool, "a", {.item_bytes = 32, .cells = 1});
  std::latch begin(kThreads);
  std::vector<std::thread> threads;
  std::vector<std::string> wrong(kThreads);
  for (unsigned t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      begin.arrive_and_wait();
      Random random(t);
      for (std::uint64_t i = 0; i < kSchemeRounds; ++i) {
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
        if (table.find(shared.data(), value.data()) == Status::found && value != wide(value[0])) {
          wrong[t] = "a value is torn";
        }
        const std::uint64_t old = 1000 + random.below(i + 1) * kThreads + t;
        if (table.find(wide(old).data(), value.data()) != Status::found || value[0] != old) {
          wrong[t] = "its own key is lost";
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::string& what : wrong) EXPECT_EQ(what, "");
  EXPECT_GE(table.size(), kSchemeRounds * kThreads);
  EXPECT_LE(table.size(), kSchemeRounds * kThreads + 8);
  EXPECT_EQ(table.check().errors, std::vector<std::string>{});
}

/// A visit sees each item once, while items move and the table grows.
TEST_P(SchemeTables, CopyEveryItemOnceWhileItemsMove) {
  Pool pool = Pool::create(path);
  HashTable table = form.create(pool, "a", {.cells = 1100});
  for (std::uint64_t key = 0; key < 1000; ++key) table.insert(key, key);
  std::map<std::uint64_t, unsigned> seen;
  table.for_each([&](const void* key, const void*) {
    const std::uint64_t number = *static_cast<const std::uint64_t*>(key);
    ++seen[number];
    if (number % 10 == 0) table.erase(number);
    if (number % 200 == 0) table.reserve(table.cells() + 1);
    return true;
  });
  EXPECT_EQ(seen.size(), 1000u);
  for (const auto& [key, times] : seen) EXPECT_EQ(times, 1u) << key;
  EXPECT_EQ(table.size(), 900u);
  EXPECT_EQ(table.check().errors, std::vector<std::string>{});
}

INSTANTIATE_TEST_SUITE_P(All, SchemeTables, testing::ValuesIn(kForms), kFormName);

}  // namespace
}  // namespace holdfast::test
