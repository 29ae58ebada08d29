// counters.hpp: a store's numbers and its time: the volatile copies of its record (protocol/record.hpp), and who may change it.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>

#include "store/cpu/memory.hpp"
#include "store/protocol/change.hpp"
#include "store/protocol/time.hpp"

namespace holdfast::store::cpu {

/// Milliseconds since 1970.
using WallClock = std::uint64_t (*)();
std::uint64_t wall_clock();

/// Thread-safe.
class Counters {
 public:
  /// `record` has kRecordWords words. `writes`: false where the pool is only read; then time passes, but is not kept.
  /// `changing` is called before the record changes.
  Counters(const Memory& memory, std::uint64_t* record, bool writes, WallClock clock, std::function<void()> changing);

  /// A number larger than all before. It is used only when its reservation is durable.
  std::uint64_t draw();
  std::uint64_t reserved() const { return reserved_.load(std::memory_order_acquire); }
  Moment moment() {
    const std::uint64_t newest = this->newest();
    Moment now = time();
    now.newest = newest;
    return now;
  }
  /// The same without `newest`.
  Moment time() {
    if (const std::uint64_t planned = planned_.load(std::memory_order_acquire); planned != 0) reaches(planned);
    return {0, now_.load(std::memory_order_acquire), flushed_.load(std::memory_order_acquire)};
  }
  bool flushed_since(std::uint64_t flushed);
  /// Whether the time has come; then `moment` says so.
  bool reaches(std::uint64_t time);
  /// As `reaches` with the clock's time, which it returns.
  std::uint64_t refresh();
  void flush_all();
  void flush_all_at(std::uint64_t time);
  std::uint64_t newest() const { return newest_.load(std::memory_order_acquire); }
  /// Before anything is drawn: numbers begin behind `number`.
  void begin_behind(std::uint64_t number) { newest_.store(std::max(number, newest())); }

  /// While it lives, the record does not change, and time stands still. Changes must not run.
  class Hold {
   public:
    explicit Hold(Counters& counters) : lock_(counters.changing_), counters_(counters) { counters_.held_ = true; }
    ~Hold() { counters_.held_ = false; }
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;

   private:
    const std::lock_guard<std::mutex> lock_;
    Counters& counters_;
  };
  [[nodiscard]] std::unique_ptr<Hold> hold() { return std::make_unique<Hold>(*this); }

 private:
  /// As `advance_time` wants them, with the mutex held.
  struct Shared {
    Counters& counters;
    std::uint64_t newest() const { return counters.newest_.load(); }
    std::uint64_t now() const { return counters.now_.load(std::memory_order_relaxed); }
    std::uint64_t planned() const { return counters.planned_.load(std::memory_order_relaxed); }
    void set_planned(std::uint64_t time) { counters.planned_.store(time, std::memory_order_release); }
    void set_flushed(std::uint64_t number) { counters.flushed_.store(number, std::memory_order_release); }
    void set_flushing(bool flushing) { counters.flushing_.store(flushing); }
    void set_now(std::uint64_t now) { counters.now_.store(now, std::memory_order_release); }
  };

  const Memory& memory_;
  std::uint64_t* const record_;
  const bool writes_;
  const WallClock clock_;
  const std::function<void()> before_change_;
  alignas(64) std::atomic<std::uint64_t> newest_;  // every change writes it
  alignas(64) std::atomic<std::uint64_t> reserved_;
  std::atomic<std::uint64_t> now_, flushed_, planned_;
  std::atomic<bool> flushing_ = false, held_ = false;
  std::mutex changing_;  ///< of the record
};

}  // namespace holdfast::store::cpu
