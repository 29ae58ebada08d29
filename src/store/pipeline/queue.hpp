// queue.hpp: how batches get from a caller to the thread that executes them, and how each waits for the other. Neither takes a lock.
#pragma once

#include <atomic>
#include <bit>
#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

#include "holdfast/store_pipeline.hpp"
#include "system/fork.hpp"

namespace holdfast::store::pipeline {

/// Executes what is in a queue that no thread takes from.
class Executor {
 public:
  virtual ~Executor() = default;
  /// Executes what was submitted, and ends what may be released.
  virtual void execute() = 0;
};

/// Batches of one caller, in their order: the caller appends them, and one thread takes them and says when they are done.
class Queue {
 public:
  static constexpr auto kLook = std::chrono::microseconds(20);  ///< between questions whether changes are durable

  /// `pending`: batches that are not done, at most.
  explicit Queue(unsigned pending) : pending_(pending), ring_(std::bit_ceil(pending)) {}

  // The caller.
  /// Between the two, a pipeline that closes waits for what is pushed.
  void enter() { inside_.store(true); }
  void leave() { inside_.store(false); }
  /// False: there are as many as may be pending.
  bool push(StoreBatch& batch) {
    const std::uint32_t at = submitted_.load(std::memory_order_relaxed);
    if (at - done_.load(std::memory_order_acquire) == pending_) return false;
    ring_[at % ring_.size()] = &batch;
    submitted_.store(at + 1);
    return true;
  }
  std::uint32_t done() const { return done_.load(std::memory_order_acquire); }
  std::uint32_t submitted() const { return submitted_.load(std::memory_order_relaxed); }
  /// Waits until there are others done than these. In a forked child, whose parent answers them, it returns at once.
  void wait(std::uint32_t done) const {
    if (!process_.is_this()) return;
    if (executor_ == nullptr) return done_.wait(done, std::memory_order_acquire);
    for (executor_->execute(); this->done() == done; executor_->execute()) std::this_thread::sleep_for(kLook);
  }
  bool is_here() const { return process_.is_this(); }
  /// Whether no thread pushes a batch and all are done.
  bool is_over() const { return !inside_.load() && done() == submitted_.load(); }

  /// Before the first batch: a thread that waits calls `executor`, and no thread takes batches.
  void execute_by(Executor* executor) { executor_ = executor; }

  // The thread that takes them.
  bool is_empty() const { return taken_ == submitted_.load(); }
  bool is_idle() const { return !inside_.load() && is_empty(); }
  /// Null: there is none.
  StoreBatch* take() {
    if (is_empty()) return nullptr;
    return ring_[taken_++ % ring_.size()];
  }
  void end_one() {
    done_.fetch_add(1, std::memory_order_release);
    done_.notify_all();
  }

 private:
  const std::uint32_t pending_;
  std::vector<StoreBatch*> ring_;
  Executor* executor_ = nullptr;
  const system::OwningProcess process_;
  alignas(64) std::atomic<std::uint32_t> submitted_ = 0;
  std::atomic<bool> inside_ = false;
  alignas(64) std::atomic<std::uint32_t> done_ = 0;
  std::uint32_t taken_ = 0;
};

/// Wakes a thread that has nothing to do.
class Bell {
 public:
  /// After something was made ready.
  void ring() {
    if (!sleeping_.load()) return;
    rings_.fetch_add(1);
    rings_.notify_one();
  }
  /// Waits for a ring, unless `ready()`.
  template <class Ready>
  void wait(const Ready& ready) {
    const std::uint32_t seen = rings_.load();
    sleeping_.store(true);
    if (!ready()) rings_.wait(seen);
    sleeping_.store(false);
  }

 private:
  alignas(64) std::atomic<bool> sleeping_ = false;
  std::atomic<std::uint32_t> rings_ = 0;
};

}  // namespace holdfast::store::pipeline
