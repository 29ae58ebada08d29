// effect.hpp: what operations on one key do to it, said before anybody has looked the key up.
//
// Effects that follow each other combine to one, in any grouping. So a scan finds the state that each row of a batch meets, and
// what a whole run leaves, however often the batch repeats a key: a hot key's rows are answered side by side (RULES.md 2).
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/both.hpp"
#include "holdfast/status.hpp"
#include "index/run.hpp"

namespace holdfast::index {

/// What a key holds at some point of a batch: the value of a row, by its number, or one of these.
using Held = std::uint32_t;
inline constexpr Held kNothing = ~Held{0};        ///< it is absent
inline constexpr Held kOld = ~Held{0} - 1;        ///< the value from before the batch
inline constexpr Held kUnsettled = ~Held{0} - 2;  ///< what only run.hpp can tell: the key is accumulated into
inline constexpr std::size_t kMostEffectRows = kUnsettled;

/// What a key holds after some operations, by whether it was there before them.
struct Effect {
  Held if_absent = kNothing;
  Held if_there = kOld;
};
static_assert(sizeof(Effect) == 8);

/// What a key holds after `effect` that held `before`.
HOLDFAST_BOTH constexpr Held after(const Effect& effect, Held before) {
  if (before == kUnsettled) return before;
  if (before == kNothing) return effect.if_absent;
  return effect.if_there == kOld ? before : effect.if_there;
}

/// The effect of `second` after `first`.
HOLDFAST_BOTH constexpr Effect combined(const Effect& first, const Effect& second) {
  return {after(second, first.if_absent), after(second, first.if_there)};
}

HOLDFAST_BOTH constexpr Effect effect_of(Op op, Held row) {
  switch (op) {
    case Op::find:
    case Op::contains: break;
    case Op::erase: return {kNothing, kNothing};
    case Op::assign: return {kNothing, row};
    case Op::insert:
    case Op::insert_and_find:
    case Op::find_or_insert: return {row, kOld};
    case Op::insert_or_assign: return {row, row};
    case Op::accumulate: return {kUnsettled, kUnsettled};
  }
  return {};
}

/// The answer of an operation that finds room.
HOLDFAST_BOTH constexpr Status status_of(Op op, bool was_there) {
  switch (op) {
    case Op::find:
    case Op::contains: break;
    case Op::erase: return was_there ? Status::erased : Status::not_found;
    case Op::assign: return was_there ? Status::updated : Status::not_found;
    case Op::insert:
    case Op::insert_and_find: return was_there ? Status::exists : Status::inserted;
    case Op::find_or_insert: return was_there ? Status::found : Status::inserted;
    case Op::insert_or_assign:
    case Op::accumulate: return was_there ? Status::updated : Status::inserted;
  }
  return was_there ? Status::found : Status::not_found;
}

/// Answers a row, but for its value, and says whose value that is: what the key holds after the row. `before`: the effect of the
/// key's rows before it. `there`: whether the batch found the key.
HOLDFAST_BOTH inline Held answer_row(const Rows& rows, std::size_t row, const Effect& before, bool there) {
  const Op op = rows.op_of(row);
  const Held held = after(before, there ? kOld : kNothing);
  if (rows.statuses) rows.statuses[row] = status_of(op, held != kNothing);
  if (rows.found) rows.found[row] = held != kNothing;
  return after(effect_of(op, static_cast<Held>(row)), held);
}

}  // namespace holdfast::index
