// effect.hpp: what operations on one key do to it, said before the key is looked up.
//
// Effects that follow each other combine to one, in any grouping. So a scan finds the state that each row of a batch meets, and
// what a whole run leaves, however often the batch repeats a key: a hot key's rows are answered side by side (rule 2).
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/both.hpp"
#include "core/combine.hpp"
#include "core/operations.hpp"
#include "holdfast/status.hpp"
#include "structures/gphash/protocol/run.hpp"

namespace holdfast::gphash {

/// What a key holds at some point of a batch: the value of a row, by its number, or one of these. 31 bits.
using Held = std::uint32_t;
inline constexpr Held kNothing = 0x7fff'ffff;  ///< it is absent
inline constexpr Held kOld = kNothing - 1;     ///< the value from before the batch
inline constexpr Held kSum =
    kNothing - 2;  ///< what `after_row` makes of the rows up to here: a sum, or a value with a new column

/// What a key holds after some operations, by whether it was there before them.
struct Effect {
  Held if_absent : 31 = kNothing;
  std::uint32_t sums : 1 = 0;  ///< one of them accumulates, or gives a column of the value
  Held if_there : 31 = kOld;
  std::uint32_t erases : 1 = 0;  ///< one of them does: of the value from before them nothing stays, in no column
};
static_assert(sizeof(Effect) == 8);

HOLDFAST_BOTH constexpr Effect make_effect(Held if_absent, Held if_there, bool sums, bool erases = false) {
  return {if_absent & kNothing, sums ? 1u : 0u, if_there & kNothing, erases ? 1u : 0u};
}

/// What a key holds after `effect` that held `before`.
HOLDFAST_BOTH constexpr Held after(const Effect& effect, Held before) {
  if (before == kNothing) return effect.if_absent;
  return effect.if_there == kOld ? before : effect.if_there;
}

/// The effect of `second` after `first`.
HOLDFAST_BOTH constexpr Effect combined(const Effect& first, const Effect& second) {
  return make_effect(after(second, first.if_absent), after(second, first.if_there), (first.sums | second.sums) != 0,
                     (first.erases | second.erases) != 0);
}

HOLDFAST_BOTH inline Effect effect_of(const Rows& rows, std::size_t number) {
  // A column is no value yet: the value that it belongs to is made as sums are.
  const Held row = rows.partial ? kSum : static_cast<Held>(number);
  const auto held = [&](Act act, Held before) {
    switch (act) {
      case Act::keeps: break;
      case Act::sets: return row;
      case Act::combines: return before == kNothing && rows.scale == 1 ? row : kSum;
      case Act::removes: return kNothing;
    }
    return before;
  };
  const Op op = rows.op_of(number);
  const Act absent = act_of(op, false), there = act_of(op, true);
  const bool sums = there == Act::combines || (rows.partial && (absent == Act::sets || there == Act::sets));
  return make_effect(held(absent, kNothing), held(there, kOld), sums, there == Act::removes);
}

/// One word of a key's value while rows are applied to it.
struct Word {
  bool there = false;
  std::uint64_t bits = 0;
};

/// The word after a row of operation `op` that gives `given`. What `effect_of` says of the key, this says of its value, or of the column
/// that the rows are about.
HOLDFAST_BOTH inline Word after_row(const Word& before, Op op, const Combining& how, std::uint64_t given) {
  switch (act_of(op, before.there)) {
    case Act::keeps: break;
    case Act::sets: return {true, given};
    case Act::combines: {
      if (!before.there && how.scale == 1) return {true, given};
      Combining with = how;
      with.alone = !before.there;
      return {true, combine_word(before.there ? before.bits : 0, given, with)};
    }
    case Act::removes: return {};
  }
  return before;
}

/// How often operations on one key write its value since the last erase among them, by whether it was there before them. A scan finds
/// them as it does effects; scores that are frequencies count them.
struct Writes {
  std::uint32_t if_absent = 0;
  std::uint32_t if_there : 31 = 0;
  std::uint32_t erases : 1 = 0;  ///< one of them does: what was counted before them goes
};
static_assert(sizeof(Writes) == 8);

/// Those of `second` after `first`.
HOLDFAST_BOTH constexpr Writes combined(const Writes& first, const Writes& second) {
  if (second.erases != 0) return second;
  return {first.if_absent + second.if_absent, (first.if_there + second.if_there) & 0x7fff'ffffu, first.erases};
}

/// Of one row. `before`: the effect of the key's rows before it.
HOLDFAST_BOTH inline Writes writes_of(const Rows& rows, std::size_t row, const Effect& before) {
  const Op op = rows.op_of(row);
  if (act_of(op, true) == Act::removes) return {0, 0, 1};
  const auto writes = [op](Held held) {
    const Status status = status_of(op, held != kNothing);
    return status == Status::inserted || status == Status::updated ? 1u : 0u;
  };
  return {writes(after(before, kNothing)), writes(after(before, kOld)) & 1u, 0};
}

/// Of operations on a key, by whether it was there.
HOLDFAST_BOTH constexpr std::uint64_t count_of(const Writes& writes, bool there) {
  return there ? writes.if_there : writes.if_absent;
}
/// True if what they write continues to count from the item's score.
HOLDFAST_BOTH constexpr bool counts_on(const Writes& writes, bool there) { return there && writes.erases == 0; }

/// Answers a row, but for its value, and says whose value that is: what the key holds after the row. `before`: the effect of the
/// key's rows before it. `there`: whether the batch found the key.
HOLDFAST_BOTH inline Held answer_row(const Rows& rows, std::size_t row, const Effect& before, bool there) {
  const Op op = rows.op_of(row);
  const Held held = after(before, there ? kOld : kNothing);
  if (rows.statuses) rows.statuses[row] = status_of(op, held != kNothing);
  if (rows.found) rows.found[row] = held != kNothing;
  return after(effect_of(rows, row), held);
}

}  // namespace holdfast::gphash
