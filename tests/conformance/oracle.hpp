// oracle.hpp: what a table of any kind must answer and hold, on a std::map, one operation after the other. Keys are numbers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

#include "core/half.hpp"
#include "holdfast/batch.hpp"
#include "holdfast/score.hpp"
#include "support/model.hpp"

namespace holdfast::test {

using Value = std::vector<std::uint8_t>;

/// One element of a value, combined as `accumulate` does, in plain arithmetic.
template <class T>
void combine_as(std::uint8_t* into, const std::uint8_t* from, Combine how) {
  T a, b;
  std::memcpy(&a, into, sizeof(T));
  std::memcpy(&b, from, sizeof(T));
  T sum;
  if constexpr (std::is_integral_v<T>) {
    using Unsigned = std::make_unsigned_t<T>;
    sum = static_cast<T>(static_cast<Unsigned>(static_cast<Unsigned>(a) + static_cast<Unsigned>(b)));  // it wraps
  } else {
    sum = a + b;
  }
  const T result = how == Combine::add ? sum : how == Combine::min ? (b < a ? b : a) : (a < b ? b : a);
  std::memcpy(into, &result, sizeof(T));
}

/// The same for numbers of 16 bits, in fp32 (tests/core/half_test.cpp holds the conversions against the compiler's).
template <class T>
void combine_small(std::uint8_t* into, const std::uint8_t* from, Combine how, T (*rounded)(float)) {
  T a, b;
  std::memcpy(&a, into, sizeof(T));
  std::memcpy(&b, from, sizeof(T));
  float left = widened(a);
  const float right = widened(b);
  combine_as<float>(reinterpret_cast<std::uint8_t*>(&left), reinterpret_cast<const std::uint8_t*>(&right), how);
  const T result = rounded(left);
  std::memcpy(into, &result, sizeof(T));
}

inline void combine_value(Value& into, const std::uint8_t* from, Combine how, Element element) {
  for (std::size_t at = 0; at < into.size(); at += element_bytes(element)) {
    switch (element) {
      case Element::i32: combine_as<std::int32_t>(&into[at], from + at, how); break;
      case Element::u32: combine_as<std::uint32_t>(&into[at], from + at, how); break;
      case Element::i64: combine_as<std::int64_t>(&into[at], from + at, how); break;
      case Element::u64: combine_as<std::uint64_t>(&into[at], from + at, how); break;
      case Element::f32: combine_as<float>(&into[at], from + at, how); break;
      case Element::f64: combine_as<double>(&into[at], from + at, how); break;
      case Element::f16: combine_small<Half>(&into[at], from + at, how, to_half); break;
      case Element::bf16: combine_small<BFloat16>(&into[at], from + at, how, to_bfloat16); break;
    }
  }
}

/// What one row must answer.
struct Expected {
  Status status;
  bool found;                ///< the key was there before
  std::optional<Value> out;  ///< none: nothing is read
};

class Oracle {
 public:
  /// `value_bytes`: of a column's values; others may have any length. `kind`: of the scores that the table keeps.
  explicit Oracle(std::uint32_t value_bytes, Score kind = Score::none) : value_bytes_(value_bytes), kind_(kind) {}

  /// `given` is the row's value, or its column's. `now`: the score of what is written, of a table with scores of steps.
  Expected apply(Op op, std::uint64_t key, std::span<const std::uint8_t> given, const Accumulate& how = {},
                 const std::optional<Column>& column = {}, std::uint64_t now = 0) {
    const auto at = items_.find(key);
    const bool found = at != items_.end();
    std::optional<Value> state;
    if (found && column) {
      state.emplace(at->second.begin() + column->begin, at->second.begin() + column->begin + column->bytes);
    } else if (found) {
      state = at->second;
    }
    const auto combined = [&](Value value, const Value& more) {
      combine_value(value, more.data(), how.combine, how.element);
      return value;
    };
    const auto answer = step(op, state, Value(given.begin(), given.end()), combined);
    if (answer.status == Status::erased) items_.erase(key), scores_.erase(key);
    if (answer.status == Status::inserted || answer.status == Status::updated) {
      Value& value = items_[key];
      value.resize(column ? value_bytes_ : state->size());
      std::copy(state->begin(), state->end(), value.begin() + (column ? column->begin : 0));
      if (kind_ != Score::none) scores_[key] = kind_ == Score::frequency ? scores_[key] + 1 : now;
    }
    return {answer.status, found, answer.out};
  }

  const std::map<std::uint64_t, Value>& items() const { return items_; }
  const std::map<std::uint64_t, std::uint64_t>& scores() const { return scores_; }  ///< of times: 0
  void clear() {
    items_.clear();
    scores_.clear();
  }

 private:
  std::uint32_t value_bytes_;
  Score kind_;
  std::map<std::uint64_t, Value> items_;
  std::map<std::uint64_t, std::uint64_t> scores_;
};

}  // namespace holdfast::test
