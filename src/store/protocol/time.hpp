// time.hpp: the time that answers depend on. It is durable before an answer depends on it, and a planned flush is done before the time at
// which it is due is known: so after a crash no expired item lives, and no item that was set after a flush is taken for an earlier one.
#pragma once

#include <concepts>
#include <cstdint>

#include "store/protocol/record.hpp"

namespace holdfast::store {

/// The volatile copies of a record, which searches read.
template <class T>
concept Times = requires(T& times, std::uint64_t value) {
  { times.newest() } -> std::convertible_to<std::uint64_t>;  ///< number that was drawn
  { times.now() } -> std::convertible_to<std::uint64_t>;
  { times.planned() } -> std::convertible_to<std::uint64_t>;  ///< when everything is flushed next; 0: never
  times.set_planned(value);
  times.set_flushing(true);  ///< a flush runs: see `flush_all`
  times.set_flushed(value);  ///< items with numbers up to it are dead
  times.set_now(value);
};

/// Flushes everything now, durably. Only one caller at a time changes a record.
///
/// A change decides what to answer, draws its number, and looks whether a flush runs, or has run since it decided; then it decides again. If it
/// saw none, its number was drawn before this flush read the newest one, so its item is flushed, and its answer was given before.
template <class Memory, Times T>
HOLDFAST_BOTH void flush_all(Memory& memory, std::uint64_t* record, T& times) {
  times.set_flushing(true);
  const std::uint64_t newest = times.newest();
  flush_items(memory, record, newest);
  times.set_flushed(newest);
  times.set_planned(0);
  times.set_flushing(false);
}

/// Flushes everything at `time`: now, if answers may depend on that time already, since `advance_time` looks at a plan only when time passes.
template <class Memory, Times T>
HOLDFAST_BOTH void flush_all_at(Memory& memory, std::uint64_t* record, T& times, std::uint64_t time) {
  if (time <= times.now()) return flush_all(memory, record, times);
  plan_flush(memory, record, time);
  times.set_planned(time);
}

/// Answers may depend on the time `now`, later than all before, when it returns.
template <class Memory, Times T>
HOLDFAST_BOTH void advance_time(Memory& memory, std::uint64_t* record, T& times, std::uint64_t now) {
  const std::uint64_t planned = times.planned();
  const bool is_due = planned != 0 && planned <= now;
  if (is_due && memory.keeps(Step::flush_on_time)) flush_all(memory, record, times);
  keep_time(memory, record, now);
  times.set_now(now);
  if (is_due && !memory.keeps(Step::flush_on_time)) flush_all(memory, record, times);
}

}  // namespace holdfast::store
