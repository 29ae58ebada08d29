// brief_mutex_test.cpp: one thread at a time, also where holders take so long that others sleep.
#include "threads/brief_mutex.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

namespace holdfast::threads {
namespace {

TEST(BriefMutex, OneThreadAtATime) {
  for (const std::chrono::microseconds held : {std::chrono::microseconds(0), std::chrono::microseconds(300)}) {
    BriefMutex mutex;
    std::uint64_t count = 0;
    const std::uint64_t times = held.count() == 0 ? 20'000 : 50;
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        for (std::uint64_t n = 0; n < times; ++n) {
          const std::lock_guard lock(mutex);
          const std::uint64_t before = count;
          if (held.count() != 0) std::this_thread::sleep_for(held);
          count = before + 1;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(count, 4 * times);
  }
}

}  // namespace
}  // namespace holdfast::threads
