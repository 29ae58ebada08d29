// call_slots_test.cpp: short calls and lockers exclude each other, threads have numbers of their own, and epochs count short calls.
#include "threads/call_slots.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "reclaim/epochs.hpp"
#include "threads/gate.hpp"
#include "threads/thread_number.hpp"

namespace holdfast {
namespace {

using threads::CallSlots;
using threads::ShortCall;
using Kind = CallSlots::Kind;
using Closes = CallSlots::Closes;

TEST(ThreadNumbers, NoTwoLivingThreadsShareOne) {
  const unsigned mine = threads::thread_number();
  EXPECT_LT(mine, threads::kThreadNumbers);
  EXPECT_EQ(threads::thread_number(), mine);
  std::set<unsigned> earlier;
  for (int round = 0; round < 2; ++round) {
    std::atomic<unsigned> ready{0};
    std::mutex mutex;
    std::set<unsigned> numbers{mine};
    std::vector<std::thread> all;
    for (unsigned i = 0; i < 16; ++i) {
      all.emplace_back([&] {
        {
          const std::lock_guard lock(mutex);
          numbers.insert(threads::thread_number());
        }
        ++ready;
        while (ready < 16) std::this_thread::yield();
      });
    }
    for (std::thread& thread : all) thread.join();
    EXPECT_EQ(numbers.size(), 17u);
    if (round == 1) {
      EXPECT_EQ(numbers, earlier) << "numbers of threads that ended are used again";
    }
    earlier = numbers;
  }
}

TEST(CallSlots, ManyThreadsHaveNumbersAndTheRestHaveNone) {
  CallSlots calls;
  std::atomic<unsigned> asked{0}, without{0};
  std::vector<std::thread> all;
  constexpr unsigned kThreads = threads::kThreadNumbers + 8;
  for (unsigned i = 0; i < kThreads; ++i) {
    all.emplace_back([&] {
      const ShortCall call(calls, Kind::search);
      if (!call) ++without;
      ++asked;
      while (asked < kThreads) std::this_thread::yield();
    });
  }
  for (std::thread& thread : all) thread.join();
  EXPECT_GE(without, 8u);
  EXPECT_LE(without, 9u + 2u) << "this thread and few others have numbers too";
}

TEST(CallSlots, AClosedSlotRefusesWhatItExcludes) {
  CallSlots calls;
  const auto enters = [&](Kind kind) { return static_cast<bool>(ShortCall(calls, kind)); };
  EXPECT_TRUE(enters(Kind::search) && enters(Kind::change));
  calls.close(Closes::changes);
  EXPECT_TRUE(enters(Kind::search));
  EXPECT_FALSE(enters(Kind::change));
  calls.close(Closes::all);
  EXPECT_FALSE(enters(Kind::search) || enters(Kind::change));
  calls.open(Closes::changes);
  EXPECT_FALSE(enters(Kind::search) || enters(Kind::change));
  calls.open(Closes::all);
  EXPECT_TRUE(enters(Kind::search) && enters(Kind::change));
}

TEST(CallSlots, ALockWaitsForCallsThatItExcludes) {
  CallSlots calls;
  threads::Gate use{threads::Gate::Rank::use, &calls, &calls, calls, Closes::all};
  std::atomic<bool> inside{false}, go{false}, locked{false};
  std::thread caller([&] {
    const ShortCall call(calls, Kind::search);
    inside = static_cast<bool>(call);
    while (!go) std::this_thread::yield();
    EXPECT_FALSE(locked);
  });
  while (!inside) std::this_thread::yield();
  std::thread locker([&] {
    const std::unique_lock lock(use);
    locked = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_FALSE(locked);
  go = true;
  caller.join();
  locker.join();
  EXPECT_TRUE(locked);
}

TEST(CallSlots, AThreadThatStaysInsideLeavesWhenItPassesAGate) {
  CallSlots calls;
  threads::Gate use{threads::Gate::Rank::use, &calls, &calls, calls, Closes::all};
  const unsigned number = threads::thread_number();
  { const ShortCall call(calls, Kind::search, true); }
  EXPECT_TRUE(calls.is_inside(number));
  { const ShortCall call(calls, Kind::change); }
  EXPECT_TRUE(calls.is_inside(number)) << "a call between them does not end the stay";
  { const std::unique_lock lock(use); }  // waits for no call but this thread's
  EXPECT_FALSE(calls.is_inside(number));
}

TEST(CallSlots, AThreadThatStaysInsideLeavesAtItsNextCallIfALockerWaits) {
  CallSlots calls;
  threads::Gate use{threads::Gate::Rank::use, &calls, &calls, calls, Closes::all};
  { const ShortCall call(calls, Kind::search, true); }
  std::atomic<bool> locked{false};
  std::thread locker([&] {
    const std::unique_lock lock(use);
    locked = true;
  });
  while (!locked && ShortCall(calls, Kind::search, true)) std::this_thread::yield();
  locker.join();
  EXPECT_TRUE(locked);
}

/// Words that only one side at a time writes: if both were inside, TSan and the sums would show it.
TEST(CallSlots, CallsAndLocksExcludeEachOther) {
  CallSlots calls;
  threads::Gate changes{threads::Gate::Rank::changes, &calls, &calls, calls, Closes::changes};
  constexpr unsigned kCallers = 3;
  struct alignas(64) Count {
    std::uint64_t n = 0;
  } of_caller[kCallers];
  std::atomic<bool> stop{false};
  std::uint64_t refused[kCallers] = {};
  std::vector<std::thread> all;
  for (unsigned c = 0; c < kCallers; ++c) {
    all.emplace_back([&, c] {
      while (!stop) {
        const ShortCall call(calls, Kind::change, c == 0);
        if (!call) {
          ++refused[c];
          std::this_thread::yield();
          continue;
        }
        ++of_caller[c].n;
      }
      if (calls.is_inside(threads::thread_number())) calls.leave(threads::thread_number());
    });
  }
  for (unsigned round = 0; round < 2000; ++round) {
    const std::unique_lock lock(changes);
    const std::uint64_t before[kCallers] = {of_caller[0].n, of_caller[1].n, of_caller[2].n};
    if (round % 16 == 0) std::this_thread::yield();
    for (unsigned c = 0; c < kCallers; ++c) ASSERT_EQ(of_caller[c].n, before[c]) << "a call ran beside a lock";
  }
  stop = true;
  for (std::thread& thread : all) thread.join();
}

TEST(Epochs, DoNotAdvancePastAShortCall) {
  CallSlots calls;
  reclaim::Epochs epochs(calls);
  const std::uint64_t begin = epochs.now();
  std::atomic<int> step{0};
  std::thread caller([&] {
    const ShortCall call(calls, Kind::search);
    step = 1;
    while (step != 2) std::this_thread::yield();
  });
  while (step != 1) std::this_thread::yield();
  for (int i = 0; i < 8; ++i) epochs.try_advance();
  EXPECT_LE(epochs.now(), begin + 1) << "what was retired in the call's epoch would be used again";
  step = 2;
  caller.join();
  for (int i = 0; i < 8; ++i) epochs.try_advance();
  EXPECT_GT(epochs.now(), begin + 1);
}

TEST(Epochs, AThreadThatStaysInsideAnnouncesNewEpochs) {
  CallSlots calls;
  reclaim::Epochs epochs(calls);
  const std::uint64_t begin = epochs.now();
  for (int i = 0; i < 8; ++i) {
    { const ShortCall call(calls, Kind::search, true); }
    epochs.try_advance();
  }
  EXPECT_EQ(epochs.now(), begin + 8);
}

}  // namespace
}  // namespace holdfast
