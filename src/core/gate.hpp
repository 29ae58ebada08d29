// gate.hpp: a shared mutex whose writers do not starve: many pass it together, one at a time passes it alone.
#pragma once

#include <mutex>
#include <shared_mutex>

namespace holdfast {

/// Meets the standard's SharedMutex requirements, as far as std::shared_lock and std::unique_lock use them.
class Gate {
 public:
  void lock() {
    const std::lock_guard turn(turnstile_);  // newcomers wait here while those inside leave
    mutex_.lock();
  }
  void unlock() { mutex_.unlock(); }
  void lock_shared() {
    { const std::lock_guard turn(turnstile_); }
    mutex_.lock_shared();
  }
  void unlock_shared() { mutex_.unlock_shared(); }

 private:
  std::mutex turnstile_;
  std::shared_mutex mutex_;
};

}  // namespace holdfast
