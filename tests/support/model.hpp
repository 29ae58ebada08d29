// model.hpp: what every operation must do to one key, as the documentation says it; the oracle of all outside tests.
#pragma once

#include <optional>

#include "holdfast/status.hpp"

namespace holdfast::test {

/// What one operation answers.
template <class Value>
struct Answer {
  Status status = Status::not_found;
  std::optional<Value> out;  ///< what a reading operation reads; none: nothing to read
};

/// Does `op` to a key whose state is `state` (none: absent). `combine(old, given)` is what accumulate makes of two values.
template <class Value, class CombineValues>
Answer<Value> step(Op op, std::optional<Value>& state, const Value& given, const CombineValues& combine) {
  const bool present = state.has_value();
  switch (op) {
    case Op::insert:
      if (present) return {Status::exists, {}};
      state = given;
      return {Status::inserted, {}};
    case Op::insert_or_assign: state = given; return {present ? Status::updated : Status::inserted, {}};
    case Op::assign:
      if (!present) return {Status::not_found, {}};
      state = given;
      return {Status::updated, {}};
    case Op::find: return {present ? Status::found : Status::not_found, state};
    case Op::contains: return {present ? Status::found : Status::not_found, {}};
    case Op::erase: state.reset(); return {present ? Status::erased : Status::not_found, {}};
    case Op::find_or_insert:
      if (!present) state = given;
      return {present ? Status::found : Status::inserted, state};
    case Op::insert_and_find:
      if (!present) state = given;
      return {present ? Status::exists : Status::inserted, state};
    case Op::accumulate:
      state = present ? combine(*state, given) : given;
      return {present ? Status::updated : Status::inserted, {}};
  }
  return {};
}

}  // namespace holdfast::test
