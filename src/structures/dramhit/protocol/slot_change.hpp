// slot_change.hpp: what an operation answers, and makes of the one slot that holds its key.
#pragma once

#include <cstdint>

#include "core/both.hpp"
#include "core/combine.hpp"
#include "core/operations.hpp"
#include "holdfast/status.hpp"
#include "structures/dramhit/line.hpp"

namespace holdfast::dramhit {

/// How far an operation came at a line.
enum class LineOutcome : std::uint8_t {
  done,          ///< answered
  next,          ///< continues at the next line, which must be asked for
  again,         ///< another thread interfered: the same once more
  frozen,        ///< the table is being moved: join in, and begin anew
  out_of_reach,  ///< no slot within reach: the table must grow
};

struct Answer {
  Status status = Status::not_run;
  std::uint64_t value = 0;
};

/// What an operation does to a key's value.
struct Change {
  Op op = Op::find;
  std::uint64_t given = 0;
  const Combining& with;

  bool adds() const { return act_of(op, false) != Act::keeps; }
  std::uint64_t first_value() const {
    if (op != Op::accumulate || with.scale == 1) [[likely]]
      return given;
    Combining alone = with;
    alone.alone = true;
    return combine_word(0, given, alone);
  }
};

/// What `accumulate` makes of two words.
inline std::uint64_t combined(std::uint64_t old, std::uint64_t given, const Combining& with) {
  if (with.element == Element::u64 && with.how == Combine::add) [[likely]]
    return old + given;
  return combine_word(old, given, with);
}

/// What becomes of a slot, and its value then.
struct Next {
  Act act = Act::keeps;
  std::uint64_t value = 0;
};

/// What `change` answers, and what it makes of a slot that holds its key. All in registers: no more than words go back.
/// `Memory` is named only to keep code for different instruction sets apart.
template <class Memory>
[[gnu::always_inline]] inline Next decide(const Change& change, bool present, std::uint64_t old, Answer& answer) {
  answer.status = status_of(change.op, present);
  answer.value = 0;
  Next next{act_of(change.op, present), change.given};
  if (next.act == Act::keeps) {
    if (present && reads_value(change.op)) answer.value = old;
    return next;
  }
  if (next.act == Act::removes) next.value = old;  // it stays: a reader may be at it
  if (next.act == Act::combines) next.value = present ? combined(old, change.given, change.with) : change.first_value();
  if (!present && reads_value(change.op)) answer.value = next.value;
  return next;
}

inline constexpr unsigned kAttempts = 8;  ///< swaps that may fail before others proceed

/// Changes the slot that held the key a moment ago, if no other thread does so first.
template <LineMemory Memory>
[[gnu::always_inline]] inline LineOutcome change_slot_once(const Memory& memory, typename Memory::At line,
                                                           unsigned slot, std::uint64_t want, const Change& change,
                                                           Answer& answer) {
  const Pair seen = memory.load(line, slot);
  if (!holds(seen.word, want)) return LineOutcome::again;
  const Next next = decide<Memory>(change, is_live(seen.word), seen.value, answer);
  if (next.act == Act::keeps) return LineOutcome::done;
  if ((seen.word & kFrozen) != 0) return LineOutcome::frozen;
  const std::uint64_t word = next.act == Act::removes ? seen.word & ~kLive : seen.word | kLive;
  return memory.swap(line, slot, seen, {word, next.value}) ? LineOutcome::done : LineOutcome::again;
}

/// The same until it is done, frozen, or others should proceed.
template <LineMemory Memory>
inline LineOutcome change_slot(const Memory& memory, typename Memory::At line, unsigned slot, std::uint64_t want,
                               const Change& change, Answer& answer) {
  for (unsigned attempt = 0; attempt < kAttempts; ++attempt) {
    const LineOutcome outcome = change_slot_once(memory, line, slot, want, change, answer);
    if (outcome != LineOutcome::again) return outcome;
  }
  return LineOutcome::again;
}

}  // namespace holdfast::dramhit
