// cell_table_test.cpp: linear probing, PFHT and path hashing alone: their persists counted; how full they become; damage of their words.
#include <cstdio>
#include <string>
#include <vector>

#include "scheme_fixture.hpp"
#include "structures/cells/shape.hpp"
#include "support/child.hpp"
#include "support/errors.hpp"

namespace holdfast::test {
namespace {

class CellTables : public SchemeTest {};

/// Each kind of damage that can be noticed, by its name.
TEST_P(CellTables, NameDamage) {
  make(form);
  ASSERT_EQ(errors(), std::vector<std::string>{});
  EXPECT_EQ(word(cells::word::kCount), 200u);
  const auto names = [&](std::uint64_t number, std::uint64_t value, const char* part) {
    const std::string what = found_with(number, value);
    EXPECT_NE(what.find(part), std::string::npos) << "word " << number << ": " << what;
  };
  names(cells::word::kCount, 199, "it says that it has 199 items, and has 200");
  names(cells::word::kCount, 1 << 20, "more items than cells");
  names(cells::word::kState, 7, form.is_durable ? "state 7, which there is not" : "has no log");
  names(cells::word::kState, 1, form.is_durable ? "not void" : "has no log");
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
TEST_P(CellTables, RefuseADamagedEntry) {
  in_killed_child([&] {
    Pool pool = Pool::create(path);
    HashTable table = form.create(pool, "a", {.cells = 16, .seed = 5});
    table.insert(1, 1);
    raise(SIGKILL);
  });
  const auto refused_with = [&](std::uint64_t number, std::uint64_t value, std::uint64_t state) {
    put(cells::word::kState, state);
    const std::uint64_t before = word(number);
    put(number, value);
    Pool pool = Pool::open(path);
    const std::string what = error_of<PoolCorrupt>([&] { open(pool); });
    EXPECT_NE(what.find(":a is damaged: "), std::string::npos) << what;
    pool.close();
    put(number, before);
    put(cells::word::kState, 0);
    return what;
  };
  if (!form.is_durable) {
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

TEST_P(CellTables, PersistAsOftenAsTheyMust) {
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
      takes(form.is_durable ? 3 : 1, form.is_durable ? 3 : 2, form.is_durable ? 3 : 1, operation);
    };
    for (std::uint64_t i = 1; i < 2000; ++i) {
      counted([&] { table.insert(wide(i).data(), wide(i).data()); });
      EXPECT_EQ(moved, 0u) << "an insert takes three";
      takes(0, 0, 0, [&] { table.insert(wide(i).data(), wide(i).data()); });
      Wide value;
      takes(0, 0, 0, [&] { table.find(wide(i).data(), value.data()); });
      takes(form.is_durable ? 3 : 1, form.is_durable ? 3 : 1, 0, [&] { table.assign(wide(i).data(), wide(1).data()); });
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
TEST_P(CellTables, BecomeAsFullAsTheyShould) {
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
  const Folder folder;
  Pool pool = Pool::create(folder / "a.hold");
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

INSTANTIATE_TEST_SUITE_P(All, CellTables, testing::ValuesIn(kCellForms), kFormName);

}  // namespace
}  // namespace holdfast::test
