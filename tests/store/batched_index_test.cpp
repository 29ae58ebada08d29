// batched_index_test.cpp: a store's engine over an index that has batches only: changes together, against a map, by several threads, and the CPU's
// index in the place of one that fails amid them.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "holdfast/strings.hpp"
#include "store/cpu/rows.hpp"
#include "store/engine_kit.hpp"

namespace holdfast::store::cpu {
namespace {

ByteRows engine_rows(const Strings& strings) {
  return {reinterpret_cast<const std::byte*>(strings.bytes()), strings.offsets(), strings.size()};
}

std::vector<Change> set_rows_of_engine(Engine& engine, const Strings& keys, const Strings& values) {
  std::vector<Change> changes(keys.size());
  const ByteRows rows = engine_rows(keys), its = engine_rows(values);
  const auto content = [&](std::size_t row) {
    Content content;
    content.key = rows[row].data();
    content.key_bytes = static_cast<std::uint16_t>(rows[row].size());
    content.value = its[row].data();
    content.value_bytes = static_cast<std::uint32_t>(its[row].size());
    return content;
  };
  engine.set(rows, content, Condition::none, [&](std::size_t row, Change change) { changes[row] = change; });
  return changes;
}

std::vector<std::optional<std::string>> get_rows_of_engine(Engine& engine, const Strings& keys) {
  std::vector<std::optional<std::string>> values(keys.size());
  const auto copy = [&](std::size_t row, const Header& header, State, std::uint64_t sequence, const Cell& cell) {
    values[row].emplace(header.value_bytes, '\0');
    return engine.copy_value(header, sequence, cell, reinterpret_cast<std::byte*>(values[row]->data()));
  };
  engine.read(engine_rows(keys), copy, [&](std::size_t row, bool found) {
    if (!found) values[row].reset();
  });
  return values;
}

class BatchedIndex : public testing::Test {
 protected:
  EngineOptions options() const {
    return {.index = {.capacity = 64, .threads = 1, .signature_bits = 16, .huge_pages = false},
            .evicts = false,
            .grow = {},
            .other_index = [](const cuckoo::cpu::CpuOptions& index) { return std::make_unique<StandInIndex>(index); }};
  }
  static Mapped mapped(Heap& heap) { return {heap.view(), heap.record, 0x1234'5678}; }
  void SetUp() override { TearDown(); }
  void TearDown() override {
    StandIn::calls_left = -1;
    StandIn::most_entries = ~std::uint64_t{0};
    StandIn::calls = StandIn::rows = 0;
    StandIn::pause_us = 0;
  }
};

TEST_F(BatchedIndex, ABatchOfTheStoreIsAFewOfTheIndex) {
  constexpr std::size_t kRows = 3000;
  Heap heap(8);
  Engine engine(mapped(heap), {}, options());
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < kRows; ++i) texts.push_back("key " + std::to_string(i));
  const Strings keys(texts);
  StandIn::calls = 0;
  EXPECT_EQ(set_rows_of_engine(engine, keys, keys), std::vector<Change>(kRows, Change::inserted));
  EXPECT_EQ(StandIn::calls, 2u) << "a search and an exchange";
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
  EXPECT_EQ(StandIn::calls, 2u) << "changes of one key are one exchange";
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
    its.kind = rows[i] == '+'   ? Kind::count
               : rows[i] == '-' ? Kind::erase
               : rows[i] == 't' ? Kind::touch
               : rows[i] == '?' ? Kind::read
                                : Kind::set;
    if (its.kind == Kind::touch) its.number = std::uint64_t{1} << 44;
    return its;
  };
  const auto end = [&](std::size_t i, Change change, std::uint64_t) {
    answers[i] = change == Change::inserted    ? 'i'
                 : change == Change::replaced  ? 'r'
                 : change == Change::erased    ? 'e'
                 : change == Change::touched   ? 't'
                 : change == Change::not_found ? 'n'
                                               : '!';
  };
  const auto read = [&](std::size_t i, const auto& look) {
    const auto copy = [&](const Header& header, State, std::uint64_t sequence, const Cell& cell) {
      std::string value(header.value_bytes, ' ');
      answers[i] =
          engine.copy_value(header, sequence, cell, reinterpret_cast<std::byte*>(value.data())) ? value[0] : '!';
      return true;
    };
    const Look seen = look(copy);
    at_read();
    if (seen == Look::absent) answers[i] = '.';
    return seen;
  };
  Engine::Together(engine).run(rows.size(), ask, end, read, [](std::size_t) {});
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

TEST_F(BatchedIndex, ChangesAndReadsOfOneKeyAreOneExchange) {
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
      EXPECT_LE(StandIn::calls, rows[0] == '?' ? 3u : 2u) << rows << is_there;
      std::uint64_t items = 0;
      EXPECT_EQ(engine.verify(10, items), std::vector<std::string>());
      EXPECT_EQ(items, engine.size());
      EXPECT_EQ(get(engine, std::string(rows, 1)).has_value() ? 1u : 0u, items);
    }
  }
}

/// The batch of searches names one location of each signature, which may be another key's.
TEST_F(BatchedIndex, KeysOfOneSignatureAreChangedTogether) {
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
  for (const std::int64_t fails_at : {-1, 0}) {
    for (const bool fails_between : {false, true}) {
      StandIn::calls_left = -1;
      Heap heap(4);
      Engine engine(mapped(heap), {}, options());
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
  for (int round = 0; round < 3; ++round) {
    const auto engine = std::make_unique<Engine>(mapped(heap), pool::Persist(), options());
    set_rows_of_engine(*engine, keys, keys);
    lookup.begin(*engine, engine_rows(keys), 2);
    lookup.finish();
    lookup.begin(*engine, engine_rows(keys), 2);
    if (round == 2) ends.begin(*engine, engine_rows(keys), 2);
  }
}

/// A row that must look again is answered later. Later rows of its key wait for it, although what was looked up for them may count again: the item may
/// have come back to its cell.
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
      EXPECT_EQ(found, Look::again);
      for (int i = 0; i < 100'000 && !(cell_of_key() == first); ++i) next();
      EXPECT_EQ(cell_of_key(), first);
    } else if (found == Look::found) {
      next();
    }
    return found;
  });
  EXPECT_LE(numbers[0], numbers[1]);
  EXPECT_GT(numbers[0], 0u);
}

/// Replaced cells are free at the end of a round: a batch on a full heap makes more rounds.
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

/// What one thread does to keys of its own, and what they must have.
class KeyOwner {
 public:
  KeyOwner(Engine& engine, unsigned number) : engine_(engine), number_(number), random_(number) {}

  void step() {
    switch (random_() % 6) {
      case 0: return set_some();
      case 1: return erase_some();
      case 2: return get_some();
      case 3: return set_one();
      case 4: return erase_one();
      default: return count();
    }
  }
  void verify() {
    for (unsigned i = 0; i < kKeys; ++i) {
      const auto at = map_.find(key(i));
      ASSERT_EQ(get(engine_, key(i)), at == map_.end() ? std::nullopt : std::optional(at->second));
    }
  }
  std::size_t size() const { return map_.size(); }
  std::uint64_t counted() const { return counted_; }
  void erase_all() {
    for (const auto& [key, value] : map_) EXPECT_EQ(engine_.erase(bytes_of(key)), Change::erased);
    map_.clear();
  }

 private:
  static constexpr unsigned kKeys = 40;
  std::string key(std::uint64_t i) const { return std::to_string(number_) + " has " + std::to_string(i % kKeys); }
  std::string value() { return std::string(random_() % 200, static_cast<char>('a' + random_() % 26)); }
  Change apply(const std::string& key, const std::string& value) {
    return map_.insert_or_assign(key, value).second ? Change::inserted : Change::replaced;
  }
  std::vector<std::string> some() {
    std::vector<std::string> keys(1 + random_() % 30);
    for (std::string& one : keys) one = key(random_());
    return keys;
  }
  void set_some() {
    const std::vector<std::string> keys = some();
    std::vector<std::string> values(keys.size());
    for (std::string& one : values) one = value();
    const std::vector<Change> changes = set_rows_of_engine(engine_, Strings(keys), Strings(values));
    for (std::size_t i = 0; i < keys.size(); ++i) ASSERT_EQ(changes[i], apply(keys[i], values[i]));
  }
  void erase_some() {
    const std::vector<std::string> keys = some();
    const Strings rows(keys);
    engine_.erase(engine_rows(rows), [&](std::size_t row, Change change) {
      EXPECT_EQ(change, map_.erase(keys[row]) != 0 ? Change::erased : Change::not_found);
    });
  }
  void get_some() {
    const std::vector<std::string> keys = some();
    const auto values = get_rows_of_engine(engine_, Strings(keys));
    for (std::size_t i = 0; i < keys.size(); ++i) {
      const auto at = map_.find(keys[i]);
      ASSERT_EQ(values[i], at == map_.end() ? std::nullopt : std::optional(at->second));
    }
  }
  void set_one() {
    const std::string one = key(random_()), its = value();
    ASSERT_EQ(set(engine_, one, its), apply(one, its));
  }
  void erase_one() {
    const std::string one = key(random_());
    ASSERT_EQ(engine_.erase(bytes_of(one)), map_.erase(one) != 0 ? Change::erased : Change::not_found);
  }
  /// A key of all.
  void count() {
    std::uint64_t result = 0;
    ASSERT_EQ(engine_.add(bytes_of("count"), 1, false, result), Change::replaced);
    ++counted_;
  }

  Engine& engine_;
  const unsigned number_;
  std::mt19937_64 random_;
  std::map<std::string, std::string> map_;
  std::uint64_t counted_ = 0;
};

/// Several threads change keys, while the index fails at its call number `fails_at`.
void change_while_it_fails(Engine& engine, std::int64_t fails_at, unsigned steps) {
  constexpr unsigned kThreads = 3;
  ASSERT_EQ(set(engine, "count", "0"), Change::inserted);
  StandIn::calls_left = fails_at;
  std::vector<KeyOwner> owners;
  for (unsigned i = 0; i < kThreads; ++i) owners.emplace_back(engine, i + 1);
  std::vector<std::thread> threads;
  for (KeyOwner& owner : owners) {
    threads.emplace_back([&] {
      for (unsigned i = 0; i < steps && !testing::Test::HasFailure(); ++i) owner.step();
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::uint64_t counted = 0, items = 1;
  for (KeyOwner& owner : owners) {
    owner.verify();
    counted += owner.counted();
    items += owner.size();
  }
  EXPECT_EQ(get(engine, "count"), std::to_string(counted));
  EXPECT_EQ(engine.size(), items) << "the index names something twice, or what is dead";
  for (KeyOwner& owner : owners) owner.erase_all();
  std::uint64_t left = 0;
  EXPECT_EQ(engine.verify(10, left), std::vector<std::string>());
  EXPECT_EQ(left, 1u) << "an item lives that the index does not name";
  EXPECT_EQ(engine.size(), 1u);
}

TEST_F(BatchedIndex, ThreadsSeeTheirChanges) {
  Heap heap(8);
  Engine engine(mapped(heap), {}, options());
  change_while_it_fails(engine, -1, 300);
  EXPECT_EQ(engine.index().failure(), "");
}

TEST_F(BatchedIndex, ExchangesOfThreadsThatWaitAreOneBatch) {
  constexpr unsigned kThreads = 4, kTimes = 10, kRows = 20;
  Heap heap(8);
  Engine engine(mapped(heap), {}, options());
  StandIn::pause_us = 3000;
  StandIn::calls = StandIn::rows = 0;
  std::vector<std::jthread> threads;
  for (unsigned thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      std::vector<std::string> texts;
      for (unsigned i = 0; i < kRows; ++i) texts.push_back(std::to_string(thread) + " " + std::to_string(i));
      const Strings keys(texts);
      for (unsigned time = 0; time < kTimes; ++time) {
        const Change expected = time == 0 ? Change::inserted : Change::replaced;
        EXPECT_EQ(set_rows_of_engine(engine, keys, keys), std::vector<Change>(kRows, expected));
      }
    });
  }
  threads.clear();
  EXPECT_EQ(StandIn::rows, 2 * kThreads * kTimes * kRows) << "a search and an exchange of each";
  EXPECT_LT(StandIn::calls, 2 * kThreads * kTimes - kTimes / 2);
  EXPECT_EQ(engine.size(), kThreads * kRows);
}

TEST_F(BatchedIndex, TheCpuTakesThePlaceOfAnIndexThatFails) {
  const std::int64_t calls[] = {0, 1, 2, 3, 5, 8, 13, 30, 31, 32, 33, 77, 100, 101, 150, 213};
  for (const std::int64_t fails_at : calls) {
    Heap heap(8);
    {
      Engine engine(mapped(heap), {}, options());
      ASSERT_NO_FATAL_FAILURE(change_while_it_fails(engine, fails_at, 150)) << fails_at;
      EXPECT_EQ(engine.index().failure(), "the GPU was lost");
      EXPECT_FALSE(engine.index().is_batched());
    }
    StandIn::calls_left = -1;
    Engine again(mapped(heap), {}, options());
    EXPECT_EQ(again.recovered().killed, 0u);
    EXPECT_EQ(again.size(), 1u);
    EXPECT_TRUE(again.index().is_batched());
  }
}

TEST_F(BatchedIndex, TheCpuTakesThePlaceOfAnIndexWithoutMemory) {
  for (const std::uint64_t most : {1, 10, 25, 40}) {
    Heap heap(8);
    Engine engine(mapped(heap), {}, options());
    StandIn::most_entries = most;
    ASSERT_NO_FATAL_FAILURE(change_while_it_fails(engine, -1, 150)) << most;
    EXPECT_EQ(engine.index().failure(), "it has no memory for more entries");
    StandIn::most_entries = ~std::uint64_t{0};
  }
}

TEST_F(BatchedIndex, AnIndexWithoutMemoryForAllItemsIsRefused) {
  Heap heap(4);
  {
    Engine engine(mapped(heap), {}, options());
    for (int i = 0; i < 20; ++i) set(engine, std::to_string(i), "v");
  }
  StandIn::most_entries = 10;
  EXPECT_THROW(Engine(mapped(heap), {}, options()), DeviceError);
}

}  // namespace
}  // namespace holdfast::store::cpu
