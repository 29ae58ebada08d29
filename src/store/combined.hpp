// combined.hpp: calls of several threads at once, which one of them executes together: an index on a GPU answers many keys in the time of one.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
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
    if (is_busy_) wait(mine, lock);
    if (!mine.is(State::done)) lead(lock, execute);
    if (mine.error) std::rethrow_exception(mine.error);
  }

 private:
  enum class State : std::uint8_t { waits, leads, done };
  struct Waiting {
    const Call* call = nullptr;
    std::exception_ptr error = nullptr;
    std::atomic<State> state = State::waits;

    bool is(State its) const { return state.load(std::memory_order_acquire) == its; }
  };

  /// A batch of a GPU takes about as long as it takes to wake a thread that sleeps.
  static constexpr auto kAwake = std::chrono::microseconds(200);
  void wait(const Waiting& mine, std::unique_lock<std::mutex>& lock) {
    lock.unlock();
    const auto until = std::chrono::steady_clock::now() + kAwake;
    while (mine.is(State::waits) && std::chrono::steady_clock::now() < until) std::this_thread::yield();
    if (mine.is(State::done)) return;
    lock.lock();
    changed_.wait(lock, [&] { return !mine.is(State::waits); });
  }

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
      each->state.store(State::done, std::memory_order_release);
    }
    executed_.clear();
    is_busy_ = !waiting_.empty();
    if (is_busy_) waiting_.front()->state.store(State::leads, std::memory_order_release);
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
