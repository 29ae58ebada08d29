// binary_semaphore.hpp: a lock that one thread may take and another release: what holds it is no thread, but a session or a batch.
#pragma once

#include <condition_variable>
#include <mutex>

namespace holdfast::threads {

/// Meets the standard's Lockable requirements, which std::binary_semaphore does not.
class BinarySemaphore {
 public:
  void lock() {
    std::unique_lock lock(mutex_);
    free_.wait(lock, [this] { return !taken_; });
    taken_ = true;
  }
  bool try_lock() {
    const std::lock_guard lock(mutex_);
    if (taken_) return false;
    return taken_ = true;
  }
  void unlock() {
    const std::lock_guard lock(mutex_);
    taken_ = false;
    free_.notify_one();  // under the mutex: who takes it next may end it
  }

 private:
  std::mutex mutex_;
  std::condition_variable free_;
  bool taken_ = false;
};

}  // namespace holdfast::threads
