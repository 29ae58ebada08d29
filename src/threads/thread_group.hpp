// thread_group.hpp: threads at one piece of work, whose errors the waiting thread throws.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace holdfast::threads {

/// Threads that are started together, in the background of the one that waits for them.
class ThreadGroup {
 public:
  ThreadGroup() = default;
  ThreadGroup(const ThreadGroup&) = delete;
  ThreadGroup& operator=(const ThreadGroup&) = delete;
  ~ThreadGroup() { join(); }

  /// Starts threads, each of which calls `work` once, and `ended` is called when all are done. Where the system starts fewer,
  /// those do the work; where it starts none, SystemError.
  void start(unsigned threads, std::function<void()> work, std::function<void()> ended = {});
  /// Starts up to `threads` threads, of which the one with number i calls work(i) once. Returns why there are fewer; empty if there are as
  /// many.
  std::string start_numbered(unsigned threads, std::function<void(unsigned i)> work, std::function<void()> ended = {});
  unsigned started() const { return static_cast<unsigned>(threads_.size()); }

  /// Waits a moment; true when all are done.
  bool done();
  /// Makes them end soon: `stopping` is true.
  void stop() { stopping_.store(true, std::memory_order_relaxed); }
  bool stopping() const { return stopping_.load(std::memory_order_relaxed); }
  const std::atomic<bool>& stop_flag() const { return stopping_; }
  /// Of those that several threads had, the one with the lowest number. Stops the others.
  void fail(std::uint64_t number, std::exception_ptr error);
  void join();     ///< waits for their ends
  void rethrow();  ///< what failed, after `join`

 private:
  void run(unsigned number);

  std::atomic<bool> stopping_ = false;
  std::mutex mutex_;
  std::condition_variable changed_;
  unsigned running_ = 0;
  std::function<void(unsigned)> work_;
  std::function<void()> ended_;
  std::uint64_t error_number_ = ~std::uint64_t{0};
  std::exception_ptr error_;
  std::vector<std::thread> threads_;
};

}  // namespace holdfast::threads
