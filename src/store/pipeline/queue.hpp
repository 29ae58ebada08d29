// queue.hpp: the batches that one caller has submitted.
#pragma once

#include <atomic>
#include <bit>
#include <cstdint>
#include <vector>

#include "holdfast/store_pipeline.hpp"
#include "system/fork.hpp"

namespace holdfast::store::pipeline {

class Executor;

/// In their order: the caller appends them, and its executor takes them and says when they are done.
class Queue {
 public:
  /// `pending`: batches that are not done, at most.
  explicit Queue(unsigned pending) : pending_(pending), ring_(std::bit_ceil(pending)) {}
  void execute_by(Executor& executor) { executor_ = &executor; }

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
  std::uint32_t submitted() const { return submitted_.load(std::memory_order_relaxed); }

  // Any thread.
  std::uint32_t done() const { return done_.load(std::memory_order_acquire); }
  /// Executes until there are others done than these. In a forked child, whose parent answers them, it returns at once.
  void wait(std::uint32_t done) const;
  /// The same until all are done and no thread pushes one.
  void finish() const;
  bool is_here() const { return process_.is_this(); }

  // The executor.
  /// Null: there is none.
  StoreBatch* take() {
    if (taken_ == submitted_.load()) return nullptr;
    return ring_[taken_++ % ring_.size()];
  }
  void end_one() { done_.fetch_add(1, std::memory_order_release); }

 private:
  const std::uint32_t pending_;
  std::vector<StoreBatch*> ring_;
  Executor* executor_ = nullptr;
  const system::OwningProcess process_;
  std::atomic<std::uint32_t> submitted_ = 0, done_ = 0;
  std::atomic<bool> inside_ = false;
  std::uint32_t taken_ = 0;
};

}  // namespace holdfast::store::pipeline
