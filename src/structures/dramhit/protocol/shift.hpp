// shift.hpp: an erase from a full line, and the keys that come back to that line.
//
// Keys come back (backward shift): who erases a key of a full line L takes L's lock, and moves into its slot the furthest key
// whose search begins at L; then the same for the line that this key left. It holds one lock at a time. A slot d lines on whose
// distance is d holds such a key, so nothing is hashed. In this order:
//
//   reserve  L's free slot, or that of the key, which is erased by this: live, and of no key, so no other takes it
//   take     the key out of its old slot by one swap of what it holds, which is free at once and remembers no key: a change
//            of the key comes before that swap or fails, and finds the key in L. The key is in one place at most
//   put      the key into L
//   lower    how far keys of L went; an erased slot on the way forgets its key first, or the key might take it back
//
// A search that began before `put`, and came after `take`, misses the key. So one that found nothing, from a full line on, looks
// at L once more, at each word once: it has seen `take` (or `lower`), so it sees L's slot reserved, and tries again, or it sees
// what was put, or a later state: then the key was erased, and absent, meanwhile. No second time, since keys only move to where
// their search begins. The holder of the lock sees no key of L move. A growth that froze a reserved slot waits for what comes into
// it; one that froze the old slot before `take` keeps the key there, and the reserved slot is of no key.
#pragma once

#include <bit>
#include <cstdint>

#include "structures/dramhit/protocol/search.hpp"

namespace holdfast::dramhit {

/// Reserves a slot of `home`, whose lock is held: that of the live key `want`, which erases the key, or, if `want` is 0, a free one.
/// kSlots: there is none.
template <LineMemory Memory>
inline unsigned reserve(const Memory& memory, typename Memory::At home, std::uint64_t want) {
  const auto line = memory.look(home, want);
  Free<Memory> to;
  if (want == 0) {
    to = free_slot(memory, home, line, want);
  } else if (line.found()) {
    to = {home, line.slot(), want, memory.load(home, line.slot())};
    if (!holds(to.seen.word, want) || (to.seen.word & (kLive | kFrozen)) != kLive) return kSlots;
  }
  const Pair reserved{kReserved | kLive | (to.seen.word & kOfLine), 0};
  return to && memory.swap(home, to.slot, to.seen, reserved) ? to.slot : kSlots;
}

/// Moves a live key, `on` lines from `home`, whose lock is held, into a slot of `home` as `reserve` gives it. False: it stays.
template <LineMemory Memory>
inline bool bring_back(const Memory& memory, typename Memory::At home, std::uint64_t& want, typename Memory::At line,
                       unsigned slot, unsigned on, Pair seen) {
  const unsigned to = reserve(memory, home, want);
  if (to == kSlots) return false;
  want = 0;
  bool taken = false;
  for (unsigned attempt = 0; attempt < kAttempts && !taken; ++attempt) {
    if (!is_live(seen.word) || (seen.word & kFrozen) != 0 || distance(seen.word) != on) break;
    taken = memory.swap(line, slot, seen, {kNobodys | (seen.word & kOfLine), 0});
    if (!taken) seen = memory.load(line, slot);
  }
  const Pair put = taken ? Pair{((seen.word & kIdentity) - on * kOneLineOn) | kLive, seen.value} : Pair{kNobodys, 0};
  for (;;) {  // ends: only a growth changes a reserved slot, by freezing it
    const std::uint64_t now = memory.load_word(home, to);
    if (memory.swap(home, to, {now, 0}, {put.word | (now & (kOfLine | kFrozen)), put.value})) return taken;
  }
}

/// Makes a slot `on` lines from `home`, whose lock is held, hold no key whose search begins there. False: it still does. `first`
/// becomes `on` for the first key that moves.
template <LineMemory Memory>
inline bool vacate(const Memory& memory, typename Memory::At home, std::uint64_t& want, typename Memory::At line,
                   unsigned slot, unsigned on, unsigned& first) {
  const Pair seen = memory.load(line, slot);
  if (distance(seen.word) != on) return true;
  if (is_live(seen.word)) {
    if (!bring_back(memory, home, want, line, slot, on, seen)) return false;
    if (first == 0) first = on;
    return true;
  }
  return (seen.word & kFrozen) == 0 && memory.swap(line, slot, seen, {kNobodys | (seen.word & kOfLine), 0});
}

/// The slots of a line whose keys lie `on` lines from where their search begins.
template <LineMemory Memory>
inline unsigned slots_at(const Memory& memory, typename Memory::At line, unsigned on) {
  unsigned slots = 0;
  for (unsigned slot = 0; slot < memory.slots(); ++slot) {
    slots |= static_cast<unsigned>(distance(memory.load_word(line, slot)) == on) << slot;
  }
  return slots;
}

/// Moves keys whose search begins at `home`, whose lock is held, into its free slots: the furthest first, but only from lines
/// that were asked for, up to `asked` further on. The first takes the slot of the key `want`, unless that is 0; then `want` is 0.
/// Releases the lock. How far the first came from; 0: none came.
template <LineMemory Memory>
inline unsigned shift_back(const Memory& memory, typename Memory::At home, unsigned asked, std::uint64_t& want) {
  const unsigned reach = memory.reach(home, memory.look(home, 0));
  unsigned on = reach < asked ? reach : asked, first = 0;
  for (bool empty = true; on != 0; --on) {
    const auto line = memory.on(home, on);
    for (unsigned slots = slots_at(memory, line, on); slots != 0 && empty; slots &= slots - 1) {
      const auto slot = static_cast<unsigned>(std::countr_zero(slots));
      empty = vacate(memory, home, want, line, slot, on, first);
    }
    if (!empty) break;
  }
  const bool none = on == 0 && reach <= asked;  // lies further on: the lock's own word says so
  if (reach <= asked) memory.lower(home, reach, on != 0 ? on : 1);
  memory.clear(home, 0, none ? kLock | kPassed : kLock);
  return first;
}

/// An erase has found its key, or (kErased) erased it, and asks for the lines where keys of a line with a free slot may lie: of the
/// line at the distance in bits 8..15, up to the one in bits 0..7.
inline constexpr unsigned kErases = 1u << 30, kErased = 1u << 29;

/// How far the line lies that an operation looks at next: an erase asks for several at once.
constexpr unsigned next_distance(unsigned on, unsigned reach) { return (reach & kErases) != 0 ? reach & 0xff : on + 1; }

/// Whether keys may come back to `line`, `on` lines from where an erase began. They are asked for first.
template <LineMemory Memory>
inline bool asks_on(const Memory& memory, typename Memory::At line, const typename Memory::Seen& seen, unsigned on,
                    unsigned& reach) {
  if (!memory.reuses() || !memory.full(seen)) return false;
  const unsigned last = on + memory.reach(line, seen), to = last < kMostDistance ? last : kMostDistance;
  if (to <= on) return false;
  reach = kErases | (reach & kErased) | on << 8 | to;
  return true;
}

/// An erase that asks on, at `line`: with the last one it erases the key, and keys come back, the first to the slot of the erased one;
/// then to the slot that this one left, and so on. Where another thread has a line's lock, none comes.
template <LineMemory Memory>
[[gnu::noinline]] LineOutcome erase_and_shift(const Memory& memory, typename Memory::At line, std::uint64_t want,
                                              unsigned& reach, const Change& what, Answer& answer) {
  const unsigned on = distance(want);
  while ((reach & kErases) != 0) {  // else the table has grown since the key was erased. Ends: each time further on
    if (on < (reach & 0xff)) return LineOutcome::next;
    const unsigned at = reach >> 8 & 0xff, asked = on - at;
    const auto home = memory.on(line, -static_cast<std::int64_t>(asked));
    std::uint64_t key = (reach & kErased) == 0 ? want - asked * kOneLineOn : 0;
    const bool locked = (memory.set(home, 0, kLock) & kLock) == 0;
    const unsigned from = locked ? shift_back(memory, home, asked, key) : 0;
    if (key != 0) {  // none took its slot
      const auto seen = memory.look(home, key);
      if (!seen.found()) {
        const Looked back = look_back(memory, home, key, what);
        answer = back.answer;
        return back.outcome;
      }
      const LineOutcome outcome = change_slot(memory, home, seen.slot(), key, what, answer);
      if (outcome != LineOutcome::done || answer.status != Status::erased) return outcome;
    }
    reach |= kErased;
    const auto left = memory.on(home, from);
    if (from == 0 || !asks_on(memory, left, memory.look(left, 0), at + from, reach)) break;
  }
  reach = 0;
  answer = {Status::erased, 0};
  return LineOutcome::done;
}

}  // namespace holdfast::dramhit
