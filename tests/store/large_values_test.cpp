// large_values_test.cpp: values of a store that lie in chunks.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <random>
#include <thread>

#include "store/store_fixture.hpp"

namespace holdfast {
namespace {

/// Bytes that differ from place to place.
std::string bytes_of(std::size_t size, unsigned seed) {
  std::string bytes(size, '\0');
  std::mt19937_64 random(seed);
  for (std::size_t at = 0; at < size; at += 8) {
    const std::uint64_t word = random();
    std::memcpy(bytes.data() + at, &word, std::min<std::size_t>(8, size - at));
  }
  return bytes;
}

constexpr std::uint32_t kLarge = 128u << 20;
constexpr std::size_t kReplaced = kSanitized ? 4 << 20 : 9 << 20;

TEST_F(StoreTest, ValuesLargerThanACellAreWhole) {
  const std::vector<std::size_t> sizes = {(2 << 20) - 100, (2 << 20) - 40, 2 << 20,
                                          (2 << 20) + 1,   5'000'001,      kSanitized ? 7 << 20 : 33 << 20};
  {
    Store store = make({.max_value_bytes = kLarge});
    for (unsigned i = 0; i < sizes.size(); ++i) {
      ASSERT_EQ(store.set("key " + std::to_string(i), bytes_of(sizes[i], i), {.flags = i}), StoreStatus::inserted);
      ASSERT_EQ(store.get("key " + std::to_string(i))->value, bytes_of(sizes[i], i)) << i;
    }
    EXPECT_EQ(store.set("key 5", bytes_of(kReplaced, 9)), StoreStatus::updated);
    EXPECT_EQ(store.append("key 4", "the end"), StoreStatus::updated);
    EXPECT_EQ(store.prepend("key 1", bytes_of(3 << 20, 7)), StoreStatus::updated);
    EXPECT_TRUE(store.check().errors.empty());
    const Strings keys(std::vector<std::string>{"key 4", "none", "key 0"});
    StoreItems items;
    store.get(rows_of(keys), items);
    EXPECT_EQ(items.values[0], bytes_of(sizes[4], 4) + "the end");
    EXPECT_FALSE(items.values.has(1));
    EXPECT_EQ(items.values[2], bytes_of(sizes[0], 0));
  }
  reopen_pool();
  Store store = Store::open(pool_, "s", {.max_value_bytes = kLarge});
  EXPECT_EQ(store.size(), sizes.size());
  EXPECT_EQ(store.get("key 5")->value, bytes_of(kReplaced, 9));
  EXPECT_EQ(store.get("key 4")->value, bytes_of(sizes[4], 4) + "the end");
  EXPECT_EQ(store.get("key 1")->value, bytes_of(3 << 20, 7) + bytes_of(sizes[1], 1));
  std::size_t bytes = 0;
  store.for_each([&](std::string_view, const StoreItem& item) { return (bytes += item.value.size()) > 0; });
  EXPECT_GT(bytes, (std::size_t{12} << 20) + kReplaced);
  const std::uint64_t memory = store.stats().memory_bytes;
  for (int round = 0; round < (kSanitized ? 8 : 30); ++round) {
    store.set("key 5", bytes_of(kReplaced, round));
    EXPECT_EQ(store.erase("key 3"), round == 0 ? StoreStatus::erased : StoreStatus::not_found);
  }
  EXPECT_LT(store.stats().memory_bytes, memory + 6 * kReplaced) << "chunks are used again";
}

TEST_F(StoreTest, LargeValuesAreEvictedWhole) {
  constexpr unsigned kLast = kSanitized ? 13 : 39;  // eleven fit
  Store store = make({.limit_bytes = 64 << 20, .evict = true, .max_value_bytes = kLarge});
  for (unsigned i = 0; i <= kLast; ++i) {
    ASSERT_EQ(store.set(std::to_string(i), bytes_of(6 << 20, i)), StoreStatus::inserted) << i;
    ASSERT_EQ(store.set("small " + std::to_string(i), "v"), StoreStatus::inserted);
  }
  EXPECT_EQ(store.get(std::to_string(kLast))->value, bytes_of(6 << 20, kLast));
  EXPECT_EQ(store.set("too large", bytes_of(100 << 20, 1)), StoreStatus::no_space);
  EXPECT_TRUE(store.check().errors.empty());
}

TEST_F(StoreTest, LargeValuesBesideTheirChanges) {
  Store store = make({.max_value_bytes = kLarge});
  std::atomic<bool> ends = false;
  const std::jthread changing([&] {
    for (unsigned i = 0; i < (kSanitized ? 10 : 60); ++i)
      store.set("key", std::string((3 << 20) + i * 50'000, static_cast<char>('a' + i % 26)));
    ends = true;
  });
  while (!ends) {
    const auto item = store.get("key");
    if (!item) continue;
    ASSERT_EQ(item->value.find_first_not_of(item->value[0]), std::string::npos) << "torn";
  }
}

}  // namespace
}  // namespace holdfast
