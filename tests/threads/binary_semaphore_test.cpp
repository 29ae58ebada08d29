// binary_semaphore_test.cpp: a lock that one thread takes and another releases.
#include "threads/binary_semaphore.hpp"

#include <gtest/gtest.h>

#include <mutex>
#include <thread>
#include <vector>

namespace holdfast {
namespace {

TEST(BinarySemaphore, PassesFromThreadToThread) {
  threads::BinarySemaphore semaphore;
  semaphore.lock();
  EXPECT_FALSE(semaphore.try_lock());
  bool mine = false;
  std::thread waits([&] {
    const std::lock_guard lock(semaphore);
    EXPECT_TRUE(mine);
  });
  mine = true;
  std::thread([&] { semaphore.unlock(); }).join();
  waits.join();
  EXPECT_TRUE(semaphore.try_lock());
  semaphore.unlock();
}

TEST(BinarySemaphore, KeepsOthersOut) {
  threads::BinarySemaphore semaphore;
  int count = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int n = 0; n < 1000; ++n) {
        const std::lock_guard lock(semaphore);
        ++count;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(count, 4000);
}

}  // namespace
}  // namespace holdfast
