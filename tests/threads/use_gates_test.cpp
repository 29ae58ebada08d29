// use_gates_test.cpp: calls inside and threads that lock a gate exclude each other, whether or not the calls have slots.
#include "threads/use_gates.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>
#include <vector>

#include "threads/thread_number.hpp"

namespace holdfast {
namespace {

using threads::Inside;
using threads::UseGates;
using Kind = Inside::Kind;

constexpr auto kAWhile = std::chrono::milliseconds(20);

/// True if a call of another thread gets inside within a while, although this thread holds what it holds.
class Attempt {
 public:
  Attempt(UseGates& gates, Kind kind)
      : thread_([&gates, kind, this] {
          const Inside inside(gates, kind);
          inside_ = true;
        }) {}
  ~Attempt() { thread_.join(); }
  Attempt(const Attempt&) = delete;
  Attempt& operator=(const Attempt&) = delete;
  bool is_inside() const {
    for (unsigned i = 0; i < 3000 && !inside_; ++i) std::this_thread::sleep_for(kAWhile);  // a minute
    return inside_;
  }
  bool waits() const {
    std::this_thread::sleep_for(kAWhile);
    return !inside_;
  }

 private:
  std::atomic<bool> inside_{false};
  std::thread thread_;
};

TEST(UseGates, SearchesPassWhereChangesAreLocked) {
  UseGates gates;
  std::unique_lock changes(gates.changes);
  { EXPECT_TRUE(Attempt(gates, Kind::search).is_inside()); }
  { const Inside own(gates, Kind::search); }  // of the thread that locks it, too
  const Attempt change(gates, Kind::change);
  EXPECT_TRUE(change.waits());
  changes.unlock();
  EXPECT_TRUE(change.is_inside());
}

TEST(UseGates, NothingPassesWhereUseIsLocked) {
  UseGates gates;
  std::unique_lock use(gates.use);
  const Attempt search(gates, Kind::search), change(gates, Kind::change);
  EXPECT_TRUE(search.waits() && change.waits());
  use.unlock();
  EXPECT_TRUE(search.is_inside() && change.is_inside());
}

/// Words that only one side at a time writes or reads: if both were inside, TSan and the comparisons would show it. More threads than
/// there are slots, so that some pass the gates.
void expect_exclusion(unsigned callers, unsigned rounds) {
  UseGates gates;
  struct alignas(64) Count {
    std::uint64_t n = 0;
  };
  std::vector<Count> changed(callers);
  std::uint64_t layout = 0;  // changed by who locks `use`, and read by all calls
  std::atomic<unsigned> ready{0};
  std::atomic<bool> stop{false};
  std::vector<std::thread> all;
  for (unsigned c = 0; c < callers; ++c) {
    all.emplace_back([&, c] {
      threads::thread_number();
      ++ready;
      std::uint64_t seen = 0;
      while (!stop) {
        {
          const Inside inside(gates, Kind::change);
          ++changed[c].n;
          seen = layout;
        }
        const Inside inside(gates, Kind::search);
        EXPECT_GE(layout, seen);
        if (callers > 4) std::this_thread::yield();
      }
    });
  }
  while (ready < callers) std::this_thread::yield();
  for (unsigned round = 0; round < rounds; ++round) {
    const std::unique_lock changes(gates.changes);
    std::uint64_t before = 0, after = 0;
    for (const Count& count : changed) before += count.n;
    std::this_thread::yield();
    {
      const std::unique_lock use(gates.use);
      ++layout;
    }
    for (const Count& count : changed) after += count.n;
    ASSERT_EQ(after, before) << "a change ran where changes were locked";
  }
  stop = true;
  for (std::thread& thread : all) thread.join();
}
TEST(UseGates, CallsAndLocksExcludeEachOther) { expect_exclusion(3, 100); }
TEST(UseGates, CallsOfThreadsWithoutNumbersToo) { expect_exclusion(threads::kThreadNumbers + 8, 20); }

}  // namespace
}  // namespace holdfast
