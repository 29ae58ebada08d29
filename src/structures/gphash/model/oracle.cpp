// oracle.cpp: tries all orders; there are few.
#include "structures/gphash/model/oracle.hpp"

#include <algorithm>

#include "core/hash.hpp"

namespace holdfast::gphash::model {

namespace {

constexpr const char* kOps[] = {"insert", "insert_or_assign", "assign",          "find",      "contains",
                                "erase",  "find_or_insert",   "insert_and_find", "accumulate"};
constexpr const char* kAnswers[] = {"inserted", "exists",    "updated",  "erased",
                                    "found",    "not_found", "no_space", "not_run"};

class Orders {
 public:
  Orders(const History& history, unsigned k, std::vector<State>& states) : history_(history), states_(states) {
    for (std::size_t i = 0; i < history.operations.size(); ++i) {
      const Operation& operation = history.operations[i];
      if (operation.key != history.keys[k] || !operation.invoked) continue;
      mine_ |= 1u << i;
      if (operation.answered) answered_ |= 1u << i;
    }
    extend(history.before[k], 0);
  }

 private:
  void extend(State state, std::uint32_t done) {
    if ((answered_ & ~done) == 0 && std::find(states_.begin(), states_.end(), state) == states_.end()) {
      states_.push_back(state);
    }
    std::uint32_t blocked_callers = 0;
    for (std::uint32_t left = mine_ & ~done; left != 0; left &= left - 1) {
      const auto i = static_cast<unsigned>(__builtin_ctz(left));
      const Operation& operation = history_.operations[i];
      if (blocked_callers >> operation.caller & 1) continue;  // its earlier operation comes first
      blocked_callers |= 1u << operation.caller;
      if ((operation.earlier & mine_ & ~done) != 0) continue;
      State next = state;
      if (agrees(operation, next)) extend(next, done | 1u << i);
    }
  }

  bool agrees(const Operation& operation, State& state) const {
    if (operation.answered && operation.status == Status::no_space)
      return history_.may_be_full && takes_value(operation.op);
    const Status status = history_.apply(operation, state);
    if (!operation.answered) return true;
    if (status != operation.status) return false;
    return !reads_value(operation.op) || operation.read == state;
  }

  const History& history_;
  std::vector<State>& states_;
  std::uint32_t mine_ = 0, answered_ = 0;
};

}  // namespace

namespace {

/// The value that a change of `before`, 0 if the key is not there, leaves where it gives one.
State given(const Operation& operation, State before) {
  if (operation.column == 0) return operation.value;
  const State other = operation.column == 1 ? before >> 32 : before & 0xffff'ffff;
  return operation.column == 1 ? both_columns(operation.value, other) : both_columns(other, operation.value);
}

/// What it does to the value.
Status apply_to_value(const Operation& operation, State& state) {
  const bool there = state != kAbsent;
  const State before = there ? state : 0;
  switch (operation.op) {
    case Op::find:
    case Op::contains: return there ? Status::found : Status::not_found;
    case Op::erase: state = kAbsent; return there ? Status::erased : Status::not_found;
    case Op::assign:
      if (!there) return Status::not_found;
      state = given(operation, before);
      return Status::updated;
    case Op::insert:
    case Op::insert_and_find:
      if (there) return Status::exists;
      state = given(operation, before);
      return Status::inserted;
    case Op::find_or_insert:
      if (there) return Status::found;
      state = given(operation, before);
      return Status::inserted;
    case Op::insert_or_assign: state = given(operation, before); return there ? Status::updated : Status::inserted;
    case Op::accumulate: break;
  }
  state = before + (operation.column == 2 ? both_columns(0, operation.value) : operation.value);
  return there ? Status::updated : Status::inserted;
}

}  // namespace

Status apply(const Operation& operation, State& state) {
  if (operation.score == Score::none) return apply_to_value(operation, state);
  const bool there = state != kAbsent;
  const std::uint64_t before = there ? state >> 32 : 0;
  State value = there ? state & 0xffff'ffff : kAbsent;
  const Status status = apply_to_value(operation, value);
  if (status == Status::inserted || status == Status::updated) {
    state = with_score(value, operation.score == Score::frequency ? before + 1 : operation.step);
  } else if (value == kAbsent) {
    state = kAbsent;
  }
  return status;
}

std::vector<State> History::allowed(unsigned k) const {
  std::vector<State> states;
  Orders(*this, k, states);
  std::sort(states.begin(), states.end());
  return states;
}

std::uint64_t History::hash() const {
  std::uint64_t hash = 0;
  for (const Operation& operation : operations) {
    hash = mix(hash + operation.earlier * 4 + operation.invoked * 2 + operation.answered + 1);
    if (operation.answered) hash = mix(hash + static_cast<std::uint64_t>(operation.status) + 16 * operation.read);
  }
  return hash;
}

std::string describe(State state) {
  if (state == kAbsent || state == kTorn) return state == kAbsent ? "absent" : "torn";
  if (state >> 32 == 0) return std::to_string(state);
  return std::to_string(state & 0xffff'ffff) + " and " + std::to_string(state >> 32);
}

std::string describe(const History& history) {
  std::string text;
  for (std::size_t k = 0; k < history.keys.size(); ++k) {
    text += "  key " + std::to_string(history.keys[k]) + " was " + describe(history.before[k]) + "\n";
  }
  for (const Operation& operation : history.operations) {
    text += "  caller " + std::to_string(operation.caller) + ": " + kOps[static_cast<unsigned>(operation.op)] + "(" +
            std::to_string(operation.key) +
            (operation.column != 0 ? ", column " + std::to_string(operation.column) : "") +
            (takes_value(operation.op) ? ", " + std::to_string(operation.value) : "") + ") " +
            (operation.answered  ? kAnswers[static_cast<unsigned>(operation.status)]
             : operation.invoked ? "was running"
                                 : "had not begun");
    if (operation.answered && reads_value(operation.op)) text += " " + describe(operation.read);
    text += "\n";
  }
  return text;
}

}  // namespace holdfast::gphash::model
