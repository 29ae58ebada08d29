// search.hpp: a search, and slots that a key may take. change.hpp has the order of steps.
#pragma once

#include <bit>
#include <cstdint>

#include "structures/dramhit/protocol/slot_change.hpp"

namespace holdfast::dramhit {

struct Looked {
  LineOutcome outcome = LineOutcome::done;
  Answer answer = {Status::not_found, 0};
};

/// The key was not found, from the full line where its search begins up to `line`: it may have come back to the first meanwhile.
template <LineMemory Memory>
[[gnu::noinline]] Looked look_back(const Memory& memory, typename Memory::At line, std::uint64_t want,
                                   const Change& change) {
  Looked back;
  if (!memory.reuses()) return back;  // nor does any key come back
  const unsigned on = distance(want);
  const auto home = memory.on(line, -static_cast<std::int64_t>(on));
  want -= on * kOneLineOn;
  const auto seen = memory.look(home, want);
  if (seen.reserved()) {
    back.outcome = LineOutcome::again;
    return back;
  }
  if (seen.found()) {
    const unsigned slot = seen.slot();
    back.outcome = change_slot(memory, home, slot, want, change, back.answer);
  }
  return back;
}

/// Looks `want` up in one line. `reach` is how far the key may lie; the line where its search begins says so.
template <LineMemory Memory>
[[gnu::always_inline]] inline LineOutcome find(const Memory& memory, typename Memory::At line, std::uint64_t want,
                                               unsigned& reach, Answer& answer) {
  const auto seen = memory.look(line, want);
  if (seen.found()) [[likely]] {
    const Pair pair = memory.load(line, seen.slot());
    if (!holds(pair.word, want)) [[unlikely]]
      return LineOutcome::again;
    answer.status = is_live(pair.word) ? Status::found : Status::not_found;
    answer.value = is_live(pair.word) ? pair.value : 0;
    return LineOutcome::done;
  }
  const bool full = memory.full(seen);
  if (distance(want) == 0) reach = full ? memory.reach(line, seen) : 0;
  if (distance(want) < reach) return LineOutcome::next;
  if (distance(want) != 0 || full) {
    const unsigned on = distance(want);
    const auto home = memory.look(memory.on(line, -static_cast<std::int64_t>(on)), want - on * kOneLineOn);
    if (!home.found() && !home.reserved()) [[likely]] {
      answer = {Status::not_found, 0};
      return LineOutcome::done;
    }
    static constexpr Combining kNone;
    const Looked back = look_back(memory, line, want, {Op::find, 0, kNone});
    answer = back.answer;
    return back.outcome;
  }
  answer.status = Status::not_found;
  answer.value = 0;
  return LineOutcome::done;
}

/// A slot that a key may take, and what is in it.
template <LineMemory Memory>
struct Free {
  typename Memory::At line = {};
  unsigned slot = kSlots;
  std::uint64_t want = 0;
  Pair seen = {};
  explicit operator bool() const { return slot != kSlots; }
};

template <LineMemory Memory>
inline Free<Memory> free_slot(const Memory& memory, typename Memory::At line, const typename Memory::Seen& seen,
                              std::uint64_t want) {
  if (!memory.full(seen)) return {line, static_cast<unsigned>(std::countr_one(seen.used_slots())), want, {}};
  if (!memory.reuses()) return {};
  for (unsigned free = seen.free_slots(); free != 0; free &= free - 1) {
    const auto slot = static_cast<unsigned>(std::countr_zero(free));
    const Pair pair = memory.load(line, slot);
    if ((pair.word & (kUsed | kLive | kFrozen)) == kUsed) return {line, slot, want, pair};
  }
  return {};
}

}  // namespace holdfast::dramhit
