// in_place_test.cpp: reservations and leases of a store.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <thread>

#include "holdfast/store_memory.hpp"
#include "holdfast/strings.hpp"
#include "holdfast/table.hpp"
#include "store/store_fixture.hpp"

namespace holdfast {
namespace {

class StoreInPlace : public testing::Test {
 protected:
  StoreInPlace() : pool_(Pool::create(path_, true)) {}
  ~StoreInPlace() override { std::remove(path_.c_str()); }
  Store make(const StoreOptions& options = {.max_value_bytes = 64u << 20}) {
    return Store::create(pool_, "s", options);
  }
  template <class Call>
  static void refuses(const Call& call, const std::string& what) {
    try {
      call();
      ADD_FAILURE() << "nothing was thrown";
    } catch (const InvalidArgument& error) {
      EXPECT_NE(std::string(error.what()).find(what), std::string::npos) << error.what();
    }
  }

  const std::string path_ = "/dev/shm/holdfast-in-place-" + std::to_string(getpid());
  Pool pool_;
};

void fill(std::span<const std::span<std::byte>> pieces, char with) {
  for (const std::span<std::byte> piece : pieces) std::memset(piece.data(), with, piece.size());
}
std::string text_of(std::span<const std::span<const std::byte>> pieces) {
  std::string text;
  for (const std::span<const std::byte> piece : pieces) {
    text.append(reinterpret_cast<const char*>(piece.data()), piece.size());
  }
  return text;
}

TEST_F(StoreInPlace, WhatIsReservedIsFoundWhenItIsCommitted) {
  Store store = make();
  store.set("b", "before");
  const std::vector<std::uint64_t> bytes = {0, 7, 1 << 20, 5'000'001};
  const Strings keys = strings({"empty", "b", "c", "d"});
  {
    StoreReservation reserved = store.reserve(rows_of(keys), bytes, std::vector<ItemOptions>{{.flags = 9}});
    ASSERT_EQ(reserved.size(), 4u);
    EXPECT_EQ(reserved.pieces(0).size(), 0u);
    EXPECT_EQ(reserved.pieces(1).size(), 1u);
    EXPECT_EQ(reserved.pieces(2).size(), 1u) << "one piece up to 1 MiB";
    EXPECT_EQ(reserved.pieces(3).size(), 3u);
    for (std::size_t row = 0; row < 4; ++row) {
      std::size_t size = 0;
      for (const auto piece : reserved.pieces(row)) size += piece.size();
      EXPECT_EQ(size, bytes[row]);
      std::thread([&] { fill(reserved.pieces(row), static_cast<char>('a' + row)); }).join();
    }
    EXPECT_EQ(store.get("b")->value, "before");
    EXPECT_FALSE(store.contains("d"));
    EXPECT_EQ(store.size(), 1u);
    EXPECT_THROW(store.close(), InvalidArgument);
    EXPECT_EQ(reserved.commit(0), StoreStatus::inserted);
    EXPECT_EQ(reserved.commit(1), StoreStatus::updated);
    EXPECT_EQ(reserved.commit(3), StoreStatus::inserted);
    refuses([&] { reserved.commit(3); }, "row 3 was committed before: reserve its key again");
    refuses([&] { reserved.abort(3); }, "row 3 was committed before");
    refuses([&] { reserved.pieces(3); }, "row 3 was committed before");
    reserved.abort(2);
    refuses([&] { reserved.commit(2); }, "row 2 was aborted before: reserve its key again");
    refuses([&] { reserved.abort(2); }, "row 2 was aborted before");
    refuses([&] { reserved.commit(4); }, "row 4 is not among the 4 there are");
    EXPECT_FALSE(reserved.has(2));
  }
  EXPECT_EQ(store.get("empty")->value, "");
  EXPECT_EQ(store.get("b")->value, "bbbbbbb");
  EXPECT_EQ(store.get("b")->flags, 9u);
  EXPECT_FALSE(store.contains("c"));
  EXPECT_EQ(store.get("d")->value, std::string(5'000'001, 'd'));
  EXPECT_EQ(store.lookup(rows_of(strings({"d", "b", "c", "empty"}))), 2u);
  EXPECT_EQ(store.lookup(rows_of(strings({"d", "b"}))), 2u);
  store.close();
  EXPECT_EQ(Store::open(pool_, "s").get("d")->value, std::string(5'000'001, 'd'));
}

TEST_F(StoreInPlace, WhatIsNotCommittedGoesWithItsMemory) {
  Store store = make({.limit_bytes = 16 << 20, .max_value_bytes = 64u << 20});
  for (int round = 0; round < 20; ++round) {
    const std::vector<std::uint64_t> bytes = {9 << 20};
    StoreReservation reserved = store.reserve(rows_of(strings({"k"})), bytes);
    ASSERT_TRUE(reserved.has(0)) << round;
    StoreReservation second = store.reserve(rows_of(strings({"k"})), bytes);
    EXPECT_FALSE(second.has(0)) << "it counts against the limit";
    refuses([&] { second.commit(0); }, "has no memory: the store had none when it was reserved");
  }
  EXPECT_EQ(store.size(), 0u);
}

TEST_F(StoreInPlace, LeasedValuesStayAsTheyAre) {
  Store store = make({.limit_bytes = 64 << 20, .max_value_bytes = 64u << 20});
  store.set("small", "first", {.flags = 3});
  store.set("large", std::string(5 << 20, 'l'));
  StoreLease lease = store.lease(rows_of(strings({"small", "none", "large"})));
  EXPECT_FALSE(lease.has(1));
  refuses([&] { lease.pieces(1); }, "row 1 of a lease has no value: its key was absent");
  EXPECT_EQ(lease.flags(0), 3u);
  EXPECT_EQ(lease.bytes(2), std::uint64_t{5} << 20);
  EXPECT_EQ(lease.cas(0), store.get("small")->cas);
  EXPECT_THROW(store.close(), InvalidArgument);
  for (int i = 0; i < 40; ++i) {
    store.set("small", "other " + std::to_string(i));
    store.set("large", std::string(5 << 20, 'x'));
    store.erase("large");
  }
  EXPECT_FALSE(store.contains("large"));
  EXPECT_EQ(text_of(lease.pieces(0)), "first");
  EXPECT_EQ(text_of(lease.pieces(2)), std::string(5 << 20, 'l'));
  lease.release(2);
  EXPECT_FALSE(lease.has(2));
  refuses([&] { lease.release(2); }, "row 2 was released before: lease its key again");
  EXPECT_EQ(text_of(lease.pieces(0)), "first");
}

TEST_F(StoreInPlace, EvictionGoesAroundLeases) {
  Store store = make({.limit_bytes = 8 << 20, .evict = true});
  store.set("kept", std::string(10'000, 'k'));
  {
    const StoreLease lease = store.lease(rows_of(strings({"kept"})));
    for (int i = 0; i < 3'000; ++i) {
      ASSERT_EQ(store.set(std::to_string(i), std::string(10'000, 'v')), StoreStatus::inserted);
    }
    EXPECT_EQ(text_of(lease.pieces(0)), std::string(10'000, 'k'));
  }
  for (int i = 0; i < 3'000; ++i) store.set(std::to_string(i), std::string(10'000, 'v'));
  EXPECT_FALSE(store.contains("kept"));
}

TEST_F(StoreInPlace, LeasesBesideChanges) {
  Store store = make({.limit_bytes = 32 << 20, .max_value_bytes = 64u << 20});
  std::atomic<bool> ends = false;
  std::jthread changing([&] {
    for (int i = 0; i < (kSanitized ? 150 : 3'000); ++i) {
      const char letter = static_cast<char>('a' + i % 26);
      store.set("key", std::string(i % 10 == 0 ? 3 << 20 : 1'000, letter));
      if (i % 7 == 0) store.erase("key");
    }
    ends = true;
  });
  const Strings key = strings({"key"});
  while (!ends) {
    const StoreLease lease = store.lease(rows_of(key));
    if (!lease.has(0)) continue;
    const std::string once = text_of(lease.pieces(0));
    ASSERT_FALSE(once.empty());
    ASSERT_EQ(once.find_first_not_of(once[0]), std::string::npos) << "torn";
    std::this_thread::yield();
    ASSERT_EQ(text_of(lease.pieces(0)), once);
  }
  changing.join();
  EXPECT_TRUE(store.check().errors.empty());
}

/// The key's item is replaced, behind the visit, by one whose memory was reserved before the visit began.
TEST_F(StoreInPlace, AVisitSeesWhatWasReservedBefore) {
  Store store = make();
  for (int i = 0; i < 100; ++i) store.set("key " + std::to_string(i), std::string(100'000, 'v'));
  store.set("key", "old");
  StoreReservation reserved = store.reserve(rows_of(strings({"key"})), std::vector<std::uint64_t>{2'000'000});
  StoreScan scan;
  int seen = 0;
  const auto look = [&](std::string_view key, const StoreItem&) {
    seen += key == "key";
    return true;
  };
  ASSERT_TRUE(store.visit_some(scan, look));
  ASSERT_EQ(seen, 0) << "the first piece is a directory";
  ASSERT_EQ(reserved.commit(0), StoreStatus::updated);
  while (store.visit_some(scan, look)) {
  }
  EXPECT_EQ(seen, 1);
}

}  // namespace
}  // namespace holdfast
