// call_slots.hpp: short calls announce themselves in a word that no other thread writes, and pass the gates of a table by that.
//
// A batch passes four gates (gate.hpp) and enters an epoch: words that all callers write. A call with few keys would spend most of
// its time there. Instead each thread writes its slot:
//
//   call     slot ← epoch and kind, then reads `closed_`: if it is 0 the call is inside, else it leaves and passes the gates
//   locker   raises `closed_`, then waits until no slot has a call that it excludes
//
// Both write before they read, in one total order, so at least one of them sees the other. A thread may stay inside after a call: its
// next calls need no write as long as no locker waits. A locker waits for such a thread until it makes a call, or leaves.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <thread>

#include "threads/thread_number.hpp"

namespace holdfast::threads {

class CallSlots {
 public:
  enum class Kind : std::uint64_t { search = 1, change = 2 };
  /// What a locked gate excludes.
  enum class Closes : std::uint8_t { nothing, changes, all };

  CallSlots() : slots_(std::make_unique<Slot[]>(kThreadNumbers)) {}
  CallSlots(const CallSlots&) = delete;
  CallSlots& operator=(const CallSlots&) = delete;

  /// The present epoch, which calls announce (reclaim/epochs.hpp).
  std::atomic<std::uint64_t>& epoch() { return epoch_; }

  /// Enters as thread `number`, which may be inside already and holds no reference into the table. False: the call is excluded, or
  /// the thread has no number; then it is outside.
  bool enter(unsigned number, Kind kind) {
    if (number >= kThreadNumbers) return false;
    Slot& slot = slots_[number];
    const std::uint64_t before = slot.state.load(std::memory_order_relaxed);
    const std::uint64_t kinds = (before & kKinds) | static_cast<std::uint64_t>(kind);
    const std::uint64_t wanted = epoch_.load(std::memory_order_acquire) << 2 | kinds;
    if (wanted != before) {
      if (number >= end_.load(std::memory_order_relaxed)) raise_end(number + 1);
      slot.state.store(wanted);
    }
    const std::uint64_t closed = closed_.load();
    if ((kinds & kChange) != 0 ? closed == 0 : static_cast<std::uint32_t>(closed) == 0) [[likely]]
      return true;
    slot.state.store(0, std::memory_order_release);
    return false;
  }
  void leave(unsigned number) { slots_[number].state.store(0, std::memory_order_release); }
  bool is_inside(unsigned number) const {
    return number < kThreadNumbers && slots_[number].state.load(std::memory_order_relaxed) != 0;
  }

  /// Called before this thread waits for a gate: a thread that stayed inside after a call leaves.
  void leave_between_calls() {
    const unsigned number = thread_number();
    if (is_inside(number)) leave(number);
  }

  /// Excludes calls, and waits until those inside have left. The thread itself is not inside.
  void close(Closes what) {
    if (what == Closes::nothing) return;
    closed_.fetch_add(unit(what));
    const std::uint64_t kinds = what == Closes::all ? kKinds : kChange;
    const unsigned end = end_.load();
    for (unsigned i = 0; i < end; ++i) {
      for (unsigned tries = 0; (slots_[i].state.load() & kinds) != 0; ++tries) {  // ends: the call in it does
        if (tries < kYields) {
          std::this_thread::yield();
        } else {
          std::this_thread::sleep_for(std::chrono::microseconds(50));
        }
      }
    }
  }
  void open(Closes what) {
    if (what != Closes::nothing) closed_.fetch_sub(unit(what));
  }

  /// True if a thread is inside that announced an epoch before `epoch`.
  bool any_before(std::uint64_t epoch) const {
    const unsigned end = end_.load();
    for (unsigned i = 0; i < end; ++i) {
      const std::uint64_t state = slots_[i].state.load();
      if (state != 0 && state >> 2 < epoch) return true;
    }
    return false;
  }

 private:
  static constexpr std::uint64_t kKinds = 3, kChange = static_cast<std::uint64_t>(Kind::change);
  static constexpr unsigned kYields = 256;
  /// The lower half of `closed_` counts lockers that exclude all calls, the upper half those that exclude changes only.
  static constexpr std::uint64_t unit(Closes what) { return what == Closes::all ? 1 : std::uint64_t{1} << 32; }
  struct alignas(64) Slot {
    std::atomic<std::uint64_t> state{0};  ///< 0, or the epoch and, in bits 0 and 1, the kinds of calls
  };

  void raise_end(unsigned end) {
    unsigned seen = end_.load();
    while (seen < end && !end_.compare_exchange_weak(seen, end)) {
    }  // ends: the end only rises
  }

  // Read by every call, written by lockers and by the first call of a thread.
  alignas(64) std::atomic<std::uint64_t> closed_{0};
  std::atomic<std::uint64_t> epoch_{3};
  std::atomic<unsigned> end_{0};  ///< slots from here on were never used
  std::unique_ptr<Slot[]> slots_;
};

/// One short call: inside for a scope, if `operator bool` says so. A thread that was inside before stays inside.
class ShortCall {
 public:
  /// `stays`: the thread remains inside after the call.
  ShortCall(CallSlots& calls, CallSlots::Kind kind, bool stays = false)
      : calls_(calls),
        number_(thread_number()),
        stays_(stays || calls.is_inside(number_)),
        inside_(calls.enter(number_, kind)) {}
  ~ShortCall() {
    if (inside_ && !stays_) calls_.leave(number_);
  }
  ShortCall(const ShortCall&) = delete;
  ShortCall& operator=(const ShortCall&) = delete;
  explicit operator bool() const { return inside_; }
  bool stays() const { return stays_; }

 private:
  CallSlots& calls_;
  const unsigned number_;
  const bool stays_, inside_;
};

}  // namespace holdfast::threads
