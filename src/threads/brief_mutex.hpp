// brief_mutex.hpp: a mutex that is held for less than a microsecond by many threads: one that waits spins at first, since to sleep and be woken takes longer.
#pragma once

#include <atomic>
#include <cstdint>

namespace holdfast::threads {

/// For std::lock_guard.
class BriefMutex {
 public:
  void lock() {
    for (unsigned spins = 0; spins < kSpins; ++spins) {
      std::uint32_t free = kFree;
      if (state_.load(std::memory_order_relaxed) == kFree &&
          state_.compare_exchange_weak(free, kHeld, std::memory_order_acquire, std::memory_order_relaxed)) {
        return;
      }
      pause();
    }
    while (state_.exchange(kAwaited, std::memory_order_acquire) != kFree) {
      state_.wait(kAwaited, std::memory_order_relaxed);
    }
  }
  void unlock() {
    if (state_.exchange(kFree, std::memory_order_release) == kAwaited) state_.notify_one();
  }

 private:
  static constexpr std::uint32_t kFree = 0, kHeld = 1, kAwaited = 2;  // awaited: a thread sleeps, or did
  static constexpr unsigned kSpins = 200;
  static void pause() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
  }
  std::atomic<std::uint32_t> state_ = kFree;
};

}  // namespace holdfast::threads
