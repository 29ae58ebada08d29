// oracle.hpp: what the table may hold, and may have answered, given what was asked of it. Rule 2.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "holdfast/score.hpp"
#include "holdfast/status.hpp"

namespace holdfast::gphash::model {

/// A key's state: the number that its value encodes, or one of these.
using State = std::uint64_t;
inline constexpr State kAbsent = ~State{0};
inline constexpr State kTorn = ~State{0} - 1;  ///< a value that was not written

/// One operation and what became of it.
struct Operation {
  Op op = Op::find;
  std::uint64_t key = 0;
  std::uint64_t value = 0;    ///< below 2^16, so that sums of them differ; of two columns, each
  unsigned column = 0;        ///< of a change: 0, the value is given whole; or its column 1 or 2 alone
  Score score = Score::none;  ///< of the table
  std::uint64_t step = 0;     ///< what a change sets there, if that is its kind
  unsigned caller = 0;
  bool invoked = false, answered = false;
  std::uint32_t earlier = 0;  ///< a bit for each operation that had been answered when this one began
  Status status = Status::not_run;
  State read = kAbsent;  ///< what an operation that reads returned
};

/// A value of two columns, or one and its score, as a state.
constexpr State both_columns(State first, State second) { return first | second << 32; }

/// A value and its score, as a state.
constexpr State with_score(State value, std::uint64_t score) {
  return value >> 32 == 0 && score >> 32 == 0 ? both_columns(value, score) : kTorn;
}

/// What `op` does to a key in `state`: its status, and the new state.
Status apply(const Operation& operation, State& state);

/// The operations of an execution, at most 32, and the states that every key had before them.
struct History {
  std::vector<std::uint64_t> keys;
  std::vector<State> before;          ///< by key
  std::vector<Operation> operations;  ///< each caller's in its order
  bool may_be_full = false;           ///< `no_space` is an answer
  Status (*apply)(const Operation&,
                  State&) = model::apply;  ///< what an operation does; of a structure with other operations

  /// Every state that key `k` may be in after a crash now: all answered operations took effect as they said, each of the
  /// others did or did not, a caller's in order (durable linearizability, key by key). Empty: the answers contradict each other.
  std::vector<State> allowed(unsigned k) const;
  std::uint64_t hash() const;
};

std::string describe(State state);
std::string describe(const History& history);

}  // namespace holdfast::gphash::model
