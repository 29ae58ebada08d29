// single_calls_test.cpp: calls with one key that several threads make at once are executed together where the index is on a GPU.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "holdfast/error.hpp"
#include "store/combined.hpp"
#include "store/stand_in_index.hpp"
#include "store/store_fixture.hpp"

namespace holdfast {
namespace {

using namespace std::chrono_literals;

/// Calls of several threads, each with its number; the first is executed for `pause`, in which all others should come.
class CombinedCalls : public testing::Test {
 protected:
  /// `act(numbers)` executes a batch.
  template <class Act>
  void run(int threads, const Act& act, std::chrono::milliseconds pause = 20ms) {
    std::promise<void> first_is_in, go;
    std::vector<std::jthread> all;
    const auto call = [&](int number) {
      const int mine = number;
      try {
        calls_.run(mine, [&](std::span<const int* const> some) {
          if (number == 0) {
            first_is_in.set_value();
            go.get_future().wait();
          }
          const std::lock_guard lock(mutex_);
          batches_.emplace_back();
          for (const int* one : some) batches_.back().push_back(*one);
          act(batches_.back());
        });
        ++done_;
      } catch (const DeviceError&) {
        ++failed_;
      }
    };
    all.emplace_back(call, 0);
    first_is_in.get_future().wait();
    for (int i = 1; i < threads; ++i) all.emplace_back(call, i);
    std::this_thread::sleep_for(pause);
    go.set_value();
  }
  store::Combined<int> calls_;
  std::mutex mutex_;
  std::vector<std::vector<int>> batches_;
  std::atomic<int> done_ = 0, failed_ = 0;
};

TEST_F(CombinedCalls, ThoseThatWaitAreOneBatch) {
  for (std::chrono::milliseconds pause = 50ms; pause < 15s && batches_.size() != 2;
       pause *= 4) {  // on a busy machine a thread may come late
    batches_.clear();
    done_ = 0;
    run(
        8, [](const auto&) {}, pause);
    EXPECT_EQ(done_, 8);
  }
  ASSERT_EQ(batches_.size(), 2u);
  EXPECT_EQ(batches_[0], std::vector<int>{0});
  std::ranges::sort(batches_[1]);
  EXPECT_EQ(batches_[1], (std::vector<int>{1, 2, 3, 4, 5, 6, 7}));
  run(3, [](const auto&) {});
  EXPECT_EQ(done_, 11);
}

TEST_F(CombinedCalls, AnErrorIsThatOfItsBatch) {
  run(5, [](const std::vector<int>& batch) {
    if (batch.front() != 0) throw DeviceError("lost");
  });
  EXPECT_EQ(done_, 1);
  EXPECT_EQ(failed_, 4);
  run(1, [](const auto&) {});
  EXPECT_EQ(done_, 2);
}

#ifndef HOLDFAST_WITH_CUDA

/// With a stand-in for a GPU's index that takes its time, so that calls meet.
class StoreSingleCalls : public StoreTest {
 protected:
  void TearDown() override {
    store::StandIn::pause_us = 0;
    store::StandIn::calls_left = -1;
  }
  template <class Act>
  static void in_threads(const Act& act) {
    std::vector<std::jthread> all;
    for (int thread = 0; thread < kThreads; ++thread) all.emplace_back([&, thread] { act(thread); });
  }
  static std::string key(int thread, int i) { return "key " + std::to_string(thread) + " " + std::to_string(i % 5); }
  static constexpr int kThreads = 8, kCalls = kSanitized ? 20 : 60;
};

TEST_F(StoreSingleCalls, CallsOfSeveralThreadsAreAFewOfTheIndex) {
  Store store = make({.index = StoreIndex::gpu});
  for (int i = 0; i < 5 * kThreads; ++i) store.set(key(i / 5, i), "1");
  store::StandIn::pause_us = 300;
  store::StandIn::calls = 0;
  in_threads([&](int thread) {
    for (int i = 0; i < kCalls; ++i) EXPECT_EQ(store.get(key(thread, i))->value, "1");
  });
  EXPECT_LT(store::StandIn::calls, kThreads * kCalls / 2u);
  store::StandIn::calls = 0;
  in_threads([&](int thread) {
    for (int i = 0; i < kCalls; ++i) EXPECT_EQ(store.set(key(thread, i), "2"), StoreStatus::updated);
  });
  EXPECT_LT(store::StandIn::calls, kThreads * kCalls) << "alone each is a search and an exchange";
  EXPECT_TRUE(store.check().errors.empty());
}

TEST_F(StoreSingleCalls, EveryCallHasItsAnswer) {
  for (const bool fails : {false, true}) {
    Store store = Store::create(pool_, fails ? "failing" : "s", {.index = StoreIndex::gpu});
    store::StandIn::pause_us = 50;
    store.set("count", "0");
    store::StandIn::calls_left = fails ? 100 : -1;
    in_threads([&](int thread) {
      for (int i = 0; i < kCalls; ++i) {
        const std::string mine = "mine " + std::to_string(thread), text = std::to_string(i);
        std::uint64_t count = 0;
        EXPECT_EQ(store.increment("count", 1, count), StoreStatus::updated);
        EXPECT_GT(count, static_cast<std::uint64_t>(i));
        EXPECT_EQ(store.set(mine, text, {.flags = 7}), StoreStatus::inserted);
        EXPECT_EQ(store.add(mine, "x"), StoreStatus::exists);
        const auto item = store.get(mine);
        ASSERT_TRUE(item.has_value());
        EXPECT_EQ(item->value, text);
        EXPECT_EQ(item->flags, 7u);
        EXPECT_EQ(store.cas(mine, "9", item->cas + 1), StoreStatus::mismatch);
        EXPECT_EQ(store.cas(mine, "9", item->cas), StoreStatus::updated);
        EXPECT_EQ(store.append(mine, "0"), StoreStatus::updated);
        EXPECT_EQ(store.decrement(mine, 100, count), StoreStatus::updated);
        EXPECT_EQ(count, 0u);
        EXPECT_EQ(store.mark_stale(mine), StoreStatus::updated);
        EXPECT_TRUE(store.get(mine)->is_stale);
        EXPECT_TRUE(store.contains(mine));
        EXPECT_EQ(store.touch(mine, 1), StoreStatus::updated);
        EXPECT_FALSE(store.contains(mine));
        EXPECT_EQ(store.replace(mine, "y"), StoreStatus::not_found);
        EXPECT_EQ(store.erase(mine), StoreStatus::not_found);
      }
    });
    EXPECT_EQ(store.get("count")->value, std::to_string(kThreads * kCalls));
    EXPECT_EQ(store.stats().index_on_gpu, !fails);
    EXPECT_TRUE(store.check().errors.empty());
  }
}

TEST_F(StoreSingleCalls, ReadsGoOnWhereChangesAreRefused) {
  make({.index = StoreIndex::gpu}).set("a", "1");
  pool_.close();
  pool_ = Pool::open(path_, {.read_only = true});
  Store store = Store::open(pool_, "s", {.index = StoreIndex::gpu});
  store::StandIn::pause_us = 100;
  in_threads([&](int thread) {
    for (int i = 0; i < 20; ++i) {
      if (thread % 2 == 0) {
        EXPECT_EQ(store.get("a")->value, "1");
      } else {
        EXPECT_THROW(store.set("a", "2"), ReadOnly);
      }
    }
  });
  store.close();
  EXPECT_THROW(store.get("a"), ObjectClosed);
  EXPECT_THROW(store.set("a", "2"), ObjectClosed);
}

#endif

}  // namespace
}  // namespace holdfast
