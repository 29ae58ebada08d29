// space_test.cpp: conditions, expiry, flushes, growth and eviction of a store's engine.
#include <algorithm>
#include <random>
#include <thread>

#include "holdfast/error.hpp"
#include "store/engine_kit.hpp"
#include "store/sanitized.hpp"

namespace holdfast::store::cpu {
namespace {

using StoreSpace = EngineTest;

Content content_of(const std::string& key, const std::string& value) {
  Content content;
  content.key = bytes_of(key).data();
  content.key_bytes = static_cast<std::uint16_t>(key.size());
  content.value = bytes_of(value).data();
  content.value_bytes = static_cast<std::uint32_t>(value.size());
  return content;
}

TEST_P(StoreSpace, ChangesWithConditions) {
  Heap heap(6);
  Engine engine(mapped(heap), {}, options());
  const std::string key = "k", one = "1", two = "2";
  EXPECT_EQ(engine.set(content_of(key, one), Condition::present), Change::not_found);
  EXPECT_EQ(engine.set(content_of(key, one), Condition::cas, 1), Change::not_found);
  EXPECT_EQ(engine.set(content_of(key, one), Condition::absent), Change::inserted);
  EXPECT_EQ(engine.set(content_of(key, two), Condition::absent), Change::exists);
  EXPECT_EQ(get(engine, key), one);
  EXPECT_EQ(engine.set(content_of(key, two), Condition::present), Change::replaced);
  Value value;
  EXPECT_EQ(get(engine, key, &value), two);
  EXPECT_EQ(engine.set(content_of(key, one), Condition::cas, value.cas + 1), Change::mismatch);
  EXPECT_EQ(engine.erase(bytes_of(key), value.cas + 1), Change::mismatch);
  EXPECT_EQ(get(engine, key), two);
  EXPECT_EQ(engine.set(content_of(key, one), Condition::cas, value.cas), Change::replaced);
  EXPECT_EQ(engine.erase(bytes_of(key), value.cas), Change::mismatch) << "each change has another id";
  EXPECT_EQ(get(engine, key, &value), one);
  EXPECT_EQ(engine.erase(bytes_of(key), value.cas), Change::erased);
}

TEST_P(StoreSpace, ValuesAreExtended) {
  Heap heap(8);
  Engine engine(mapped(heap), {}, options());
  constexpr std::uint32_t kMost = 1 << 20;
  const auto extend = [&](const std::string& added, bool before) {
    return engine.extend(bytes_of("k"), bytes_of(added), before, kMost);
  };
  EXPECT_EQ(extend("x", false), Change::not_found);
  set(engine, "k", "middle", 42, 0, 5000);
  EXPECT_EQ(extend(" end", false), Change::replaced);
  EXPECT_EQ(extend("begin ", true), Change::replaced);
  Value value;
  EXPECT_EQ(get(engine, "k", &value), "begin middle end");
  EXPECT_EQ(value.flags, 42u);
  EXPECT_EQ(value.expiry, 5000u);
  std::string expected = "begin middle end";
  for (int i = 0; i < 12; ++i) {  // through the classes
    const std::string more(std::size_t{50} << i, static_cast<char>('a' + i));
    ASSERT_EQ(extend(more, i % 2 == 0), Change::replaced) << i;
    expected = i % 2 == 0 ? more + expected : expected + more;
  }
  EXPECT_EQ(get(engine, "k"), expected);
  EXPECT_EQ(extend(std::string(kMost, 'x'), false), Change::larger) << "too large for any value";
  EXPECT_EQ(get(engine, "k"), expected);
}

TEST_P(StoreSpace, NumbersAreAdded) {
  Heap heap(6);
  Engine engine(mapped(heap), {}, options());
  std::uint64_t result = 0;
  const auto add = [&](std::uint64_t by, bool subtract = false) {
    return engine.add(bytes_of("n"), by, subtract, result);
  };
  EXPECT_EQ(add(1), Change::not_found);
  set(engine, "n", "9");
  EXPECT_EQ(add(2), Change::replaced);
  EXPECT_EQ(result, 11u);
  EXPECT_EQ(get(engine, "n"), "11");
  EXPECT_EQ(add(12, true), Change::replaced);
  EXPECT_EQ(get(engine, "n"), "0") << "not less than 0";
  set(engine, "n", "18446744073709551615");
  EXPECT_EQ(add(2), Change::replaced);
  EXPECT_EQ(get(engine, "n"), "1") << "it wraps";
  for (const char* text : {"", "x", "1x", " 1", "-1", "18446744073709551616", "111111111111111111111"}) {
    set(engine, "n", text);
    EXPECT_EQ(add(1), Change::mismatch) << text;
    EXPECT_EQ(get(engine, "n"), text);
  }
}

TEST_P(StoreSpace, CountsOfSeveralThreadsAreComplete) {
  Heap heap(6);
  Engine engine(mapped(heap), {}, options());
  set(engine, "n", "0");
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      std::uint64_t result = 0;
      for (int i = 0; i < 500; ++i) ASSERT_EQ(engine.add(bytes_of("n"), 1, false, result), Change::replaced);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(get(engine, "n"), "1500");
}

TEST_P(StoreSpace, ItemsExpireAndStayDead) {
  Heap heap(6);
  {
    Engine engine(mapped(heap), {}, options());
    set(engine, "short", "1", 0, 0, 2000);
    set(engine, "long", "2", 0, 0, 9000);
    set(engine, "ever", "3");
    EXPECT_EQ(get(engine, "short"), "1");
    time_now = 2000;
    EXPECT_EQ(get(engine, "short"), std::nullopt);
    EXPECT_EQ(engine.touch(bytes_of("short"), 9000), Change::not_found) << "nothing revives it";
    EXPECT_EQ(engine.erase(bytes_of("short")), Change::not_found);
    set(engine, "short", "4", 0, 0, 3000);
    EXPECT_EQ(engine.touch(bytes_of("short"), 4000), Change::touched);
    time_now = 3500;
    EXPECT_EQ(get(engine, "short"), "4");
    time_now = 4000;
    EXPECT_EQ(get(engine, "short"), std::nullopt);
    EXPECT_EQ(engine.set(content_of("short", "5"), Condition::absent), Change::inserted);
    EXPECT_EQ(engine.erase(bytes_of("short")), Change::erased);
    set(engine, "short", "6", 0, 0, 4500);
    time_now = 5000;
    EXPECT_EQ(get(engine, "short"), std::nullopt);
  }
  time_now = 100;  // someone sets the clock back
  Engine engine(mapped(heap), {}, options());
  EXPECT_EQ(get(engine, "short"), std::nullopt);
  EXPECT_EQ(get(engine, "long"), "2");
  EXPECT_EQ(engine.size(), 2u);
  EXPECT_EQ(engine.recovered().over, 1u);
}

TEST_P(StoreSpace, EverythingIsFlushedAtOnceOrLater) {
  Heap heap(6);
  {
    Engine engine(mapped(heap), {}, options());
    set(engine, "a", "1");
    engine.flush_all();
    EXPECT_EQ(engine.size(), 0u);
    EXPECT_EQ(get(engine, "a"), std::nullopt);
    set(engine, "b", "2");
    EXPECT_EQ(engine.size(), 1u);
    EXPECT_EQ(get(engine, "b"), "2");
    engine.flush_all_at(3000);
    set(engine, "c", "3");
    EXPECT_EQ(get(engine, "c"), "3");
  }
  {
    Engine engine(mapped(heap), {}, options());
    EXPECT_EQ(engine.size(), 2u);
    EXPECT_EQ(get(engine, "c"), "3");
    time_now = 3001;
    EXPECT_EQ(engine.size(), 0u) << "the time of a flush has come, though nothing was read";
    EXPECT_EQ(get(engine, "b"), std::nullopt);
    EXPECT_EQ(get(engine, "c"), std::nullopt);
    set(engine, "d", "4");
    engine.flush_all_at(5000);
  }
  Engine again(mapped(heap), {}, options());
  EXPECT_EQ(get(again, "d"), "4");
  again.flush_all();
  time_now = 5000;
  set(again, "e", "5");
  time_now = 6000;
  EXPECT_EQ(get(again, "e"), "5") << "a flush at once takes the place of one that was planned";
}

TEST_P(StoreSpace, AFlushAtATimeThatHasComeIsDoneAtOnce) {
  Heap heap(6);
  Engine engine(mapped(heap), {}, options());
  for (const std::uint64_t time : {time_now.load(), std::uint64_t{1}}) {
    set(engine, "a", "1");
    EXPECT_EQ(engine.now(), time_now);  // known before the flush is planned
    engine.flush_all_at(time);
    EXPECT_EQ(get(engine, "a"), std::nullopt);
    set(engine, "b", "2");
    time_now += 1000;
    EXPECT_EQ(get(engine, "b"), "2");
  }
}

TEST_P(StoreSpace, CellsOfDeadItemsAreReclaimed) {
  Heap heap(6);
  Engine engine(mapped(heap), {}, options());
  for (int i = 0; i < 300; ++i) set(engine, std::to_string(i), std::string(20'000, 'v'), 0, 0, i < 200 ? 2000 : 9000);
  const std::uint64_t before = engine.free_pieces();
  time_now = 2500;
  std::uint64_t reclaimed = 0;
  for (int i = 0; i < 10; ++i) reclaimed += engine.reclaim(2);
  EXPECT_EQ(reclaimed, 200u);
  EXPECT_EQ(engine.size(), 100u);
  EXPECT_GT(engine.free_pieces(), before);
  EXPECT_EQ(get(engine, "250"), std::string(20'000, 'v'));
}

TEST_P(StoreSpace, AStaleItemIsKept) {
  Heap heap(2);
  {
    Engine engine(mapped(heap), {}, options());
    set(engine, "a", "1");
    EXPECT_EQ(engine.mark_stale(bytes_of("a"), 5000), Change::touched);
  }
  Engine engine(mapped(heap), {}, options());
  Value value;
  EXPECT_EQ(get(engine, "a", &value), "1");
  EXPECT_TRUE(value.is_stale);
  time_now = 5000;
  EXPECT_EQ(get(engine, "a"), std::nullopt);
}

TEST_P(StoreSpace, TheHeapGrows) {
  Heap heap(12);
  Mapped small = mapped(heap);
  small.heap.count = 2;
  EngineOptions growing = options();
  std::uint64_t slabs = 2;
  growing.grow = [&] { return slabs = std::min<std::uint64_t>(slabs + 2, heap.view().count); };
  Engine engine(small, {}, growing);
  int items = 0;
  while (set(engine, std::to_string(items), std::string(100'000, 'v')) == Change::inserted) ++items;
  EXPECT_EQ(slabs, heap.view().count);
  EXPECT_GE(items, 12 * 18);
  for (int i = 0; i < items; ++i) ASSERT_EQ(get(engine, std::to_string(i)), std::string(100'000, 'v'));
  Engine again(mapped(heap), {}, options());
  EXPECT_EQ(again.size(), static_cast<std::uint64_t>(items));
}

TEST_P(StoreSpace, EvictsWhatWasNotReadLately) {
  Heap heap(4);
  Engine engine(mapped(heap), {}, options_for_many(true));
  const std::string value(1'000, 'v');
  constexpr int kHot = 500;
  for (int i = 0; i < kHot; ++i) set(engine, "hot " + std::to_string(i), value);
  constexpr int kCold = kSanitized ? 12'000 : 40'000;
  int lost = 0;
  for (int i = 0; i < kCold; ++i) {
    ASSERT_EQ(set(engine, "cold " + std::to_string(i), value), Change::inserted) << i;
    if (!get(engine, "hot " + std::to_string(i % kHot))) {
      ++lost;
      set(engine, "hot " + std::to_string(i % kHot), value);
    }
  }
  EXPECT_GT(engine.evicted(), static_cast<std::uint64_t>(kCold - 10'000));
  EXPECT_LT(lost, kHot / 5);
  EXPECT_EQ(get(engine, "cold " + std::to_string(kCold - 1)), value);
  Engine again(mapped(heap), {}, options_for_many(true));
  EXPECT_EQ(again.size(), engine.size()) << "what was evicted is durably gone";
}

/// Changes are uses, as reads are.
TEST_P(StoreSpace, WhatIsChangedIsNotEvicted) {
  for (const unsigned how : {0, 1, 2, 3}) {
    Heap heap(kSanitized ? 4 : 7);
    Engine engine(mapped(heap), {}, options_for_many(true));
    const std::string key = "n";
    set(engine, key, "1");
    const std::string value(1'000, 'v'), one = "1";
    for (int i = 0; i < (kSanitized ? 10'000 : 40'000); ++i) {
      set(engine, "item " + std::to_string(i), value);
      if (i % 10 != 0) continue;
      std::uint64_t number = 0;
      Change change{};
      switch (how) {
        case 0: change = engine.add(bytes_of("n"), 1, false, number); break;
        case 1: change = engine.touch(bytes_of("n"), 0); break;
        case 2: change = engine.set(content_of(key, one), Condition::present); break;
        default: change = engine.extend(bytes_of("n"), bytes_of(""), false, 100);
      }
      ASSERT_TRUE(change == Change::replaced || change == Change::touched) << how << " is lost at item " << i;
    }
    EXPECT_GT(engine.evicted(), 100u);
  }
}

TEST_P(StoreSpace, PiecesMoveToTheClassThatNeedsThem) {
  Heap heap(8);
  Engine engine(mapped(heap), {}, options_for_many(true));
  for (int i = 0; i < 20'000; ++i)
    ASSERT_EQ(set(engine, "s" + std::to_string(i), std::string(1'000, 'v')), Change::inserted);
  for (int i = 0; i < 3'000; ++i) {
    ASSERT_EQ(set(engine, "l" + std::to_string(i), std::string(30'000, 'v')), Change::inserted) << i;
  }
  int large = 0;
  for (int i = 2'500; i < 3'000; ++i) large += get(engine, "l" + std::to_string(i)) ? 1 : 0;
  EXPECT_GT(large, 300) << "most of the heap has the size that is used now";
}

TEST_P(StoreSpace, EvictionBesideChangesAndSearches) {
  Heap heap(4);
  Engine engine(mapped(heap), {}, options_for_many(true));
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937_64 random(t);
      for (int i = 0; i < (kSanitized ? 800 : 6'000); ++i) {
        const std::string key = "key " + std::to_string(random() % 2'000);
        const std::string value = key + '=' + std::string(random() % 8 == 0 ? 20'000 : 900, 'v');
        const auto dice = random() % 8;
        if (dice < 4) {
          const Change change = set(engine, key, value, 0, 0, dice == 0 ? 1 : 0);
          ASSERT_TRUE(change == Change::inserted || change == Change::replaced) << static_cast<int>(change);
        } else if (const auto seen = get(engine, key)) {
          ASSERT_TRUE(seen->starts_with(key + '='));
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  Engine again(mapped(heap), {}, options_for_many(true));
  EXPECT_EQ(again.recovered().killed, 0u);
  EXPECT_EQ(again.recovered().damaged, 0u);
}

INSTANTIATE_TEST_SUITE_P(Store, StoreSpace, testing::Values(32u, 4u, kBatched | 32u), name_of);

}  // namespace
}  // namespace holdfast::store::cpu
