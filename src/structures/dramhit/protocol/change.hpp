// change.hpp: what one operation does to one line: the order of reads and writes that keeps a key single and a pair whole.
//
// A key has at most one slot, live or erased. Three ways lead to a slot:
//
//   its own     an erased slot keeps its key, and the key takes it back by one swap.
//   a fresh one of the line where its search begins, while that line was never full: by one swap of zeros. Slots of a line
//               are used in order, and none that was used is ever unused again; so of two who add one key both want the
//               same slot, or the second sees the first. Nothing of that line lies further on yet.
//   any other   under the lock of the line where its search begins, after another look at all that the search passes: a
//               fresh slot of a later line, or an erased one of another key. Who holds the lock is the only one to add keys
//               that begin here: lines whose slots were all used have no other way, and stay so.
//
// An erased slot passes to another key only in a line that is full: while it has fresh slots, a thread that has passed the
// erased one may be about to take a fresh one for the same key. And only where slots are read whole (reuses()): a reader by
// two words could take the value of another key. It needs not wait: a reader that finds another key there continues,
// and a key that was erased while he searched was absent at that moment.
//
// A full line says how far keys went whose search begins there: who adds one further on says so before the key gets its slot, and
// holds the lock; so a search ends there.
//
// Keys come back where a key of a full line is erased: shift.hpp.
//
// All of this is over slots as SlotMemory has them; the model (tests/model/dramhit_test.cpp) runs it in every order, and without
// each of its steps.
#pragma once

#include <bit>
#include <cstdint>

#include "structures/dramhit/protocol/shift.hpp"

namespace holdfast::dramhit {

/// Adds a key whose first line is full, holding that line's lock. Lines from `home` to `asked` further on were asked for.
template <LineMemory Memory>
inline LineOutcome add_holding(const Memory& memory, typename Memory::At home, std::uint64_t want, unsigned asked,
                               const Change& change, Answer& answer) {
  for (unsigned attempt = 0; attempt < kAttempts; ++attempt) {
    unsigned reach = 0;
    Free<Memory> free;
    for (unsigned on = 0; on <= reach || !free; ++on) {  // once more: is the key there? Then on to a slot that is free
      if (on > kMostDistance) return LineOutcome::out_of_reach;
      if (on > asked) return LineOutcome::next;
      const auto line = memory.on(home, on);
      const std::uint64_t here = want + on * kOneLineOn;
      const auto seen = memory.look(line, here);
      if (on == 0) reach = memory.reach(line, seen);
      if (seen.found()) {
        return change_slot(memory, line, seen.slot(), here, change, answer);
      }
      if (!free) free = free_slot(memory, line, seen, here);
    }
    if (distance(free.want) > reach) memory.raise(home, reach, distance(free.want));
    const std::uint64_t value = change.first_value();
    if (memory.swap(free.line, free.slot, free.seen, {free.want | kLive | (free.seen.word & kOfLine), value})) {
      answer = {Status::inserted, reads_value(change.op) ? value : 0};
      return LineOutcome::done;
    }
    if ((memory.load_word(free.line, free.slot) & kFrozen) != 0) return LineOutcome::frozen;
  }
  return LineOutcome::again;
}

/// The same for `line`, `distance(want)` lines on from where the search begins: takes the lock, or gives way. Says at once that keys
/// went further than the first line if this one may: one locked instruction less, and a reach that is too long only costs a look.
template <LineMemory Memory>
[[gnu::noinline]] Looked add_locked(const Memory& memory, typename Memory::At line, std::uint64_t want,
                                    const Change change) {
  const unsigned asked = distance(want);
  const auto home = memory.on(line, -static_cast<std::int64_t>(asked));
  if ((memory.set(home, 0, asked == 0 ? kLock : kLock | kPassed) & kLock) != 0) return {LineOutcome::again, {}};
  Looked looked;
  looked.outcome = add_holding(memory, home, want - asked * kOneLineOn, asked, change, looked.answer);
  memory.clear(home, 0, kLock);
  return looked;
}

/// Whether a key may take a slot of this line.
template <LineMemory Memory>
[[gnu::always_inline]] inline bool takes(const Memory& memory, const typename Memory::Seen& seen) {
  return !memory.full(seen) || (memory.reuses() && seen.free_slots() != 0);
}

/// As `change`, where the key is not in this line, nor any further on; or its erasure may bring keys back; or a swap was lost.
template <LineMemory Memory>
[[gnu::noinline]] Looked change_further(const Memory& memory, typename Memory::At line, std::uint64_t want,
                                        unsigned& reach, Change what) {
  Looked looked;
  const unsigned on = distance(want);
  const bool erases = what.op == Op::erase;
  if (erases && (reach & (kErases | kErased)) != 0) {
    looked.outcome = erase_and_shift(memory, line, want, reach, what, looked.answer);
    return looked;
  }
  const auto seen = memory.look(line, want);
  if (seen.found()) {
    if (erases && asks_on(memory, line, seen, on, reach)) {
      looked.outcome = LineOutcome::next;
    } else {
      looked.outcome = change_slot(memory, line, seen.slot(), want, what, looked.answer);
    }
    return looked;
  }
  if (on == 0) reach = memory.full(seen) ? memory.reach(line, seen) : 0;
  if (on < reach) {
    looked.outcome = LineOutcome::next;
  } else if (!what.adds()) {
    return look_back(memory, line, want, what);
  } else {
    looked.outcome = on == kMostDistance ? LineOutcome::out_of_reach : LineOutcome::next;
    for (unsigned back = 0; back <= (on == reach ? on : 0); ++back) {  // on the way here none was asked for
      if (!takes(memory, memory.look(memory.on(line, -static_cast<std::int64_t>(back)), want))) continue;
      looked = add_locked(memory, line, want, what);
      if (looked.outcome == LineOutcome::next) reach = on + 1;  // keys went further meanwhile
      break;
    }
  }
  return looked;
}

/// Runs a change, or a read among changes, at one line. `reach` is the operation's own, 0 at first; the line where its search begins
/// sets it. Most operations end at one look: the key is in this line, or new and its first line has a fresh slot.
template <LineMemory Memory>
[[gnu::always_inline]] inline LineOutcome change(const Memory& memory, typename Memory::At line, std::uint64_t want,
                                                 unsigned& reach, const Change& what, Answer& answer) {
  const auto seen = memory.look(line, want);
  if (seen.found() && (what.op != Op::erase || ((reach & (kErases | kErased)) == 0 && seen.passed_slots() == 0))) {
    const LineOutcome outcome = change_slot_once(memory, line, seen.slot(), want, what, answer);
    if (outcome != LineOutcome::again) [[likely]]
      return outcome;
  }
  if (!seen.found() && (reach & (kErases | kErased)) == 0) {
    const unsigned on = distance(want);
    if (on == 0 && !memory.full(seen)) {
      const Next next = decide<Memory>(what, false, 0, answer);
      if (next.act == Act::keeps) return LineOutcome::done;
      const auto slot = static_cast<unsigned>(std::countr_one(seen.used_slots()));
      if (memory.swap(line, slot, {}, {want | kLive, next.value})) [[likely]]
        return LineOutcome::done;
      return (memory.load_word(line, slot) & kFrozen) != 0 ? LineOutcome::frozen
                                                           : LineOutcome::again;  // another took it
    }
    if (on == 0) reach = memory.reach(line, seen);
    if (on < reach) return LineOutcome::next;
    if (what.adds() && takes(memory, seen)) {
      const Looked added = add_locked(memory, line, want, {what.op, what.given, what.with});
      if (added.outcome == LineOutcome::next) reach = on + 1;  // keys went further meanwhile
      answer = added.answer;
      return added.outcome;
    }
    if (what.adds() && (on > reach || on == 0) && on < kMostDistance) return LineOutcome::next;
  }
  unsigned further = reach;  // copies, so that what the caller has stays in registers
  const Looked looked = change_further(memory, line, want, further, {what.op, what.given, what.with});
  reach = further;
  answer = looked.answer;
  return looked.outcome;
}

/// Stops all changes of a line for good. Who was about to make one fails at its swap, and joins the move.
template <LineMemory Memory>
inline void freeze(const Memory& memory, typename Memory::At line) {
  for (unsigned slot = 0; slot < memory.slots(); ++slot) memory.set(line, slot, kFrozen);
}

/// What a slot holds when what it is reserved for has come.
template <LineMemory Memory>
inline Pair load_settled(const Memory& memory, typename Memory::At line, unsigned slot) {
  for (;;) {  // ends: the thread that reserved it does not wait
    const Pair pair = memory.load(line, slot);
    if (!holds(pair.word, kReserved)) return pair;
    memory.wait(line, slot);
  }
}

/// Gives `take` each live slot whose search begins at `home`, and how far from it: one of a key that moves is among them, or both.
template <LineMemory Memory, class Take>
inline void each_of(const Memory& memory, typename Memory::At home, const Take& take) {
  const auto seen = memory.look(home, 0);
  for (unsigned on = (memory.full(seen) ? memory.reach(home, seen) : 0) + 1; on-- > 0;) {  // the way that keys move
    for (unsigned slot = 0; slot < memory.slots(); ++slot) {
      const Pair pair = load_settled(memory, memory.on(home, on), slot);
      if (is_live(pair.word) && distance(pair.word) == on) take(on, pair);
    }
  }
}

/// Puts an item that is nowhere else into a table where only movers are. False: no slot within reach.
template <LineMemory Memory>
inline bool put_moved(const Memory& memory, typename Memory::At home, std::uint64_t want, std::uint64_t value) {
  auto line = home;
  for (unsigned on = 0; on <= kMostDistance;) {
    const auto seen = memory.look(line, want);
    if (memory.full(seen)) {
      line = memory.on(line, 1);
      want += kOneLineOn;
      ++on;
      continue;
    }
    const unsigned reach = on > 0 ? memory.reach(home, memory.look(home, 0)) : 0;
    if (on > reach) memory.raise(home, reach, on);
    const auto slot = static_cast<unsigned>(std::countr_one(seen.used_slots()));
    if (memory.swap(line, slot, {}, {want | kLive, value})) return true;
    // Another mover took it; at most once for each slot.
  }
  return false;
}

}  // namespace holdfast::dramhit
