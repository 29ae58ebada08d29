// turn_test.cpp: a turn that one thread takes and another gives back.
#include "core/turn.hpp"

#include <gtest/gtest.h>

#include <mutex>
#include <thread>
#include <vector>

namespace holdfast {
namespace {

TEST(Turn, PassesFromThreadToThread) {
  Turn turn;
  turn.lock();
  EXPECT_FALSE(turn.try_lock());
  bool mine = false;
  std::thread waits([&] {
    const std::lock_guard lock(turn);
    EXPECT_TRUE(mine);
  });
  mine = true;
  std::thread([&] { turn.unlock(); }).join();
  waits.join();
  EXPECT_TRUE(turn.try_lock());
  turn.unlock();
}

TEST(Turn, KeepsOthersOut) {
  Turn turn;
  int count = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int n = 0; n < 1000; ++n) {
        const std::lock_guard lock(turn);
        ++count;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(count, 4000);
}

}  // namespace
}  // namespace holdfast
