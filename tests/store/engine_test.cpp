// engine_test.cpp: a store's operations on CPU threads, over a heap in memory: against a map, reopened, and by several threads.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "holdfast/error.hpp"
#include "store/engine_kit.hpp"

namespace holdfast::store::cpu {
namespace {

TEST_P(EngineTest, KeepsWhatItIsGiven) {
  Heap heap(4);
  Engine engine(mapped(heap), {}, options());
  EXPECT_EQ(set(engine, "a", "1", 7, 0, 2000), Change::inserted);
  Value value;
  EXPECT_EQ(get(engine, "a", &value), "1");
  EXPECT_EQ(value.flags, 7u);
  EXPECT_EQ(value.expiry, 2000u);
  const std::uint64_t first = value.cas;
  EXPECT_EQ(set(engine, "a", "22"), Change::replaced);
  EXPECT_EQ(get(engine, "a", &value), "22");
  EXPECT_GT(value.cas, first) << "the CAS id is the sequence number";
  EXPECT_EQ(set(engine, "a", "3", 0, 0xfeed), Change::replaced);
  EXPECT_EQ(get(engine, "a", &value), "3");
  EXPECT_EQ(value.cas, 0xfeedu);
  EXPECT_EQ(engine.touch(bytes_of("a"), 1234), Change::touched);
  EXPECT_EQ(get(engine, "a", &value), "3");
  EXPECT_EQ(value.expiry, 1234u);
  EXPECT_EQ(engine.touch(bytes_of("b"), 1), Change::not_found);
  EXPECT_EQ(engine.erase(bytes_of("a")), Change::erased);
  EXPECT_EQ(engine.erase(bytes_of("a")), Change::not_found);
  EXPECT_EQ(get(engine, "a"), std::nullopt);
  EXPECT_EQ(set(engine, "", ""), Change::inserted) << "an empty key is a key";
  EXPECT_EQ(get(engine, ""), "");
  EXPECT_EQ(engine.size(), 1u);
}

/// Items that are over when a store is opened lie in free cells: they are not freed again, nor when such a cell is in use.
TEST_P(EngineTest, WhatIsOverAtOpeningIsNotReclaimed) {
  Heap heap(4);
  {
    Engine engine(mapped(heap), {}, options());
    for (int i = 0; i < 40; ++i) set(engine, "old " + std::to_string(i), "1", 0, 0, 2000);
    time_now = 3000;
    engine.now();  // and the store knows it
  }
  Engine engine(mapped(heap), {}, options(true));
  EXPECT_EQ(engine.size(), 0u);
  for (int i = 0; i < 20; ++i) set(engine, "new " + std::to_string(i), "2");
  EXPECT_EQ(engine.reclaim(engine.slabs()), 0u);
  set(engine, "short", "3", 0, 0, 2500);  // so that its piece is looked at
  EXPECT_EQ(engine.reclaim(engine.slabs()), 1u);
  for (int i = 20; i < 60; ++i) set(engine, "new " + std::to_string(i), "2");
  for (int i = 0; i < 60; ++i) EXPECT_EQ(get(engine, "new " + std::to_string(i)), "2");
}

TEST_P(EngineTest, SaysHowLargeAValueIsThatDoesNotFit) {
  Heap heap(2);
  Engine engine(mapped(heap), {}, options());
  set(engine, "a", "0123456789");
  std::string space(4, '-');
  Value value;
  EXPECT_TRUE(engine.get(bytes_of("a"), std::as_writable_bytes(std::span(space)), value));
  EXPECT_EQ(value.bytes, 10u);
  EXPECT_EQ(space, "----");
}

std::string value_of(std::mt19937_64& random) {
  const std::size_t most = random() % 50 == 0 ? 300'000 : random() % 4 == 0 ? 3'000 : 80;
  return std::string(random() % most, static_cast<char>('a' + random() % 26));
}

TEST_P(EngineTest, AnswersAsAMapThroughReopenings) {
  Heap heap(12);
  std::map<std::string, std::string> map;
  std::mt19937_64 random(bits());
  for (int opening = 0; opening < 6; ++opening) {
    Engine engine(mapped(heap), {}, options());
    EXPECT_EQ(engine.size(), map.size());
    EXPECT_EQ(engine.recovered().damaged, 0u);
    EXPECT_EQ(engine.recovered().items, map.size());
    for (const auto& [key, value] : map) ASSERT_EQ(get(engine, key), value) << "after opening " << opening;
    for (int i = 0; i < 1500; ++i) {
      const std::string key = std::string(random() % 40, 'k') + std::to_string(random() % 8);
      const bool there = map.contains(key);
      const auto choice = random() % 4;
      if (choice == 0) {
        ASSERT_EQ(engine.erase(bytes_of(key)), there ? Change::erased : Change::not_found);
        map.erase(key);
      } else if (choice == 1) {
        ASSERT_EQ(get(engine, key), there ? std::optional(map[key]) : std::nullopt);
      } else {
        const std::string value = value_of(random);
        const Change change = set(engine, key, value);
        if (change == Change::no_space) continue;
        ASSERT_EQ(change, there ? Change::replaced : Change::inserted);
        map[key] = value;
      }
    }
  }
}

TEST_P(EngineTest, AFullHeapLosesNothing) {
  Heap heap(2);
  Engine engine(mapped(heap), {}, options());
  std::vector<std::string> keys;
  for (int i = 0; i < 1000; ++i) {
    const std::string key = "key " + std::to_string(i);
    if (set(engine, key, std::string(20'000, 'v')) == Change::no_space) break;
    keys.push_back(key);
  }
  EXPECT_GT(keys.size(), 190u);
  EXPECT_LT(keys.size(), 220u);
  for (const std::string& key : keys) ASSERT_EQ(get(engine, key), std::string(20'000, 'v'));
  for (const std::string& key : keys) ASSERT_EQ(engine.erase(bytes_of(key)), Change::erased);
  EXPECT_EQ(set(engine, "one", std::string(1'000'000, 'w')), Change::inserted) << "pieces go to another class";
  EXPECT_EQ(get(engine, "one"), std::string(1'000'000, 'w'));
  EXPECT_EQ(set(engine, "large", std::string(3'000'000, 'w')), Change::no_space) << "no cell is as large";
}

/// Pieces that lost their items and got others, of their own class and of another, are told apart when the store is opened again.
TEST_P(EngineTest, PiecesThatMovedAreFoundAgain) {
  Heap heap(6);
  Engine engine(mapped(heap), {}, options());
  const auto fill = [&](const std::string& name, std::size_t bytes, int items) {
    for (int i = 0; i < items; ++i) {
      ASSERT_EQ(set(engine, name + std::to_string(i), std::string(bytes, 'v')), Change::inserted) << name << i;
    }
  };
  const auto clear = [&](const std::string& name, int items) {
    for (int i = 0; i < items; ++i) ASSERT_EQ(engine.erase(bytes_of(name + std::to_string(i))), Change::erased);
  };
  const auto reopened = [&](std::uint64_t size) {
    Engine again(mapped(heap), {}, options());
    EXPECT_EQ(again.size(), size);
    EXPECT_EQ(again.recovered().damaged, 0u);
    EXPECT_EQ(get(again, "a1").has_value(), get(engine, "a1").has_value());
  };
  fill("a", 190'000, 50);  // five pieces
  clear("a", 50);
  fill("a", 190'000, 15);  // two of them again
  reopened(15);
  fill("b", 100'000, 60);  // three more, and a new one
  reopened(75);
  clear("a", 15);
  fill("c", 70'000, 30);  // two more that `a` had
  reopened(90);
  EXPECT_EQ(set(engine, "e", std::string(150'000, 'v')), Change::no_space);
  clear("c", 30);
  EXPECT_EQ(set(engine, "e", std::string(150'000, 'v')), Change::inserted);
  reopened(61);
}

TEST_P(EngineTest, SearchesSeeWholeItemsBesideChanges) {
  constexpr unsigned kKeys = 24, kChanges = 4000;
  Heap heap(8);
  Engine engine(mapped(heap), {}, options());
  std::atomic<unsigned> running = 2;
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 2; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937_64 random(t);
      for (unsigned i = 0; i < kChanges; ++i) {
        const std::string key = "key " + std::to_string(random() % kKeys);
        if (random() % 8 == 0) {
          engine.erase(bytes_of(key));
        } else {
          const char letter = static_cast<char>('a' + random() % 26);
          set(engine, key, key + '=' + std::string(random() % 3 == 0 ? 5'000 : random() % 100, letter));
        }
      }
      --running;
    });
  }
  for (unsigned t = 0; t < 2; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937_64 random(100 + t);
      std::string space(6'000, '\0');
      while (running != 0) {
        const std::string key = "key " + std::to_string(random() % kKeys);
        Value seen;
        if (!engine.get(bytes_of(key), std::as_writable_bytes(std::span(space)), seen)) continue;
        const std::string value = space.substr(0, seen.bytes);
        ASSERT_TRUE(value.starts_with(key + '=')) << "another key's value";
        const std::string rest = value.substr(key.size() + 1);
        ASSERT_TRUE(rest.empty() || rest.find_first_not_of(rest[0]) == std::string::npos) << "a torn value";
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::map<std::string, std::string> map;
  for (unsigned k = 0; k < kKeys; ++k) {
    const std::string key = "key " + std::to_string(k);
    if (const auto value = get(engine, key)) map[key] = *value;
  }
  EXPECT_EQ(map.size(), engine.size());
  Engine again(mapped(heap), {}, options());
  EXPECT_EQ(again.size(), map.size());
  EXPECT_EQ(again.recovered().killed, 0u) << "one item of a key is alive when all changes have ended";
  for (const auto& [key, value] : map) EXPECT_EQ(get(again, key), value);
}

TEST_P(EngineTest, NumbersDoNotRepeatAfterReopening) {
  Heap heap(2);
  std::uint64_t last = 0;
  for (int opening = 0; opening < 3; ++opening) {
    Engine engine(mapped(heap), {}, options());
    for (int i = 0; i < 3; ++i) {
      set(engine, "a", "1");
      Value value;
      get(engine, "a", &value);
      EXPECT_GT(value.cas, last);
      last = value.cas;
    }
  }
}

/// As a kill between a commit and the death of the item that it replaced leaves them.
TEST_P(EngineTest, OfTwoItemsOfAKeyTheNewerStays) {
  Heap heap(2);
  {
    Engine engine(mapped(heap), {}, options());
    set(engine, "a", "1");
    set(engine, "other", "3");
    set(engine, "a", "2");
  }
  const heap::View view = heap.view();
  unsigned revived = 0;
  for (std::uint64_t at = view.slab_bytes(); at < view.count * view.slab_bytes(); at += kLineBytes) {
    auto* const cell = reinterpret_cast<std::uint64_t*>(view.base + at);
    if (cell[kSequenceWord] != 1) continue;
    EXPECT_FALSE(State{cell[kStateWord]}.is_live());
    cell[kStateWord] = State::live(0).word;
    ++revived;
  }
  ASSERT_EQ(revived, 1u);
  {
    Engine engine(mapped(heap), {}, options());
    EXPECT_EQ(engine.recovered().killed, 1u);
    EXPECT_EQ(engine.recovered().items, 2u);
    EXPECT_EQ(engine.size(), 2u);
    EXPECT_EQ(get(engine, "a"), "2");
    EXPECT_EQ(engine.erase(bytes_of("a")), Change::erased);
  }
  Engine engine(mapped(heap), {}, options());
  EXPECT_EQ(get(engine, "a"), std::nullopt) << "it does not come back";
  EXPECT_EQ(engine.recovered().killed, 0u);
}

/// A group has 2^15 cells at most, of which some pieces would have a part.
TEST_P(EngineTest, EveryCellHasALocation) {
  Heap heap(24);
  Engine engine(mapped(heap), {}, options_for_many(false));
  const auto name = [](int i) { return "key " + std::to_string(i); };
  int items = 0;
  while (set(engine, name(items), name(items) + std::string(530, 'v')) == Change::inserted) ++items;
  EXPECT_GT(items, 2 * static_cast<int>(kGroupCells)) << "more than two groups";
  for (int i = 0; i < items; i += 3) ASSERT_EQ(get(engine, name(i)), name(i) + std::string(530, 'v'));
  EXPECT_EQ(engine.size(), static_cast<std::uint64_t>(items));
  for (int i = 0; i < items; ++i) ASSERT_EQ(engine.erase(bytes_of(name(i))), Change::erased) << i;
  EXPECT_EQ(engine.size(), 0u);
}

TEST_P(EngineTest, DamageIsReported) {
  Heap heap(2);
  {
    Engine engine(mapped(heap), {}, options());
    set(engine, "a", "of one line");
    set(engine, "b", std::string(100, 'b'));
  }
  char* const base = reinterpret_cast<char*>(heap.view().base);
  const std::string text(100, 'b');
  char* const at = std::search(base, base + heap.bytes, text.begin(), text.end());
  ASSERT_NE(at, base + heap.bytes);
  at[50] ^= 1;
  {
    Engine engine(mapped(heap), {}, options());
    EXPECT_EQ(engine.recovered().damaged, 1u);
    std::uint64_t items = 0;
    const std::vector<std::string> errors = engine.verify(10, items);
    ASSERT_EQ(errors.size(), 1u);
    EXPECT_NE(errors[0].find("checksum"), std::string::npos) << errors[0];
    EXPECT_EQ(items, 1u);
    EXPECT_EQ(get(engine, "a"), "of one line");
    EXPECT_EQ(get(engine, "b"), std::nullopt);
  }
  *heap.view().entry(1) = 200;  // no such class
  {
    Engine engine(mapped(heap), {}, options());
    std::uint64_t items = 0;
    const std::vector<std::string> errors = engine.verify(10, items);
    ASSERT_EQ(errors.size(), 2u);
    EXPECT_NE(errors[0].find("piece 1"), std::string::npos) << errors[0];
    EXPECT_EQ(get(engine, "b"), std::nullopt);
  }
}

INSTANTIATE_TEST_SUITE_P(Store, EngineTest, testing::Values(32u, 4u, kBatched | 4u), name_of);

}  // namespace
}  // namespace holdfast::store::cpu
