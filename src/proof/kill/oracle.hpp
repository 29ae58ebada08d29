// oracle.hpp: what the oracles of kill subjects share: what is wrong, which values may be there, and how many calls happened.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "holdfast/pool.hpp"

namespace holdfast::proof::kill {

/// What is wrong with an acknowledged answer or a recovered pool: the first 20 faults.
class Findings {
 public:
  void expect(bool holds, const std::string& what);
  /// Expects that neither the check of a recovered pool nor the inspection of its closed file found a fault.
  void expect_sound(const char* check_errors, const PoolInfo& info);
  /// Returns the faults since the last call.
  std::vector<std::string> take() { return std::exchange(wrong_, {}); }

 private:
  std::vector<std::string> wrong_;
};

/// What each of several places (keys, words) may hold after a kill: the value that acknowledged calls left there, or one that an
/// unacknowledged call may have put there.
template <class Value>
class PossibleValues {
 public:
  PossibleValues() = default;
  explicit PossibleValues(std::size_t places, const Value& value = {}) : places_(places, {value, {}}) {}

  std::size_t size() const { return places_.size(); }
  /// The value that acknowledged calls left.
  const Value& operator[](std::size_t place) const { return places_[place].now; }
  /// An acknowledged call put it there.
  void set(std::size_t place, Value value) { places_[place].now = std::move(value); }
  /// What unacknowledged calls may have put there, in their order.
  std::vector<Value>& pending(std::size_t place) { return places_[place].pending; }
  void may_become(std::size_t place, Value value) { places_[place].pending.push_back(std::move(value)); }
  /// No call is unacknowledged any more.
  void settle() {
    for (Expected& place : places_) place.pending.clear();
  }
  /// Takes the value that was found as the one that is there. False: no call put it there.
  bool found(std::size_t place, Value value) {
    Expected& its = places_[place];
    const bool is_old = value == its.now;
    const bool is_pending = std::find(its.pending.begin(), its.pending.end(), value) != its.pending.end();
    if (!is_old && is_pending) ++kept_;
    if (is_old && !is_pending && !its.pending.empty()) ++lost_;
    its.now = std::move(value);
    return is_old || is_pending;
  }

  std::uint64_t kept() const { return kept_; }  ///< places that had a value of an unacknowledged call
  std::uint64_t lost() const { return lost_; }  ///< places that had the old one instead

 private:
  struct Expected {
    Value now;
    std::vector<Value> pending;
  };
  std::vector<Expected> places_;
  std::uint64_t kept_ = 0, lost_ = 0;
};

/// After a life in which each call wrote all places: `done` is the last acknowledged call, `begun` the last one that began; 0: none.
template <class Value, class ValueAfter>
void note_calls(PossibleValues<Value>& values, std::uint64_t done, std::uint64_t begun, const ValueAfter& value_after) {
  values.settle();
  for (std::size_t place = 0; place < values.size(); ++place) {
    if (done != 0) values.set(place, value_after(done, place));
    if (begun != 0 && begun != done) values.may_become(place, value_after(begun, place));
  }
}

/// Calls by their kinds.
template <unsigned kKinds>
struct CallCounts {
  std::uint64_t calls[kKinds] = {};                    ///< acknowledged
  std::uint64_t kept[kKinds] = {}, lost[kKinds] = {};  ///< unacknowledged ones that happened, or did not

  template <class Kind>
  void add_acknowledged(Kind kind) {
    ++calls[static_cast<unsigned>(kind)];
  }
  template <class Kind>
  void add_pending(Kind kind, bool happened) {
    ++(happened ? kept : lost)[static_cast<unsigned>(kind)];
  }
};

}  // namespace holdfast::proof::kill
