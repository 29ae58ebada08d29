// oracle.hpp: which states callers' operations may leave a table in, given what those that ended have answered.
#pragma once

#include <array>
#include <cstdint>
#include <set>
#include <vector>

#include "holdfast/status.hpp"

namespace holdfast::structures::model {

inline constexpr unsigned kKeys = 6;        ///< numbers of keys, from 0
inline constexpr unsigned kMostEvents = 8;  ///< operations of all callers

/// The values of the keys; 0: absent.
using State = std::array<std::uint8_t, kKeys>;

enum class Do : std::uint8_t { insert, insert_new, find, assign, erase, grow, clear };

struct Operation {
  Do what;
  std::uint8_t key = 0, value = 0;
};

inline Operation operation(Do what, unsigned key, unsigned value = 0) {
  return {what, static_cast<std::uint8_t>(key), static_cast<std::uint8_t>(value)};
}

/// An operation that has begun.
struct Event {
  Operation operation;
  std::uint32_t after = 0;  ///< a bit for each event that had ended when it began
  bool has_ended = false;
  Status status = Status::not_run;  ///< of one that has ended
  std::uint8_t value = 0;           ///< that it read
};

/// Every state that some order of the events leaves, from `first`: all those that have ended are in it, the others may be.
std::set<State> allowed(const std::vector<Event>& events, const State& first);

}  // namespace holdfast::structures::model
