// store_test.cpp: the public Store, as its users call it: single operations, batches, visits, opening again, snapshots, and bad input.
#include "holdfast/store.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstring>
#include <map>
#include <random>
#include <set>
#include <thread>

#include "holdfast/strings.hpp"
#include "holdfast/table.hpp"
#include "store/store_fixture.hpp"
#include "support/errors.hpp"

namespace holdfast {
namespace {

TEST_F(StoreTest, KeepsItemsAcrossOpenings) {
  {
    Store store = make();
    EXPECT_EQ(store.set("a", "1", {.flags = 7}), StoreStatus::inserted);
    EXPECT_EQ(store.set("a", "2", {.flags = 8}), StoreStatus::updated);
    EXPECT_EQ(store.add("a", "3"), StoreStatus::exists);
    EXPECT_EQ(store.replace("b", "3"), StoreStatus::not_found);
    EXPECT_EQ(store.append("a", "34"), StoreStatus::updated);
    EXPECT_EQ(store.prepend("a", "01"), StoreStatus::updated);
    std::uint64_t number = 0;
    EXPECT_EQ(store.increment("a", 1, number), StoreStatus::updated);
    EXPECT_EQ(number, 1235u);
    EXPECT_EQ(store.decrement("a", 2, number), StoreStatus::updated);
    EXPECT_EQ(store.set("large", std::string(1 << 20, 'x')), StoreStatus::inserted);
    const auto item = store.get("a");
    ASSERT_TRUE(item);
    EXPECT_EQ(item->value, "1233");
    EXPECT_EQ(item->flags, 8u);
    EXPECT_EQ(store.cas("a", "9", item->cas + 1), StoreStatus::mismatch);
    EXPECT_EQ(store.cas("a", "9", item->cas), StoreStatus::updated);
    EXPECT_EQ(store.size(), 2u);
    EXPECT_TRUE(store.contains("a"));
    EXPECT_FALSE(store.contains("b"));
  }
  reopen_pool();
  Store store = Store::open(pool_, "s");
  EXPECT_EQ(store.get("a")->value, "9");
  EXPECT_EQ(store.get("large")->value, std::string(1 << 20, 'x'));
  EXPECT_EQ(store.erase("a"), StoreStatus::erased);
  EXPECT_EQ(store.erase("a"), StoreStatus::not_found);
  EXPECT_EQ(store.get("a"), std::nullopt);
  const CheckReport report = store.check();
  EXPECT_TRUE(report.errors.empty());
  EXPECT_EQ(report.items, 1u);
}

TEST_F(StoreTest, BatchesAnswerAsAMap) {
  Store store = make();
  std::map<std::string, std::string> map;
  std::mt19937_64 random(3);
  for (int batch = 0; batch < 40; ++batch) {
    Strings keys, values;
    std::vector<ItemOptions> items;
    const std::size_t size = random() % 200;
    for (std::size_t i = 0; i < size; ++i) {
      keys.add("key " + std::to_string(random() % 300));
      values.add(std::string(random() % (random() % 8 == 0 ? 3'000 : 60), static_cast<char>('a' + random() % 26)));
      items.push_back({.flags = static_cast<std::uint32_t>(i)});
    }
    const auto key = [&](std::size_t i) {
      return std::string(keys.bytes() + keys.offsets()[i], keys.offsets()[i + 1] - keys.offsets()[i]);
    };
    std::vector<StoreStatus> statuses(size);
    if (batch % 3 == 2) {
      const std::size_t erased = store.erase(rows_of(keys), statuses);
      std::size_t there = 0;
      for (std::size_t i = 0; i < size; ++i) {
        const bool was_there = map.erase(key(i)) != 0;
        there += was_there ? 1 : 0;
        EXPECT_EQ(statuses[i], was_there ? StoreStatus::erased : StoreStatus::not_found) << i;
      }
      EXPECT_EQ(erased, there);
    } else {
      ASSERT_EQ(store.set(rows_of(keys), rows_of(values), items, statuses), 0u);
      for (std::size_t i = 0; i < size; ++i) {
        const std::string value(values.bytes() + values.offsets()[i], values.offsets()[i + 1] - values.offsets()[i]);
        EXPECT_EQ(statuses[i], map.contains(key(i)) ? StoreStatus::updated : StoreStatus::inserted) << i;
        map[key(i)] = value;
      }
    }
    Strings all;
    for (int i = 0; i < 300; ++i) all.add("key " + std::to_string(i));
    StoreItems found;
    store.get(rows_of(all), found);
    for (int i = 0; i < 300; ++i) {
      const auto at = map.find("key " + std::to_string(i));
      ASSERT_EQ(found.values.has(i), at != map.end()) << i;
      if (at != map.end()) {
        ASSERT_EQ(found.values[i], at->second);
      }
    }
  }
  EXPECT_EQ(store.size(), map.size());
}

/// Rows of one key see its states in their order, also where everything is flushed meanwhile.
TEST_F(StoreTest, RowsOfABatchDoNotGoBack) {
  Store store = make();
  const std::jthread changing([&](const std::stop_token& stop) {
    for (std::uint64_t version = 1; !stop.stop_requested(); ++version) {
      store.set("key", std::to_string(version));
      if (version % 3 == 0) store.flush_all();
    }
  });
  const Strings keys(std::vector<std::string>(64, "key"));
  for (int i = 0; i < 4'000; ++i) {
    StoreItems items;
    store.get(rows_of(keys), items);
    std::uint64_t newest = 0;
    bool is_gone = false;
    for (std::size_t row = 0; row < keys.size(); ++row) {
      if (!items.values.has(row)) {
        is_gone = true;
        continue;
      }
      const std::uint64_t version = std::stoull(std::string(items.values[row]));
      ASSERT_TRUE(version > newest || (version == newest && !is_gone)) << "row " << row;
      newest = version;
      is_gone = false;
    }
  }
}

TEST_F(StoreTest, AVisitSeesEveryItemOnce) {
  Store store = make();
  for (int i = 0; i < 20'000; ++i)
    store.set("key " + std::to_string(i), std::string(i % 200, 'v'), {.flags = static_cast<std::uint32_t>(i)});
  std::map<std::string, int> seen;
  store.for_each([&](std::string_view key, const StoreItem& item) {
    EXPECT_EQ(key, "key " + std::to_string(item.flags));
    EXPECT_EQ(item.value.size(), item.flags % 200);
    ++seen[std::string(key)];
    return true;
  });
  EXPECT_EQ(seen.size(), 20'000u);
  for (const auto& [key, times] : seen) EXPECT_EQ(times, 1) << key;
  int visits = 0;
  store.for_each([&](std::string_view, const StoreItem&) { return ++visits < 10; });
  EXPECT_EQ(visits, 10);
}

/// Keys that move through the heap while it is visited: each is seen at least once, and those that do not move exactly once.
TEST_F(StoreTest, AVisitBesideChangesMissesNothing) {
  Store store = make();
  constexpr int kKeys = 2'000;
  const auto name = [](int i) { return "key " + std::to_string(i); };
  for (int i = 0; i < kKeys; ++i) store.set(name(i), std::string(3'000, 'v'));
  const std::jthread changing([&](const std::stop_token& stop) {
    std::mt19937_64 random(1);
    while (!stop.stop_requested()) {
      const int i = static_cast<int>(random() % (kKeys / 2));  // the second half stays
      store.set(name(i), std::string(random() % 2 == 0 ? 3'000 : 60'000, 'w'));
    }
  });
  for (int round = 0; round < 5; ++round) {
    std::map<std::string, int> seen;
    store.for_each([&](std::string_view key, const StoreItem&) { return ++seen[std::string(key)] > 0; });
    for (int i = 0; i < kKeys; ++i) {
      if (i < kKeys / 2) {
        ASSERT_GE(seen[name(i)], 1) << i;
      } else {
        ASSERT_EQ(seen[name(i)], 1) << i;
      }
    }
  }
}

TEST_F(StoreTest, ASnapshotHasEverything) {
  Store store = make();
  for (int i = 0; i < 1'000; ++i) store.set(std::to_string(i), std::string(i, 'v'));
  EXPECT_EQ(pool_.snapshot(copy_).items, 1'000u);
  store.set("later", "x");
  Pool other = Pool::open(copy_);
  Store its = Store::open(other, "s");
  EXPECT_EQ(its.size(), 1'000u);
  EXPECT_EQ(its.get("999")->value, std::string(999, 'v'));
  EXPECT_FALSE(its.contains("later"));
  EXPECT_TRUE(other.check().errors.empty());
}

TEST_F(StoreTest, AFullMediumOrALimitKeepsWhatIsThere) {
  Store store = make({.limit_bytes = 8 << 20});
  int items = 0;
  while (store.set(std::to_string(items), std::string(10'000, 'v')) == StoreStatus::inserted) ++items;
  EXPECT_GT(items, 500);
  EXPECT_LT(items, 900);
  for (int i = 0; i < items; ++i) ASSERT_EQ(store.get(std::to_string(i))->value, std::string(10'000, 'v'));
  EXPECT_EQ(store.set("0", std::string(9'000, 'w')), StoreStatus::no_space)
      << "the new item is there before the old one goes";
  EXPECT_EQ(store.get("0")->value, std::string(10'000, 'v'));
  store.set_limit(16 << 20);
  EXPECT_EQ(store.set("0", std::string(9'000, 'w')), StoreStatus::updated);
  EXPECT_EQ(store.stats().limit_bytes, std::uint64_t{16} << 20);
}

TEST_F(StoreTest, ASmallLimitIsKept) {
  for (const std::uint64_t mib : {4, 5, 6, 8}) {
    Store store = Store::create(pool_, "small " + std::to_string(mib), {.limit_bytes = mib << 20});
    int items = 0;
    while (store.set(std::to_string(items), std::string(1'000, 'v')) == StoreStatus::inserted) ++items;
    EXPECT_GT(items, 1'600) << "a piece is full";
    EXPECT_EQ(store.stats().memory_bytes, mib / 2 * 2 << 20);
    EXPECT_EQ(store.stats().limit_bytes, mib << 20);
  }
}

TEST_F(StoreTest, ItemsOfManySizesShareASmallLimit) {
  for (const bool evicts : {false, true}) {
    Store store = Store::create(pool_, evicts ? "evicts" : "refuses", {.limit_bytes = 16 << 20, .evict = evicts});
    std::mt19937_64 random(7);
    store.set("large", std::string(1'000, 'v'));
    std::uint64_t lost = 0, refused = 0;
    for (int i = 0; i < 5'000; ++i) {
      const StoreStatus status = store.set(std::to_string(random() % 900), std::string(10 + random() % 990, 'v'));
      refused += status == StoreStatus::no_space ? 1 : 0;
      lost += store.contains("large") ? 0 : 1;
    }
    EXPECT_EQ(refused, 0u);
    EXPECT_EQ(lost, 0u);
    EXPECT_EQ(store.stats().evicted, 0u);
    EXPECT_TRUE(store.check().errors.empty());
    store.close();
    store = Store::open(pool_, evicts ? "evicts" : "refuses");
    EXPECT_GT(store.size(), 890u);
    EXPECT_TRUE(store.check().errors.empty());
  }
}

TEST_F(StoreTest, EvictsWhereItIsTold) {
  Store store = make({.limit_bytes = 8 << 20, .evict = true});
  for (int i = 0; i < 5'000; ++i)
    ASSERT_EQ(store.set(std::to_string(i), std::string(10'000, 'v')), StoreStatus::inserted);
  EXPECT_TRUE(store.contains("4999"));
  EXPECT_GT(store.stats().evicted, 4'000u);
  EXPECT_LE(store.stats().memory_bytes, std::uint64_t{8} << 20);
}

TEST_F(StoreTest, ExpiresAndFlushes) {
  Store store = make();
  const std::uint64_t now = store.now();
  store.set("short", "1", {.expiry = now + 30});
  store.set("long", "2", {.expiry = now + 100'000});
  EXPECT_EQ(store.get("long")->expiry, now + 100'000);
  EXPECT_EQ(store.get_and_touch("long", now + 200'000)->expiry, now + 200'000);
  EXPECT_EQ(store.get_and_touch("none", now), std::nullopt);
  store.set("taken", "its value", {.flags = 7});
  const std::optional<StoreItem> taken = store.get_and_touch("taken", 1);  // a time that has come
  ASSERT_TRUE(taken);
  EXPECT_EQ(taken->value, "its value");
  EXPECT_EQ(taken->flags, 7u);
  EXPECT_EQ(store.get("taken"), std::nullopt);
  while (store.now() < now + 30) std::this_thread::yield();
  EXPECT_FALSE(store.contains("short"));
  EXPECT_EQ(store.touch("short", 0), StoreStatus::not_found);
  EXPECT_EQ(store.mark_stale("long"), StoreStatus::updated);
  EXPECT_TRUE(store.get("long")->is_stale);
  store.flush_all();
  EXPECT_FALSE(store.contains("long"));
  store.set("new", "3");
  store.flush_all_at(store.now() + 20);
  const std::uint64_t until = store.now() + 25;
  while (store.now() < until) std::this_thread::yield();
  EXPECT_FALSE(store.contains("new"));
  for (int i = 0; i < 32; ++i) store.reclaim();
  EXPECT_EQ(store.size(), 0u);
}

TEST_F(StoreTest, RefusesWhatCannotBe) {
  const auto refuses = [](const auto& call, const char* says) {
    const std::string error = test::error_of(call);
    EXPECT_NE(error.find(says), std::string::npos) << error;
  };
  refuses([&] { make({.limit_bytes = 100}); }, "at least 4 MiB");
  refuses([&] { make({.evict = true}); }, "without a limit");
  refuses([&] { make({.limit_bytes = std::uint64_t{1} << 50}); }, "bytes, not for 1125899906842624: give a smaller");
  refuses([&] { make({.max_value_bytes = 0}); }, "give 1 to");
  refuses([&] { make({.max_value_bytes = 129 << 20}); }, "give 1 to");
  refuses([&] { make({.expected_items = std::uint64_t{1} << 32}); }, "cannot expect 4294967296 items");
  EXPECT_TRUE(pool_.objects().empty()) << "nothing was made";
  Store store = make({.max_value_bytes = 100});
  refuses([&] { store.set_limit(std::uint64_t{1} << 50); }, "bytes, not for 1125899906842624: give a smaller");
  refuses([&] { store.set(std::string(65'536, 'k'), "v"); },
          "keys of up to 65535 bytes, and the key has 65536: give a shorter");
  refuses([&] { store.set("k", std::string(101, 'v')); }, "values of up to 100 bytes, and the value has 101: open");
  refuses([&] { store.set("k", "v", {.expiry = ~std::uint64_t{0}}); }, "milliseconds since 1970");
  EXPECT_EQ(store.set(std::string(65'535, 'k'), std::string(100, 'v')), StoreStatus::inserted);
  EXPECT_EQ(store.append(std::string(65'535, 'k'), "v"), StoreStatus::too_large);
  const std::uint64_t wrong[] = {0, 5, 3};
  refuses([&] { store.erase({"abcde", wrong, 2}); }, "the offsets of keys decrease at row 1");
  StoreItems items;
  const std::uint64_t right[] = {0, 1, 2}, empty[] = {0, 0, 0};
  refuses(
      [&] {
        store.get({"ab", nullptr, 2}, items);
      },
      "keys has 2 rows, and its offsets are null: give their address");
  refuses([&] { store.set({nullptr, right, 2}, {"ab", right, 2}); }, "keys has 2 rows, and its bytes are null");
  refuses([&] { store.set({"ab", right, 2}, {nullptr, right, 2}); }, "values has 2 rows, and its bytes are null");
  EXPECT_EQ(store.set({"ab", right, 2}, {nullptr, empty, 2}), 0u) << "empty values need no bytes";
  EXPECT_EQ(store.erase({"ab", right, 2}), 2u);
  EXPECT_EQ(store.erase(StoreRows()), 0u);
  refuses([&] { store.for_each({}); }, "give a function");
  const Strings two{std::vector<std::string>{"a", "b"}}, one{std::vector<std::string>{"a"}};
  refuses([&] { store.set(rows_of(two), rows_of(one)); }, "give one for each key");
  const Strings long_ones{std::vector<std::string>{"a", std::string(70'000, 'b')}};
  refuses([&] { store.erase(rows_of(long_ones)); }, "and the key of row 1 has 70000");
  refuses([&] { store.set(rows_of(two), rows_of(long_ones)); }, "and the value of row 1 has 70000");
  refuses([&] { Store::create(pool_, "s"); }, "s");
  refuses([&] { Store::open(pool_, "none"); }, "none");
  refuses([&] { Store::open(pool_, "s"); }, "open");
  store.close();
  refuses([&] { store.get("k"); }, "closed");
  refuses([&] { Store::open(pool_, "s", {.limit_bytes = std::uint64_t{1} << 50}); }, "give a smaller limit");
  pool_.create_table("t", {});
  refuses([&] { Store::open(pool_, "t"); }, "table");
}

/// Two strings would be taken for the beginning and the end of one.
template <class S>
concept TakesLists = requires(S& store) {
  store.set({"a", "b"}, {"1", "2"});
}
|| requires(S& store) { store.get({"a", "b"}); }
|| requires(S& store) { store.erase({"a", "b"}); };
template <class S>
concept TakesNothing = requires(S& store) {
  store.set({}, {});
};
static_assert(!TakesLists<Store> && !TakesNothing<Store>);

TEST_F(StoreTest, TakesStringsAsRows) {
  Store store = make();
  const std::vector<std::string> names = {"a", "b"};
  EXPECT_EQ(store.set(Strings(names), Strings(std::vector{"1", "2"})), 0u);
  StoreItems items;
  store.get(Strings(names), items);
  EXPECT_EQ(items.values[1], "2");
  EXPECT_EQ(store.erase(Strings(names)), 2u);
}

TEST_F(StoreTest, APoolAndItsStoreAppearTogether) {
  EXPECT_THROW(Pool::create(copy_, false, [](Pool& pool) { Store::create(pool, "s", {.limit_bytes = 100}); }),
               InvalidArgument);
  EXPECT_NE(access(copy_.c_str(), F_OK), 0);
  Pool pool = Pool::create(copy_, false, [&](Pool& made) {
    Store::create(made, "s").set("k", "v");
    EXPECT_NE(access(copy_.c_str(), F_OK), 0) << "it has its name when it is filled";
  });
  EXPECT_EQ(Store::open(pool, "s").get("k")->value, "v");
  EXPECT_THROW(Pool::create(copy_, false, [](Pool&) { FAIL() << "there is one already"; }), PoolExists);
}

/// Another process cuts the file off: no call waits for what is lost.
TEST_F(StoreTest, ALostFileIsSaid) {
  Store store = make();
  for (int i = 0; i < 100; ++i) store.set(std::to_string(i), std::string(1'000, 'v'));
  ASSERT_EQ(truncate(path_.c_str(), 1 << 20), 0);
  EXPECT_THROW(store.get("5"), MediumError);
  EXPECT_THROW(store.set("5", "x"), MediumError);
  EXPECT_THROW(store.erase("6"), MediumError);
}

TEST_F(StoreTest, AReadOnlyPoolIsServed) {
  make().set("a", "1");
  pool_.close();
  Pool pool = Pool::open(path_, {.read_only = true});
  Store store = Store::open(pool, "s");
  EXPECT_EQ(store.get("a")->value, "1");
  EXPECT_THROW(store.set("a", "2"), ReadOnly);
  EXPECT_THROW(store.flush_all(), ReadOnly);
  EXPECT_TRUE(store.check().errors.empty());
}

TEST_F(StoreTest, ThePoolKnowsIt) {
  make().set("a", "1");
  EXPECT_EQ(pool_.objects().at(0).type, "store");
  const CheckReport report = pool_.check("s");
  EXPECT_EQ(report.items, 1u);
  EXPECT_EQ(report.checked.at(0), "the checksum of every item");
  pool_.rename("s", "t");
  EXPECT_EQ(Store::open(pool_, "t").get("a")->value, "1");
  pool_.drop("t");
  EXPECT_TRUE(pool_.objects().empty());
}

}  // namespace
}  // namespace holdfast
