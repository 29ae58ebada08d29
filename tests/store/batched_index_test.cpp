// batched_index_test.cpp: a store's engine over an index that has batches only: changes that wait in host memory, and searches in two steps.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "holdfast/strings.hpp"
#include "store/batched_kit.hpp"

namespace holdfast::store::cpu {
namespace {

TEST_F(BatchedIndex, ABatchOfTheStoreIsAFewOfTheIndex) {
  constexpr std::size_t kRows = 3000;
  Heap heap(8);
  Engine engine(mapped(heap), {}, options());
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < kRows; ++i) texts.push_back("key " + std::to_string(i));
  const Strings keys(texts);
  StandIn::calls = 0;
  EXPECT_EQ(set_rows_of_engine(engine, keys, keys), std::vector<Change>(kRows, Change::inserted));
  EXPECT_EQ(StandIn::calls, 1u) << "a search";
  EXPECT_EQ(set_rows_of_engine(engine, keys, keys), std::vector<Change>(kRows, Change::replaced));
  StandIn::calls = 0;
  const auto values = get_rows_of_engine(engine, keys);
  EXPECT_LE(StandIn::calls, 20u);
  for (std::size_t i = 0; i < kRows; ++i) ASSERT_EQ(values[i], texts[i]);
  EXPECT_EQ(engine.size(), kRows);
}

TEST_F(BatchedIndex, RowsOfOneKeyTakeEffectInTheirOrder) {
  Heap heap(4);
  Engine engine(mapped(heap), {}, options());
  const Strings keys(std::vector<std::string>{"a", "b", "a", "c", "a", "b"}),
      values(std::vector<std::string>{"1", "2", "3", "4", "5", "6"});
  StandIn::calls = 0;
  const std::vector<Change> changes = set_rows_of_engine(engine, keys, values);
  EXPECT_EQ(StandIn::calls, 1u) << "a search";
  using enum Change;
  EXPECT_EQ(changes, (std::vector<Change>{inserted, inserted, replaced, inserted, replaced, replaced}));
  EXPECT_EQ(get(engine, "a"), "5");
  EXPECT_EQ(get(engine, "b"), "6");
  std::uint64_t items = 0;
  EXPECT_EQ(engine.verify(10, items), std::vector<std::string>());
  EXPECT_EQ(items, 3u) << "an item that was replaced lives";
}

/// Rows of one key: `s` sets it to its place, `+` counts, `-` erases, `t` touches, `?` reads. The answers, one a row.
std::string run_rows_of_one_key(
    Engine& engine, const std::string& rows, const std::function<void()>& at_read = [] {}) {
  std::string answers(rows.size(), ' '), values(rows.size(), ' ');
  for (std::size_t i = 0; i < rows.size(); ++i) values[i] = static_cast<char>('0' + i % 10);
  const auto ask = [&](std::size_t i) {
    Ask its;
    its.content.key = bytes_of(rows).data();  // any bytes that stay
    its.content.key_bytes = 1;
    its.content.value = reinterpret_cast<const std::byte*>(&values[i]);
    its.content.value_bytes = 1;
    its.number = 1;
    using Kind = Ask::Kind;
    its.kind = rows[i] == '+' ? Kind::count : rows[i] == '-' ? Kind::erase : rows[i] == 't' ? Kind::touch : Kind::set;
    if (its.kind == Kind::touch) its.number = std::uint64_t{1} << 44;
    return its;
  };
  const auto letter_of = [](Change change) {
    return change == Change::inserted    ? 'i'
           : change == Change::replaced  ? 'r'
           : change == Change::erased    ? 'e'
           : change == Change::touched   ? 't'
           : change == Change::not_found ? 'n'
                                         : '!';
  };
  const std::vector<std::span<const std::byte>> keys(rows.size(), bytes_of(rows).first(1));
  Engine::Group group(engine);
  const auto words = [&](std::size_t i) { return rows[i] == '?' ? Engine::Group::kNoCell : group.words_of(ask(i)); };
  group.run(keys, rows.size(), words, [&](std::size_t i) {
    std::uint64_t number = 0;
    if (rows[i] != '?') {
      answers[i] = letter_of(group.change(ask(i), number));
      return;
    }
    const bool found = group.read([&](const Header& header, State, std::uint64_t sequence, const Cell& cell) {
      std::string value(header.value_bytes, ' ');
      answers[i] =
          engine.copy_value(header, sequence, cell, reinterpret_cast<std::byte*>(value.data())) ? value[0] : '!';
      return true;
    });
    at_read();
    if (!found) answers[i] = '.';
  });
  return answers;
}

/// The index that takes the place of one that fails between changes of a key names an item that the next change replaces.
TEST_F(BatchedIndex, TheIndexMayFailBetweenChangesOfOneKey) {
  for (const char* const rows : {"s?s", "s?-", "s?-s", "s?t", "ss?s-?s"}) {
    StandIn::calls_left = -1;
    Heap heap(2);
    Engine engine(mapped(heap), {}, options());
    set(engine, "other", "1");
    run_rows_of_one_key(engine, rows, [&] {
      StandIn::calls_left = 0;
      EXPECT_EQ(get(engine, "other"), "1");
    });
    EXPECT_FALSE(engine.index().is_batched());
    const bool is_there = std::string(rows) != "s?-";
    EXPECT_EQ(get(engine, "s").has_value(), is_there);
    EXPECT_EQ(engine.size(), is_there ? 2u : 1u) << rows;
    std::uint64_t items = 0;
    EXPECT_EQ(engine.verify(10, items), std::vector<std::string>());
    EXPECT_EQ(items, engine.size());
  }
}

TEST_F(BatchedIndex, ChangesAndReadsOfOneKeyNeedOneSearch) {
  const char* const cases[][2] = {{"s?s?+?-?t+s?", "i0r2r3e.nni0"},
                                  {"?-s-s-",
                                   "."
                                   "nieie"},
                                  {"st?", "it0"},
                                  {"-?-", "n.n"}};
  for (const bool is_there : {false, true}) {
    for (const auto& [rows, answers] : cases) {
      Heap heap(2);
      Engine engine(mapped(heap), {}, options());
      std::string expected = answers;
      if (is_there) {
        set(engine, std::string(rows, 1), "7");
        if (expected[0] == 'i') expected[0] = 'r';
        if (rows[0] == '-') expected[0] = 'e';
        if (rows[0] == '?') expected.replace(0, 2, "7e");
      }
      StandIn::calls = 0;
      EXPECT_EQ(run_rows_of_one_key(engine, rows), expected) << rows << is_there;
      EXPECT_LE(StandIn::calls, is_there ? 6u : 1u)
          << rows;  // a search of its own, for a row behind one that erased the key
      std::uint64_t items = 0;
      EXPECT_EQ(engine.verify(10, items), std::vector<std::string>());
      EXPECT_EQ(items, engine.size());
      EXPECT_EQ(get(engine, std::string(rows, 1)).has_value() ? 1u : 0u, items);
    }
  }
}

/// The batch of searches names one location of each signature, which may be another key's.
TEST_F(BatchedIndex, KeysOfOneSignatureAreChanged) {
  EngineOptions few = options();
  few.index.signature_bits = 6;
  Heap heap(4);
  Engine engine(mapped(heap), {}, few);
  std::vector<std::string> texts;
  for (int i = 0; i < 60; ++i) texts.push_back("key " + std::to_string(i));
  const Strings keys(texts);
  EXPECT_EQ(set_rows_of_engine(engine, keys, keys), std::vector<Change>(60, Change::inserted));
  EXPECT_EQ(set_rows_of_engine(engine, keys, keys), std::vector<Change>(60, Change::replaced));
  EXPECT_EQ(engine.size(), 60u);
}

/// A search in two steps, between which the index may fail.
TEST_F(BatchedIndex, SearchesInTwoSteps) {
  for (const auto& [fails_at, shards] : {std::pair(-1, 1), {0, 1}, {-1, 3}, {0, 3}, {1, 3}, {2, 3}}) {
    for (const bool fails_between : {false, true}) {
      StandIn::calls_left = -1;
      Heap heap(4);
      Engine engine(mapped(heap), {}, options(shards));
      std::vector<std::string> texts;
      for (int i = 0; i < 100; ++i) texts.push_back("key " + std::to_string(i));
      const Strings keys(std::vector<std::string>(texts.begin(), texts.begin() + 60)), all(texts);
      set_rows_of_engine(engine, keys, keys);
      Engine::Lookup lookup;
      for (int round = 0; round < 3; ++round) {
        lookup.begin(engine, engine_rows(all), all.size());
        if (fails_between) {
          StandIn::calls_left = fails_at;
          EXPECT_EQ(get(engine, "key 1"), "key 1");
        }
        StandIn::calls_left = fails_at;
        lookup.finish();
        const auto any = [](const Header&, State, std::uint64_t, const Cell&) { return true; };
        lookup.run(engine_rows(all), [&](std::size_t i, const auto& look) {
          const Look found = look(any);
          if (found == Look::again) return found;  // the next look is by the index that took the other's place
          EXPECT_EQ(found, i < 60 ? Look::found : Look::absent) << i;
          return found;
        });
      }
    }
  }
}

TEST_F(BatchedIndex, AnEngineMayEndAmidASearch) {
  Heap heap(4);
  const Strings keys(std::vector<std::string>{"a", "b"});
  Engine::Lookup lookup, ends;
  for (const std::size_t shards : {1, 3, 2}) {
    const auto engine = std::make_unique<Engine>(mapped(heap), pool::Persist(), options(shards));
    set_rows_of_engine(*engine, keys, keys);
    lookup.begin(*engine, engine_rows(keys), 2);
    lookup.finish();
    lookup.begin(*engine, engine_rows(keys), 2);
    if (shards == 2) ends.begin(*engine, engine_rows(keys), 2);
  }
}

/// What was looked up for a row is old when the row is executed, and may count again for a later row: the item may have come back to its cell.
TEST_F(BatchedIndex, ReadsOfOneKeyDoNotGoBack) {
  Heap heap(4);
  Engine engine(mapped(heap), {}, options());
  const auto cell_of_key = [&] {
    Location found;
    engine.read(bytes_of("key"), [&](const Header&, State, std::uint64_t, const Cell& cell) {
      found = cell.location;
      return true;
    });
    return found;
  };
  int newest = 0;
  const auto next = [&] { set(engine, "key", std::to_string(++newest)); };
  next();
  const Location first = cell_of_key();
  const Strings keys(std::vector<std::string>{"key", "key"});
  Engine::Lookup lookup;
  lookup.look_up(engine, engine_rows(keys), keys.size());
  next();
  ASSERT_NE(cell_of_key(), first);
  std::uint64_t numbers[2] = {};
  unsigned calls = 0;
  lookup.run(engine_rows(keys), [&](std::size_t row, const auto& look) {
    const Look found = look([&](const Header&, State, std::uint64_t sequence, const Cell&) {
      numbers[row] = sequence;
      return true;
    });
    if (calls++ == 0) {
      for (int i = 0; i < 100'000 && !(cell_of_key() == first); ++i) next();
      EXPECT_EQ(cell_of_key(), first);
    }
    return found;
  });
  EXPECT_LE(numbers[0], numbers[1]);
  EXPECT_GT(numbers[0], 0u);
}

/// The key has an item when the first row is executed.
TEST_F(BatchedIndex, ReadsOfANewKeyDoNotGoBack) {
  for (const bool is_flushed : {false, true}) {
    Heap heap(4);
    Engine engine(mapped(heap), {}, options());
    const Strings keys(std::vector<std::string>{"key", "key"});
    Engine::Lookup lookup, next;
    lookup.look_up(engine, engine_rows(keys), keys.size());
    next.look_up(engine, engine_rows(keys), keys.size());
    set(engine, "key", "1");
    if (is_flushed) engine.index().flush();
    const auto any = [](const Header&, State, std::uint64_t, const Cell&) { return true; };
    LookedAgain again;
    for (Engine::Lookup* const each : {&lookup, &next}) {
      each->run(engine_rows(keys), keys.size(), again, [&](std::size_t, const auto& look) {
        const Look found = look(any);
        EXPECT_EQ(found, Look::found);
        return found;
      });
    }
  }
}

/// Replaced cells are free at once.
TEST_F(BatchedIndex, AFullHeapTakesWhatReplaces) {
  Heap heap(2);
  Engine engine(mapped(heap), {}, options());
  std::vector<std::string> texts;
  for (int i = 0; i < 64; ++i) texts.push_back("key " + std::to_string(i));
  const Strings keys(texts), values(std::vector<std::string>(64, std::string(60'000, 'v')));
  const std::vector<Change> first = set_rows_of_engine(engine, keys, values);
  const auto held = static_cast<std::size_t>(std::count(first.begin(), first.end(), Change::inserted));
  EXPECT_GT(held, 20u);
  EXPECT_EQ(static_cast<std::size_t>(std::count(first.begin(), first.end(), Change::no_space)), 64 - held);
  EXPECT_EQ(engine.erase(bytes_of("key 0")), Change::erased);
  const Strings some(std::vector<std::string>(texts.begin() + 1, texts.begin() + static_cast<std::ptrdiff_t>(held)));
  const Strings others(std::vector<std::string>(some.size(), std::string(60'000, 'w')));
  EXPECT_EQ(set_rows_of_engine(engine, some, others), std::vector<Change>(some.size(), Change::replaced));
}

}  // namespace
}  // namespace holdfast::store::cpu
