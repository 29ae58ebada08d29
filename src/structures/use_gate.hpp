// use_gate.hpp: many use a table together; one at a time keeps writers out, or readers too. Entering costs two atomic operations on a line
// that threads seldom share.
#pragma once

#include <sched.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>

namespace holdfast::structures {

enum class Use : std::uint8_t { read, write };

class UseGate {
 public:
  UseGate() = default;
  UseGate(const UseGate&) = delete;
  UseGate& operator=(const UseGate&) = delete;

  /// Enters, after a wait for the thread that keeps this use out. A thread enters once at a time.
  void enter(Use use) {
    Count& count = mine(use);
    for (;;) {  // ends: the thread that keeps it out leaves
      count.fetch_add(1);
      if (!side(use).closed.load()) return;
      count.fetch_sub(1);
      const std::lock_guard wait(side(use).mutex);
    }
  }
  void leave(Use use) { mine(use).fetch_sub(1, std::memory_order_release); }

  /// Waits until no thread is inside for this use, and keeps others out until `unlock`, which the same thread calls. One that locks both locks
  /// `write` first.
  void lock(Use use) {
    Side& its = side(use);
    its.mutex.lock();
    its.closed.store(true);
    for (Count& count : its.inside) {
      while (count.load() != 0) sched_yield();  // ends: what is inside leaves, and none enters
    }
  }
  void unlock(Use use) {
    side(use).closed.store(false);
    side(use).mutex.unlock();
  }

 private:
  static constexpr unsigned kLines = 32;
  struct alignas(64) Count : std::atomic<std::int64_t> {};
  struct Side {
    std::array<Count, kLines> inside{};
    std::atomic<bool> closed = false;
    std::mutex mutex;
  };
  Side& side(Use use) { return sides_[static_cast<unsigned>(use)]; }
  Count& mine(Use use) {
    static std::atomic<unsigned> threads = 0;
    static thread_local const unsigned number = threads.fetch_add(1, std::memory_order_relaxed);
    return side(use).inside[number % kLines];
  }

  std::array<Side, 2> sides_;
};

/// Inside for a scope.
class Inside {
 public:
  Inside(UseGate& gate, Use use) : gate_(gate), use_(use) { gate_.enter(use_); }
  ~Inside() { gate_.leave(use_); }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

 private:
  UseGate& gate_;
  const Use use_;
};

/// Alone for a scope.
class Alone {
 public:
  Alone(UseGate& gate, Use use) : gate_(gate), use_(use) { gate_.lock(use_); }
  ~Alone() { gate_.unlock(use_); }
  Alone(const Alone&) = delete;
  Alone& operator=(const Alone&) = delete;

 private:
  UseGate& gate_;
  const Use use_;
};

}  // namespace holdfast::structures
