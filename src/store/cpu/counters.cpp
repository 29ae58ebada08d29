// counters.cpp: draws numbers and follows the clock.
#include "store/cpu/counters.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace holdfast::store::cpu {

std::uint64_t wall_clock() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(since).count());
}

Counters::Counters(const Memory& memory, std::uint64_t* record, bool writes, WallClock clock,
                   std::function<void()> changing)
    : memory_(memory),
      record_(record),
      writes_(writes),
      clock_(clock),
      before_change_(std::move(changing)),
      // A flush may have read a number whose reservation a crash cut off: what is drawn next must not be flushed.
      newest_(std::max(memory.load(record + kReservedWord), memory.load(record + kFlushedWord))),
      reserved_(memory.load(record + kReservedWord)),
      now_(memory.load(record + kTimeWord)),
      flushed_(memory.load(record + kFlushedWord)),
      planned_(memory.load(record + kFlushAtWord)) {
  static_assert(Times<Shared>);
}

std::uint64_t Counters::draw() {
  const std::uint64_t number = newest_.fetch_add(1) + 1;
  if (number > reserved_.load(std::memory_order_acquire)) {
    const std::lock_guard lock(changing_);
    if (number > reserved_.load(std::memory_order_relaxed)) {
      reserve_numbers(memory_, record_, number + kReservedAtOnce);
      reserved_.store(number + kReservedAtOnce, std::memory_order_release);
    }
  }
  return number;
}

/// In one order with `draw` and with what `flush_all` stores and loads first.
bool Counters::flushed_since(std::uint64_t flushed) {
  if (flushing_.load()) const std::lock_guard wait(changing_);
  return flushed_.load(std::memory_order_acquire) != flushed;
}

bool Counters::reaches(std::uint64_t time) { return now_.load(std::memory_order_acquire) >= time || refresh() >= time; }

std::uint64_t Counters::refresh() {
  const std::uint64_t now = clock_();
  if (now <= now_.load(std::memory_order_acquire) || held_.load(std::memory_order_acquire)) {
    return now_.load(std::memory_order_acquire);
  }
  const std::lock_guard lock(changing_);
  if (now > now_.load(std::memory_order_relaxed)) {
    Shared shared{*this};
    if (writes_) {
      if (before_change_) before_change_();
      advance_time(memory_, record_, shared, now);
    } else {
      if (const std::uint64_t planned = shared.planned(); planned != 0 && planned <= now) {
        shared.set_flushed(newest());
        shared.set_planned(0);
      }
      shared.set_now(now);
    }
  }
  return now_.load(std::memory_order_relaxed);
}

void Counters::flush_all() {
  const std::lock_guard lock(changing_);
  Shared shared{*this};
  store::flush_all(memory_, record_, shared);
}

void Counters::flush_all_at(std::uint64_t time) {
  const std::lock_guard lock(changing_);
  Shared shared{*this};
  store::flush_all_at(memory_, record_, shared, time);
}

}  // namespace holdfast::store::cpu
