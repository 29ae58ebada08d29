// change_order.hpp: what orders the work on a table on a GPU: changes one after another, and who may enqueue. Rule 14.
#pragma once

#include <mutex>
#include <string>
#include <utility>

#include "gpu/runtime.hpp"
#include "holdfast/error.hpp"
#include "structures/gphash/cuda/kit.hpp"
#include "threads/binary_semaphore.hpp"

namespace holdfast::gphash::cuda {

/// Every change that was enqueued has run when the last one has: each follows the one before, and becomes the last one itself.
class ChangeOrder {
 public:
  /// Held by the caller that enqueues a change, and by a session. Taken before `launching`.
  threads::BinarySemaphore& changing() { return changing_; }
  /// Held by the caller that launches a search or changes the layout.
  std::mutex& launching() const { return launching_; }

  /// Later work of `stream` runs after all changes that are enqueued.
  void follow(cudaStream_t stream) const { last_.hold(stream); }
  /// What `stream` has until now becomes the last change. It has followed the one before; the caller holds `changing`.
  void note(cudaStream_t stream) { last_.record(stream); }
  /// Waits for all changes that are enqueued.
  void finish() const { last_.wait("waiting for the batch before"); }

  /// Throws DeviceError if nothing more can run on the table.
  void require_working() const {
    if (!failure_.empty()) throw DeviceError(failure_);
  }
  /// From now on nothing more can run, because of `why`. Throws it. The caller holds `changing`.
  [[noreturn]] void fail(std::string why) {
    failure_ = std::move(why);
    throw DeviceError(failure_);
  }

 private:
  threads::BinarySemaphore changing_;
  mutable std::mutex launching_;
  Event last_;
  std::string failure_;
};

}  // namespace holdfast::gphash::cuda
