// queue.hpp: how batches get from a caller to a worker, and how each waits for the other. Neither takes a lock.
#pragma once

#include <atomic>
#include <bit>
#include <cstdint>
#include <vector>

#include "holdfast/store_pipeline.hpp"
#include "system/fork.hpp"

namespace holdfast::store::pipeline {

/// Batches of one caller, in their order: the caller appends them, and one worker takes them and says when they are done.
class Queue {
 public:
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
  /// Waits until there are others done than these. In a forked child, which has no workers, it returns at once.
  void wait(std::uint32_t done) const {
    if (process_.is_this()) done_.wait(done, std::memory_order_acquire);
  }
  bool is_here() const { return process_.is_this(); }

  // The worker.
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
  const system::OwningProcess process_;
  alignas(64) std::atomic<std::uint32_t> submitted_ = 0;
  std::atomic<bool> inside_ = false;
  alignas(64) std::atomic<std::uint32_t> done_ = 0;
  std::uint32_t taken_ = 0;
};

/// Wakes a worker that has nothing to do.
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
