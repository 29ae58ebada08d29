// combined.hpp: single calls of several threads at once, which one of them executes together: an index on a GPU answers many keys in the time of one.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <exception>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "core/both.hpp"

namespace holdfast::store {

/// Calls of one kind. The first thread that comes executes its call. Those that come meanwhile wait, and one of them executes all of theirs then (flat
/// combining: Hendler et al. 2010). Thread-safe.
template <class Call>
class Combined {
 public:
  /// Returns when `call` was executed, by `execute(calls)` of this thread or another one, whose error is that of all its calls.
  template <class Execute>
  void run(const Call& call, const Execute& execute) {
    Waiting mine{&call};
    std::unique_lock lock(mutex_);
    waiting_.push_back(&mine);
    if (is_busy_) changed_.wait(lock, [&] { return mine.is_done || mine.leads; });
    if (!mine.is_done) lead(lock, execute);
    if (mine.error) std::rethrow_exception(mine.error);
  }

 private:
  struct Waiting {
    const Call* call = nullptr;
    bool is_done = false, leads = false;
    std::exception_ptr error = nullptr;
  };

  template <class Execute>
  void lead(std::unique_lock<std::mutex>& lock, const Execute& execute) {
    is_busy_ = true;
    executed_.swap(waiting_);
    lock.unlock();
    std::exception_ptr error;
    try {
      calls_.clear();
      for (const Waiting* each : executed_) calls_.push_back(each->call);
      execute(std::span<const Call* const>(calls_));
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    for (Waiting* each : executed_) {
      each->error = error;
      each->is_done = true;
    }
    executed_.clear();
    is_busy_ = !waiting_.empty();
    if (is_busy_) waiting_.front()->leads = true;
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_busy_ = false;           ///< a thread executes calls, or is about to
  std::vector<Waiting*> waiting_;  ///< calls that no thread executes yet
  std::vector<Waiting*> executed_;
  std::vector<const Call*> calls_;  ///< of `executed_`; both are the executing thread's
};

}  // namespace holdfast::store
