// copies_test.cpp: parts of values that are copied into reservations and out of leases: on the host, and by a device that copies late.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <random>
#include <thread>

#include "holdfast/store_memory.hpp"
#include "store/in_place/fake_device.hpp"
#include "store/store_fixture.hpp"
#include "support/errors.hpp"

namespace holdfast {

#ifndef HOLDFAST_WITH_CUDA
std::unique_ptr<store::DeviceSide> store::make_device_side() { return std::make_unique<FakeSide>(); }
#endif

namespace {

class StoreCopies : public StoreTest {
 protected:
  Store large() { return make({.limit_bytes = 256 << 20, .max_value_bytes = 64u << 20}); }
};

Strings keys_of(std::size_t size) {
  std::vector<std::string> keys;
  for (std::size_t i = 0; i < size; ++i) keys.push_back("block " + std::to_string(i));
  return Strings(keys);
}
std::string random_text(std::mt19937_64& random, std::size_t bytes) {
  std::string text(bytes, '\0');
  for (char& byte : text) byte = static_cast<char>(random());
  return text;
}
/// Parts of all texts, of up to `most` bytes, in any order.
template <class Part>
std::vector<Part> parts_of(std::vector<std::string>& texts, std::size_t most, std::mt19937_64& random) {
  std::vector<Part> parts;
  for (std::size_t row = 0; row < texts.size(); ++row) {
    for (std::size_t at = 0; at < texts[row].size();) {
      const std::size_t bytes = std::min<std::size_t>(1 + random() % most, texts[row].size() - at);
      parts.push_back({row, at, texts[row].data() + at, bytes});
      at += bytes;
    }
  }
  std::shuffle(parts.begin(), parts.end(), random);
  return parts;
}
TEST_F(StoreCopies, PartsOfValuesComeToTheirPlaces) {
  Store store = large();
  std::mt19937_64 random(7);
  std::vector<std::string> texts;
  std::vector<std::uint64_t> bytes;
  for (std::size_t i = 0; i < 60; ++i) {
    texts.push_back(random_text(random, i % 20 == 0 ? 5'000'003 : i % 7 == 0 ? 0 : random() % 300'000));
    bytes.push_back(texts.back().size());
  }
  const Strings keys = keys_of(texts.size());
  StoreReservation reserved = store.reserve(rows_of(keys), bytes);
  StoreTransfer in = reserved.copy_in(parts_of<StoreSource>(texts, 200'000, random));
  EXPECT_TRUE(in.poll());
  in.wait();
  EXPECT_EQ(store.size(), 0u);
  for (std::size_t row = 0; row < texts.size(); ++row) ASSERT_EQ(reserved.commit(row), StoreStatus::inserted);
  for (std::size_t row = 0; row < texts.size(); ++row) {
    ASSERT_TRUE(store.get("block " + std::to_string(row))->value == texts[row]) << row;
  }
  StoreLease lease = store.lease(rows_of(keys));
  std::vector<std::string> copies;
  for (const std::string& text : texts) copies.emplace_back(text.size(), '?');
  lease.copy_out(parts_of<StoreTarget>(copies, 100'000, random)).wait();
  EXPECT_TRUE(copies == texts);
  EXPECT_TRUE(store.check().errors.empty());
  EXPECT_THROW(store.close(), InvalidArgument);
  for (std::size_t row = 0; row < texts.size(); ++row) lease.release(row);
  store.close();  // though the objects are there
  EXPECT_FALSE(lease.has(0));
}

TEST_F(StoreCopies, BadPartsCopyNothing) {
  Store store = large();
  const std::vector<std::uint64_t> bytes = {8, 8};
  StoreReservation reserved = store.reserve(rows_of(strings({"a", "b"})), bytes);
  char ones[] = "11111111", twos[] = "22222222";
  const StoreSource good{0, 0, twos, 8};
  const auto refuses = [&](const StoreSource& bad, const std::string& what) {
    test::expect_error<InvalidArgument>([&] { reserved.copy_in(std::vector{good, bad}); }, what);
  };
  reserved.copy_in(std::vector<StoreSource>{{0, 0, ones, 8}, {1, 0, ones, 8}});
  refuses({1, 1, twos, 8}, "part 1, of row 1, has 8 bytes from 1 on, and the value has 8");
  refuses({1, ~std::uint64_t{0}, twos, 2}, "part 1, of row 1, has 2 bytes from");
  refuses({1, 9, twos, 0}, "part 1, of row 1, has 0 bytes from 9");
  refuses({1, 0, nullptr, 8}, "has no memory");
  refuses({2, 0, twos, 8}, "row 2 is not among the 2 there are");
  refuses({1, 0, twos, 8, true}, "opened without one: open it with the option gpu");
  reserved.copy_in(std::vector<StoreSource>{{1, 8, nullptr, 0}});
  reserved.commit(0);
  reserved.commit(1);
  EXPECT_EQ(store.get("a")->value, "11111111");
  refuses({1, 0, twos, 8}, "row 0 was committed before: reserve its key again");

  StoreLease lease = store.lease(rows_of(strings({"a", "none"})));
  char target[9] = "????????";
  EXPECT_THROW(lease.copy_out(std::vector<StoreTarget>{{0, 0, target, 8}, {1, 0, target, 8}}), InvalidArgument);
  EXPECT_THROW(lease.copy_out(std::vector<StoreTarget>{{0, 4, target, 5}}), InvalidArgument);
  EXPECT_STREQ(target, "????????");
  lease.release(0);
  EXPECT_THROW(lease.copy_out(std::vector<StoreTarget>{{0, 0, target, 8}}), InvalidArgument);
  EXPECT_TRUE(StoreTransfer().poll());
  StoreLease moved = std::move(lease);
  EXPECT_THROW(lease.release(0), ObjectClosed);
  EXPECT_EQ(moved.size(), 2u);
}

TEST_F(StoreCopies, LeasesOfAPrefix) {
  Store store = large();
  for (const char* key : {"block 0", "block 1", "block 3"}) store.set(key, key);
  EXPECT_EQ(store.lookup(rows_of(keys_of(4))), 2u);
  StoreLease lease = store.lease_present(rows_of(keys_of(4)));
  EXPECT_EQ(lease.size(), 2u);
  EXPECT_TRUE(lease.has(1));
  EXPECT_FALSE(lease.has(2));
  EXPECT_EQ(store.lease_present(rows_of(keys_of(0))).size(), 0u);
}

TEST_F(StoreCopies, ThreadsFillRowsOfOneReservation) {
  Store store = large();
  constexpr std::size_t kRows = 64, kBytes = 100'000;
  const Strings keys = keys_of(kRows);
  for (int round = 0; round < (kSanitized ? 2 : 10); ++round) {
    StoreReservation reserved = store.reserve(rows_of(keys), std::vector<std::uint64_t>(kRows, kBytes));
    std::vector<std::jthread> threads;
    for (unsigned thread = 0; thread < 4; ++thread) {
      threads.emplace_back([&, thread] {
        for (std::size_t row = thread; row < kRows; row += 4) {
          const std::string text(kBytes, static_cast<char>('a' + (row + static_cast<unsigned>(round)) % 26));
          reserved.copy_in(
              std::vector<StoreSource>{{row, 0, text.data(), kBytes / 2}, {row, kBytes / 2, text.data(), kBytes / 2}});
          reserved.commit(row);
        }
      });
    }
    threads.clear();
    for (std::size_t row = 0; row < kRows; ++row) {
      ASSERT_TRUE(store.get("block " + std::to_string(row))->value ==
                  std::string(kBytes, static_cast<char>('a' + (row + static_cast<unsigned>(round)) % 26)));
    }
  }
  EXPECT_TRUE(store.check().errors.empty());
}

#ifndef HOLDFAST_WITH_CUDA

class StoreDeviceCopies : public StoreCopies {
 protected:
  Store on_gpu() { return make({.limit_bytes = 64 << 20, .max_value_bytes = 64u << 20, .gpu = true}); }
  static StoreReservation reserve(Store& store, const std::string& key, std::size_t bytes) {
    return store.reserve(rows_of(strings({key})), std::vector<std::uint64_t>{bytes});
  }
  store::FakeDevice device_;
};

TEST_F(StoreDeviceCopies, CommitComesAfterTheBytes) {
  Store store = on_gpu();
  const std::string text(3'000'000, 'x');
  StoreReservation reserved = reserve(store, "a", text.size());
  const StoreTransfer transfer = reserved.copy_in(std::vector<StoreSource>{{0, 0, text.data(), text.size(), true}});
  EXPECT_FALSE(transfer.poll());
  EXPECT_EQ(reserved.commit(0), StoreStatus::inserted);
  EXPECT_TRUE(transfer.poll());
  EXPECT_TRUE(store.get("a")->value == text);
  EXPECT_EQ(device_.copies, 1u);
}

TEST_F(StoreDeviceCopies, AllCopiesOfARowAreWaitedFor) {
  Store store = on_gpu();
  std::string text(20 * 1'000, '?');
  for (std::size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>(i / 1'000);
  StoreReservation reserved = reserve(store, "a", text.size());
  for (std::size_t at = 0; at < text.size(); at += 1'000) {
    reserved.copy_in(std::vector<StoreSource>{{0, at, text.data() + at, 500, true},
                                              {0, at + 500, text.data() + at + 500, 500, true}});
  }
  reserved.commit(0);
  EXPECT_TRUE(store.get("a")->value == text);
}

TEST_F(StoreDeviceCopies, AbortedMemoryGetsNoLateBytes) {
  Store store = on_gpu();
  const std::string late(900'000, 'l'), text(900'000, 't');
  for (const bool explicitly : {true, false}) {
    StoreTransfer transfer;
    {
      StoreReservation reserved = reserve(store, "a", late.size());
      transfer = reserved.copy_in(std::vector<StoreSource>{{0, 0, late.data(), late.size(), true}});
      if (explicitly) reserved.abort(0);
    }
    for (int i = 0; i < 40; ++i) store.set("b" + std::to_string(i), text);
    transfer.wait();
    for (int i = 0; i < 40; ++i) {
      ASSERT_TRUE(store.get("b" + std::to_string(i))->value == text);
      store.erase("b" + std::to_string(i));
    }
  }
}

TEST_F(StoreDeviceCopies, LeasesEndAfterTheirCopies) {
  Store store = on_gpu();
  const std::string text(900'000, 't'), other(900'000, 'o');
  for (const bool explicitly : {true, false}) {
    store.set("a", text);
    std::string target(text.size(), '?');
    StoreTransfer transfer;
    {
      StoreLease lease = store.lease(rows_of(strings({"a"})));
      transfer = lease.copy_out(std::vector<StoreTarget>{{0, 0, target.data(), target.size(), true}});
      store.erase("a");
      if (explicitly) lease.release(0);
    }
    for (int i = 0; i < 50; ++i) store.set("b" + std::to_string(i), other);
    transfer.wait();
    EXPECT_TRUE(target == text);
    for (int i = 0; i < 50; ++i) store.erase("b" + std::to_string(i));
  }
}

TEST_F(StoreDeviceCopies, FailedCopiesAreNotCommitted) {
  Store store = on_gpu();
  store.set("a", "before");
  const std::string text(100'000, 'x');
  StoreReservation reserved = reserve(store, "a", text.size());
  device_.fails = true;
  const StoreTransfer transfer = reserved.copy_in(std::vector<StoreSource>{{0, 0, text.data(), text.size(), true}});
  EXPECT_THROW(static_cast<void>(transfer.poll()), DeviceError);
  EXPECT_THROW(transfer.wait(), DeviceError);
  EXPECT_THROW(reserved.commit(0), DeviceError);
  EXPECT_THROW(reserved.commit(0), DeviceError) << "again";
  EXPECT_TRUE(reserved.has(0));
  reserved.abort(0);
  EXPECT_FALSE(reserved.has(0));
  EXPECT_EQ(store.get("a")->value, "before");
}

TEST_F(StoreDeviceCopies, ARowEndsAfterTheCallsThatCopy) {
  Store store = on_gpu();
  const std::string text(100'000, 'x');
  StoreReservation reserved = reserve(store, "a", text.size());
  std::promise<void> inside, go;
  device_.during = [&] {
    inside.set_value();
    go.get_future().wait();
  };
  std::jthread copying([&] { reserved.copy_in(std::vector<StoreSource>{{0, 0, text.data(), text.size(), true}}); });
  inside.get_future().wait();
  auto committed = std::async(std::launch::async, [&] { return reserved.commit(0); });
  const auto limit = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (reserved.has(0) && std::chrono::steady_clock::now() < limit)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_FALSE(reserved.has(0)) << "it is being committed";
  EXPECT_EQ(committed.wait_for(std::chrono::milliseconds(100)), std::future_status::timeout);
  EXPECT_THROW(reserved.abort(0), InvalidArgument);
  go.set_value();
  EXPECT_EQ(committed.get(), StoreStatus::inserted);
  EXPECT_TRUE(store.get("a")->value == text);
}

TEST_F(StoreDeviceCopies, TheMemoryOfItemsIsMapped) {
  {
    Store store = on_gpu();
    StoreReservation reserved = reserve(store, "a", 40 << 20);  // the heap grows
    ASSERT_TRUE(reserved.has(0));
    for (const auto piece : reserved.pieces(0)) {
      for (std::size_t at = 0; at < piece.size(); at += 4096) ASSERT_TRUE(device_.covers(piece.data() + at, 1));
    }
    device_.error = "no more";
    StoreReservation second = reserve(store, "b", 20 << 20);
    EXPECT_FALSE(second.has(0)) << "a GPU does not reach what the heap grew by";
    EXPECT_EQ(store.set("small", "s"), StoreStatus::inserted);
    reserved.abort(0);
    StoreReservation third = reserve(store, "b", 20 << 20);
    EXPECT_TRUE(third.has(0));
  }
  EXPECT_TRUE(device_.mapped.empty());
  reopen_pool();
  EXPECT_THROW(Store::open(pool_, "s", {.gpu = true}), DeviceError);
  EXPECT_EQ(Store::open(pool_, "s").get("small")->value, "s");
}

#endif

}  // namespace
}  // namespace holdfast
