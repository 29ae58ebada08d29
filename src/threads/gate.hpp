// gate.hpp: the locks that every call on a pool or a table passes, the order in which a thread may pass them, and what finds a
// call that does not keep to it.
//
//   rank       gate of    alone, while it is held                        shared
//   pool       a pool     its objects are opened, made, dropped, copied  -
//   changes    a table    its bytes stand still: snapshot, erase_if,     every change
//                         sync, clear, check, close, a session's begin
//   use        a table    no other use: sync, clear, check, close every use
//   layout     a machine  its levels and its heap grow                   every sub-batch
//   slots      a machine  slots are read for an export                   sub-batches that change
//
// Calls with few keys pass the four gates of a table without a lock, by their slots (call_slots.hpp).
//
// A thread passes them in this order: the pool's before any of its tables', a table's `changes` before its `use`, and `layout`
// before `slots`. It holds `changes` of two tables of one pool only with the pool's gate. It passes none twice: even where both
// times are shared, a thread that waits for exclusive access may be between them. And it must not run code of the caller that may
// pass one: no handler of a signal, and of functions only those whose documents say what they must not do (Batch::stop, the
// predicates of erase_if). Builds with assertions abort where a thread breaks the order, whether a thread would have waited or not.
#pragma once

#include <mutex>
#include <shared_mutex>

#include "threads/call_slots.hpp"

namespace holdfast::threads {

/// A shared mutex whose writers do not starve: many pass it together, one at a time passes it alone. Meets the standard's
/// SharedMutex requirements, as far as std::shared_lock and std::unique_lock use them.
class Gate {
 public:
  enum class Rank { pool, changes, use, layout, slots };

  /// The order holds among gates of one pool; a backend's two are separate. Both pointers are only names.
  Gate(Rank rank, const void* pool, const void* table) : position_{rank, pool, table} {}
  /// The same for a gate that short calls pass by `calls`: who locks it excludes those that `closes` names.
  Gate(Rank rank, const void* pool, const void* table, CallSlots& calls, CallSlots::Closes closes)
      : position_{rank, pool, table}, calls_(&calls), closes_(closes) {}
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  void lock() {
    enter();
    if (calls_ != nullptr) calls_->leave_between_calls();
    const std::lock_guard entry(turnstile_);  // newcomers wait here while those inside leave
    mutex_.lock();
    if (calls_ != nullptr) calls_->close(closes_);
  }
  void unlock() {
    if (calls_ != nullptr) calls_->open(closes_);
    mutex_.unlock();
    leave();
  }
  void lock_shared() {
    enter();
    if (calls_ != nullptr) calls_->leave_between_calls();
    { const std::lock_guard entry(turnstile_); }
    mutex_.lock_shared();
  }
  void unlock_shared() {
    mutex_.unlock_shared();
    leave();
  }

  /// In builds with assertions: called before a thread passes this or any other gate, at which it might have to wait. For bindings,
  /// which must not wait while they hold another lock.
  static void before_waiting(void (*check)());

 private:
  struct Position {
    Rank rank;
    const void *pool, *table;
  };
#if defined(NDEBUG)
  void enter() {}
  void leave() {}
#else
  void enter();
  void leave();
#endif

  const Position position_;
  CallSlots* const calls_ = nullptr;
  const CallSlots::Closes closes_ = CallSlots::Closes::nothing;
  std::mutex turnstile_;
  std::shared_mutex mutex_;
};

}  // namespace holdfast::threads
