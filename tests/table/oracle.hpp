// oracle.hpp: what a table should do, on a std::map, one operation after the other.
#pragma once

#include <cstdint>
#include <cstring>
#include <map>
#include <type_traits>
#include <vector>

#include "core/half.hpp"
#include "holdfast/table.hpp"

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

struct Expected {
  Status status;
  Value out;  ///< empty: the operation reads nothing
};

class Oracle {
 public:
  explicit Oracle(std::uint32_t value_bytes) : value_bytes_(value_bytes) {}

  Expected apply(Op op, std::uint64_t key, const std::uint8_t* value, Combine how, Element element) {
    const auto at = items_.find(key);
    const bool there = at != items_.end();
    const auto given = [&] { return Value(value, value + value_bytes_); };
    const auto add = [&] { items_[key] = given(); };
    const auto seen = [&] { return items_.count(key) ? items_[key] : Value(value_bytes_, 0); };
    switch (op) {
      case Op::insert:
        if (!there) add();
        return {there ? Status::exists : Status::inserted, {}};
      case Op::insert_or_assign: add(); return {there ? Status::updated : Status::inserted, {}};
      case Op::assign:
        if (there) add();
        return {there ? Status::updated : Status::not_found, {}};
      case Op::find: return {there ? Status::found : Status::not_found, seen()};
      case Op::contains: return {there ? Status::found : Status::not_found, {}};
      case Op::erase: items_.erase(key); return {there ? Status::erased : Status::not_found, {}};
      case Op::find_or_insert:
        if (!there) add();
        return {there ? Status::found : Status::inserted, seen()};
      case Op::insert_and_find:
        if (!there) add();
        return {there ? Status::exists : Status::inserted, seen()};
      case Op::accumulate:
        if (!there) return add(), Expected{Status::inserted, {}};
        combine_value(items_[key], value, how, element);
        return {Status::updated, {}};
    }
    return {Status::not_run, {}};
  }

  const std::map<std::uint64_t, Value>& items() const { return items_; }
  void clear() { items_.clear(); }

 private:
  std::uint32_t value_bytes_;
  std::map<std::uint64_t, Value> items_;
};

}  // namespace holdfast::test
