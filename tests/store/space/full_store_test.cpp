// full_store_test.cpp: what a store without free memory does: it evicts, reuses what has expired, or answers that there is none.
#include <array>
#include <atomic>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "holdfast/error.hpp"
#include "store/engine_kit.hpp"
#include "store/sanitized.hpp"

namespace holdfast::store::cpu {
namespace {

class FullStore : public EngineTest {
 protected:
  static std::string name_of_item(int i) { return "item " + std::to_string(i); }
  /// Sets items of one size until one is evicted, or there is no memory. Returns how many it set.
  static int fill(Engine& engine, std::size_t bytes, std::uint64_t expiry = 0) {
    const std::string value(bytes, 'v');
    for (int i = 0;; ++i) {  // ends: the heap is bounded
      const Change change = set(engine, name_of_item(i), value, 0, 0, expiry);
      if (change != Change::inserted || engine.evicted() != 0) return i;
    }
  }
  static bool has(Engine& engine, const std::string& key) {
    Value value;
    return engine.get(bytes_of(key), {}, value);
  }
  static std::string large_value(std::size_t bytes) {
    std::string value(bytes, 'l');
    for (std::size_t i = 0; i < bytes; i += 1'000) value[i] = static_cast<char>('a' + i / 1'000 % 26);
    return value;
  }
  static bool holds(Engine& engine, const std::string& key, const std::string& expected) {
    std::string space(expected.size(), '\0');
    Value value;
    return engine.get(bytes_of(key), std::as_writable_bytes(std::span(space)), value) && space == expected;
  }
  static NewItem reserve(Engine& engine, const std::string& key, std::size_t bytes) {
    Content content;
    content.key = bytes_of(key).data();
    content.key_bytes = static_cast<std::uint16_t>(key.size());
    content.value_bytes = static_cast<std::uint32_t>(bytes);
    return engine.reserve(content);
  }
};

/// A value whose pieces are those of other items.
TEST_P(FullStore, LargeValuesEvictPieceAfterPiece) {
  for (const std::size_t small : {std::size_t{200}, std::size_t{1'000}, std::size_t{100'000}, std::size_t{500'000}}) {
    for (const std::size_t mib : {2, 3, 10, 20}) {
      SCOPED_TRACE(std::to_string(small) + " bytes, then MiB: " + std::to_string(mib));
      if (kSanitized && (mib != 3 || small == 200 || small == 100'000)) continue;
      Heap heap(kSanitized ? 6 : 31);
      Engine engine(mapped(heap), {}, options_for_many(true));
      const int items = fill(engine, small);
      const std::uint64_t before = engine.evicted();
      const std::string large = large_value(mib << 20);
      ASSERT_EQ(set(engine, "large", large), Change::inserted);
      ASSERT_TRUE(holds(engine, "large", large));
      const std::uint64_t a_piece = kPieceBytes / class_bytes(class_of(small + 50));
      EXPECT_LE(engine.evicted() - before, (mib / 2 + 3) * a_piece) << "of " << items;
      const NewItem item = reserve(engine, "reserved", 2 << 20);
      ASSERT_FALSE(item.cell.none());
      engine.abort(item);
    }
  }
}

TEST_P(FullStore, ALargeItemEvictsFew) {
  Heap heap(8);
  Engine engine(mapped(heap), {}, options_for_many(true));
  const int items = fill(engine, 500'000);
  EXPECT_LE(engine.evicted(), 2u) << "of " << items;
}

TEST_P(FullStore, AValueLargerThanTheHeapEvictsNothing) {
  Heap heap(4);
  Engine engine(mapped(heap), {}, options_for_many(true));
  fill(engine, 100'000);
  const std::uint64_t before = engine.evicted();
  EXPECT_EQ(set(engine, "large", large_value(9 << 20)), Change::no_space);
  EXPECT_EQ(engine.evicted(), before);
}

TEST_P(FullStore, WithoutAnythingToEvictThereIsNoSpace) {
  const std::string value(900'000, 'v');  // two in a piece
  for (const bool reserves : {false, true}) {
    Heap heap(3);
    Engine engine(mapped(heap), {}, options_for_many(true));
    std::vector<Engine::Leased> leased(6);
    std::vector<NewItem> reserved;
    for (int i = 0; i < 6; ++i) {
      if (reserves) {
        reserved.push_back(reserve(engine, name_of_item(i), value.size()));
        ASSERT_FALSE(reserved.back().cell.none());
      } else {
        ASSERT_EQ(set(engine, name_of_item(i), value), Change::inserted);
        ASSERT_TRUE(engine.lease(bytes_of(name_of_item(i)), leased[i]));
      }
    }
    EXPECT_EQ(set(engine, "small", "n"), Change::no_space);
    EXPECT_EQ(set(engine, "other", value), Change::no_space);
    EXPECT_EQ(set(engine, "large", large_value(3 << 20)), Change::no_space);
    EXPECT_EQ(engine.evicted(), 0u);
    if (reserves) {
      for (const NewItem& item : reserved) engine.abort(item);
    } else {
      for (const Engine::Leased& item : leased) engine.end_lease(item);
    }
    EXPECT_EQ(set(engine, "small", "n"), Change::inserted);
  }
}

TEST_P(FullStore, LeasedItemsAreNotEvicted) {
  Heap heap(kSanitized ? 6 : 8);
  Engine engine(mapped(heap), {}, options_for_many(true));
  std::vector<Engine::Leased> leased(201);
  for (int i = 0; i < 200; ++i) {
    ASSERT_EQ(set(engine, name_of_item(i), std::string(200, 'v')), Change::inserted);
    ASSERT_TRUE(engine.lease(bytes_of(name_of_item(i)), leased[i]));
  }
  const std::string chunks = large_value(3 << 20);
  ASSERT_EQ(set(engine, name_of_item(200), chunks), Change::inserted);
  ASSERT_TRUE(engine.lease(bytes_of(name_of_item(200)), leased[200]));
  for (const std::size_t bytes : {300'000, 200, 2'000'000, 300'000}) {
    if (kSanitized && bytes == 2'000'000) continue;
    const int small = kSanitized ? 10'000 : 40'000, large = kSanitized ? 30 : 200;
    for (int i = 0; i < (bytes == 200 ? small : large); ++i) {
      ASSERT_EQ(set(engine, "flood " + std::to_string(i), std::string(bytes, 'f')) == Change::no_space, false) << i;
    }
    for (int i = 0; i <= 200; ++i) ASSERT_TRUE(has(engine, name_of_item(i))) << i << " after items of " << bytes;
  }
  for (const Engine::Leased& item : leased) engine.end_lease(item);
}

/// Pieces of a class whose items are read do not move to another, whose items are not.
TEST_P(FullStore, WhatIsReadOutlivesWhatIsNot) {
  Heap heap(kSanitized ? 4 : 8);
  Engine engine(mapped(heap), {}, options_for_many(true));
  constexpr int kPages = kSanitized ? 60 : 300;
  constexpr int kSessions = kSanitized ? 200 : 2'000;
  for (int i = 0; i < kSessions; ++i) set(engine, name_of_item(i), std::string(200, 's'));
  int lost = 0;
  for (int page = 0; page < kPages; ++page) {
    for (int i = 0; i < kSessions; ++i) lost += has(engine, name_of_item(i)) ? 0 : 1;
    ASSERT_EQ(set(engine, "page " + std::to_string(page), std::string(300'000, 'p')), Change::inserted);
  }
  EXPECT_EQ(lost, 0);
  if (kSanitized) return;
  // Without reads their piece goes.
  for (int page = 0; page < kPages; ++page) set(engine, "next " + std::to_string(page), std::string(300'000, 'p'));
  for (int i = 0; i < kSessions; ++i) lost += has(engine, name_of_item(i)) ? 0 : 1;
  EXPECT_GT(lost, kSessions / 2);
}

/// Without eviction.
TEST_P(FullStore, ExpiredItemsAreReused) {
  Heap heap(5);
  Engine engine(mapped(heap), {}, options_for_many(false));
  for (const std::size_t bytes : {std::size_t{700}, std::size_t{100'000}, std::size_t{700}, std::size_t{3 << 20}}) {
    if (kSanitized && bytes == 700) continue;
    SCOPED_TRACE(bytes);
    const int items = fill(engine, bytes, time_now + 1'000);
    ASSERT_GT(items, 0);
    ASSERT_EQ(set(engine, "more", std::string(bytes, 'm')), Change::no_space);
    time_now += 1'000;
    EXPECT_EQ(fill(engine, bytes, time_now + 1'000), items);
    time_now += 1'000;
    ASSERT_EQ(set(engine, "more", "m"), Change::inserted) << "of another size";
    ASSERT_EQ(engine.erase(bytes_of("more")), Change::erased);
  }
}

TEST_P(FullStore, OneExpiredItemAmongManyIsFound) {
  Heap heap(3);
  {
    Engine engine(mapped(heap), {}, options_for_many(false));
    const int items = fill(engine, 20'000);
    const std::string value(20'000, 'v');
    for (const int over : {0, items / 2, items - 1}) {
      ASSERT_EQ(engine.touch(bytes_of(name_of_item(over)), time_now + 500), Change::touched);
      ASSERT_EQ(set(engine, "more", value), Change::no_space);
      ASSERT_EQ(engine.touch(bytes_of(name_of_item(over)), time_now + 2'000), Change::touched) << "later";
      time_now += 1'000;
      ASSERT_EQ(set(engine, "more", value), Change::no_space);
      ASSERT_EQ(engine.touch(bytes_of(name_of_item(over)), time_now + 100), Change::touched) << "and earlier again";
      time_now += 200;
      ASSERT_EQ(set(engine, "more", value), Change::inserted) << over;
      ASSERT_EQ(set(engine, "too much", value), Change::no_space);
      ASSERT_EQ(engine.erase(bytes_of("more")), Change::erased);
      ASSERT_EQ(set(engine, name_of_item(over), value), Change::inserted);
    }
    ASSERT_EQ(engine.mark_stale(bytes_of(name_of_item(1)), time_now + 100), Change::touched);
  }
  Engine engine(mapped(heap), {}, options_for_many(false));
  const std::string value(20'000, 'v');
  ASSERT_EQ(set(engine, "more", value), Change::no_space);
  time_now += 200;
  EXPECT_EQ(set(engine, "more", value), Change::inserted) << "its expiry is known after an opening";
}

TEST_P(FullStore, FlushedItemsAreReused) {
  Heap heap(3);
  Engine engine(mapped(heap), {}, options_for_many(false));
  const int items = fill(engine, 10'000);
  for (int round = 0; round < 3; ++round) {
    engine.flush_all();
    ASSERT_EQ(fill(engine, 10'000), items);
  }
}

TEST_P(FullStore, ExpiredItemsGoBeforeOthers) {
  Heap heap(4);
  Engine engine(mapped(heap), {}, options_for_many(true));
  const std::string value(1'000, 'v');
  int items = 0;
  for (; engine.evicted() == 0; ++items) set(engine, name_of_item(items), value, 0, 0, items % 4 == 0 ? 2'000 : 0);
  const std::uint64_t before = engine.evicted();
  time_now = 3'000;
  for (int i = 0; i < items / 5; ++i) ASSERT_EQ(set(engine, "new " + std::to_string(i), value), Change::inserted);
  EXPECT_EQ(engine.evicted(), before);
}

/// A call that finds nothing has looked everywhere: pieces that were to have expired items may have none.
TEST_P(FullStore, ReclaimReturnsZeroAtTheEndOnly) {
  Heap heap(kSanitized ? 8 : 20);
  Engine engine(mapped(heap), {}, options_for_many(false));
  const int items = fill(engine, 50'000);
  for (int i = 0; i < items / 2; ++i) {
    engine.touch(bytes_of(name_of_item(i)), 2'000);
    engine.touch(bytes_of(name_of_item(i)), 0);
  }
  for (int i = items / 2; i < items; ++i) engine.touch(bytes_of(name_of_item(i)), 2'000);
  EXPECT_EQ(engine.reclaim(1), 0u);
  time_now = 2'000;
  int calls = 0;
  std::uint64_t sum = 0;
  while (const std::uint64_t reclaimed = engine.reclaim(1)) ++calls, sum += reclaimed;
  EXPECT_EQ(sum, static_cast<std::uint64_t>(items - items / 2));
  EXPECT_GE(calls, kSanitized ? 2 : 8) << "a call is bounded";
  EXPECT_EQ(engine.size(), static_cast<std::uint64_t>(items / 2));
}

/// Items of all sizes, with and without expiry, leases and reservations.
TEST_P(FullStore, ThreadsFindMemory) {
  for (const bool evicts : {true, false}) {
    Heap heap(12);
    Engine engine(mapped(heap), {}, options_for_many(evicts));
    std::atomic<int> stored = 0, refused = 0;
    const auto work = [&](unsigned thread) {
      std::mt19937_64 random(thread);
      for (int i = 0; i < (kSanitized ? 30 : 1'500); ++i) {
        const std::string key = std::to_string(random() % 300);
        const std::size_t bytes = std::array<std::size_t, 5>{20, 900, 30'000, 500'000, 3'000'000}[random() % 5];
        const std::uint64_t expiry = random() % 2 == 0 ? time_now + random() % 50 : 0;
        time_now += random() % 2;
        switch (random() % 8) {
          case 0: engine.touch(bytes_of(key), expiry); break;
          case 1: engine.reclaim(2); break;
          case 2: {
            Engine::Leased leased;
            ASSERT_TRUE(engine.lease(bytes_of(key), leased));
            if (leased.cell.none()) break;
            const auto first = leased.pieces.front().front();
            std::this_thread::yield();
            ASSERT_EQ(first, leased.pieces.back().back());
            engine.end_lease(leased);
            break;
          }
          case 3: {
            const NewItem item = reserve(engine, key, bytes);
            if (!item.cell.none()) engine.abort(item);
            break;
          }
          case 4: engine.erase(bytes_of(key)); break;
          default: {
            const Change change = set(engine, key, std::string(bytes, static_cast<char>('a' + thread)), 0, 0, expiry);
            ASSERT_TRUE(change == Change::inserted || change == Change::replaced || change == Change::no_space);
            ++(change == Change::no_space ? refused : stored);
          }
        }
      }
    };
    {
      std::vector<std::jthread> threads;
      for (unsigned thread = 0; thread < 3; ++thread) threads.emplace_back(work, thread);
    }
    EXPECT_GT(stored, evicts ? 4 * refused : 0) << refused;
    std::uint64_t items = 0;
    EXPECT_TRUE(engine.verify(10, items).empty());
    if (!evicts) {
      engine.flush_all();
      EXPECT_EQ(set(engine, "large", large_value(15 << 20)), Change::inserted) << "no cell was lost";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Store, FullStore, testing::Values(32u, kBatched | 32u), name_of);

}  // namespace
}  // namespace holdfast::store::cpu
