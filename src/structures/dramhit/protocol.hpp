// protocol.hpp: what one operation does to one line: the order of reads and writes that keeps a key single and a pair whole.
//
// A key has at most one slot, live or erased, and keeps it while it is there. Three ways lead to a slot:
//
//   its own     an erased slot keeps its key, and the key takes it back by one swap.
//   a fresh one of the line where its search begins, while that line was never full: by one swap of zeros. Slots of a line
//               are used in order, and none that was used is ever unused again; so of two who add one key both want the
//               same slot, or the second sees the first. Nothing of that line lies further on yet.
//   any other   under the lock of the line where its search begins, after another look at all that the search passes: a
//               fresh slot of a later line, or an erased one of another key. Who holds the lock is the only one to add keys
//               that begin here: lines whose slots were all used have no other way, and stay so.
//
// An erased slot passes to another key only in a line that is full: while it has fresh slots, somebody who has passed the
// erased one may be about to take a fresh one for the same key. And only where slots are read whole (reuses()): a reader by
// two words could take the value of another key. It needs to wait for nobody: a reader who finds another key there goes on,
// and a key that was erased while he searched was absent at that moment.
//
// A full line says how far keys went whose search begins there: who adds one further on says so before the key gets its slot, and
// holds the lock; so a search ends there. All of this is over slots as SlotMemory has them; the model
// (tests/model/dramhit_test.cpp) runs it in every order, and without each of its steps.
#pragma once

#include <bit>
#include <cstdint>

#include "core/both.hpp"
#include "gphash/protocol/combine.hpp"
#include "holdfast/status.hpp"
#include "structures/dramhit/line.hpp"

namespace holdfast::dramhit {

/// How far an operation came at a line.
enum class Turn : std::uint8_t {
  done,    ///< answered
  next,    ///< goes on at the next line, which must be asked for
  again,   ///< somebody was in the way: the same once more
  frozen,  ///< the table is being moved: join in, and begin anew
  far,     ///< no slot within reach: the table must grow
};

struct Answer {
  Status status = Status::not_run;
  std::uint64_t value = 0;
};

/// What an operation does to a key's value.
struct Change {
  Op op = Op::find;
  std::uint64_t given = 0;
  const index::Combining& with;

  bool adds() const { return op != Op::find && op != Op::contains && op != Op::erase && op != Op::assign; }
  std::uint64_t first_value() const {
    if (op != Op::accumulate || with.scale == 1) [[likely]]
      return given;
    index::Combining alone = with;
    alone.alone = true;
    return index::combine_word(0, given, alone);
  }
};

/// What `accumulate` makes of two words.
inline std::uint64_t combined(std::uint64_t old, std::uint64_t given, const index::Combining& with) {
  if (with.element == Element::u64 && with.how == Combine::add) [[likely]]
    return old + given;
  return index::combine_word(old, given, with);
}

/// A slot's next state, if it has one.
struct Next {
  bool writes = false;
  bool live = false;
  std::uint64_t value = 0;
};

/// What `change` answers, and what it makes of a slot that holds its key. All in registers: no more than words go back.
template <class Memory>
[[gnu::always_inline]] inline Next decide(const Change& change, bool present, std::uint64_t old, Answer& answer) {
  answer.value = 0;
  if (!present) {
    answer.status = change.adds() ? Status::inserted : Status::not_found;
    if (!change.adds()) return {};
    const std::uint64_t value = change.first_value();
    if (reads_value(change.op)) answer.value = value;
    return {true, true, value};
  }
  switch (change.op) {
    case Op::insert_or_assign:
    case Op::assign: answer.status = Status::updated; return {true, true, change.given};
    case Op::accumulate: answer.status = Status::updated; return {true, true, combined(old, change.given, change.with)};
    case Op::erase:
      answer.status = Status::erased;
      return {true, false, old};  // the value stays: a reader may be at it
    case Op::insert: answer.status = Status::exists; return {};
    case Op::contains: answer.status = Status::found; return {};
    case Op::insert_and_find: answer.status = Status::exists; break;
    case Op::find:
    case Op::find_or_insert: answer.status = Status::found; break;
  }
  answer.value = old;
  return {};
}

inline constexpr unsigned kAttempts = 8;  ///< swaps that may fail before others have their turn

/// Looks `want` up in one line. `reach` is how far the key may lie; the line where its search begins says so.
template <class Memory>
[[gnu::always_inline]] inline Turn find(const Memory& memory, typename Memory::At line, std::uint64_t want,
                                        unsigned& reach, Answer& answer) {
  const Seen seen = memory.look(line, want);
  if (seen.hits != 0) [[likely]] {
    const Pair pair = memory.load(line, static_cast<unsigned>(std::countr_zero(seen.hits)));
    if (!holds(pair.word, want)) [[unlikely]]
      return Turn::again;
    answer.status = is_live(pair.word) ? Status::found : Status::not_found;
    answer.value = is_live(pair.word) ? pair.value : 0;
    return Turn::done;
  }
  if (distance(want) == 0) reach = memory.full(seen) ? memory.reach(line, seen) : 0;
  if (distance(want) < reach) return Turn::next;
  answer.status = Status::not_found;
  answer.value = 0;
  return Turn::done;
}

/// Changes the slot that held the key a moment ago.
template <class Memory>
[[gnu::always_inline]] inline Turn change_slot(const Memory& memory, typename Memory::At line, unsigned slot,
                                               std::uint64_t want, const Change& change, Answer& answer) {
  for (unsigned attempt = 0; attempt < kAttempts; ++attempt) {
    const Pair seen = memory.load(line, slot);
    if (!holds(seen.word, want)) return Turn::again;
    const Next next = decide<Memory>(change, is_live(seen.word), seen.value, answer);
    if (!next.writes) return Turn::done;
    if ((seen.word & kFrozen) != 0) return Turn::frozen;
    const std::uint64_t word = next.live ? seen.word | kLive : seen.word & ~kLive;
    if (memory.swap(line, slot, seen, {word, next.value})) return Turn::done;
  }
  return Turn::again;
}

/// A slot that a key may take, and what is in it.
template <class Memory>
struct Free {
  typename Memory::At line = {};
  unsigned slot = kSlots;
  std::uint64_t want = 0;
  Pair seen = {};
  explicit operator bool() const { return slot != kSlots; }
};

template <class Memory>
inline Free<Memory> free_slot(const Memory& memory, typename Memory::At line, const Seen& seen, std::uint64_t want) {
  if (!memory.full(seen)) return {line, static_cast<unsigned>(std::countr_one(seen.used)), want, {}};
  if (!memory.reuses()) return {};
  for (unsigned slot = 0; slot < memory.slots(); ++slot) {
    if ((memory.load_word(line, slot) & (kLive | kFrozen)) != 0) continue;
    const Pair pair = memory.load(line, slot);
    if ((pair.word & (kUsed | kLive | kFrozen)) == kUsed) return {line, slot, want, pair};
  }
  return {};
}

/// Adds a key whose first line is full, holding that line's lock. Lines from `home` to `asked` further on were asked for.
template <class Memory>
inline Turn add_holding(const Memory& memory, typename Memory::At home, std::uint64_t want, unsigned asked,
                        const Change& change, Answer& answer) {
  for (unsigned attempt = 0; attempt < kAttempts; ++attempt) {
    unsigned reach = 0;
    Free<Memory> free;
    for (unsigned on = 0; on <= reach || !free; ++on) {  // once more: is the key there? Then on to a slot that is free
      if (on > kMostDistance) return Turn::far;
      if (on > asked) return Turn::next;
      const auto line = memory.on(home, on);
      const std::uint64_t here = want + on * kOneLineOn;
      const Seen seen = memory.look(line, here);
      if (on == 0) reach = memory.reach(line, seen);
      if (seen.hits != 0) {
        return change_slot(memory, line, static_cast<unsigned>(std::countr_zero(seen.hits)), here, change, answer);
      }
      if (!free) free = free_slot(memory, line, seen, here);
    }
    if (distance(free.want) > reach) memory.raise(home, distance(free.want));
    const std::uint64_t value = change.first_value();
    if (memory.swap(free.line, free.slot, free.seen, {free.want | kLive | (free.seen.word & kOfLine), value})) {
      answer = {Status::inserted, reads_value(change.op) ? value : 0};
      return Turn::done;
    }
    if ((memory.load_word(free.line, free.slot) & kFrozen) != 0) return Turn::frozen;
  }
  return Turn::again;
}

/// The same for `line`, `distance(want)` lines on from where the search begins: takes the lock, or gives way.
template <class Memory>
[[gnu::noinline]] Turn add_locked(const Memory& memory, typename Memory::At line, std::uint64_t want,
                                  const Change& change, Answer& answer) {
  const unsigned asked = distance(want);
  const auto home = memory.on(line, -static_cast<std::int64_t>(asked));
  if ((memory.set(home, 0, kLock) & kLock) != 0) return Turn::again;
  const Turn turn = add_holding(memory, home, want - asked * kOneLineOn, asked, change, answer);
  memory.clear(home, 0, kLock);
  return turn;
}

inline constexpr unsigned kSawFree = 1u << 31;  ///< with a reach: a slot on the way was free

/// Runs a change, or a read among changes, at one line. `reach` is the operation's own; the line where its search begins sets it.
template <class Memory>
[[gnu::always_inline]] inline Turn change(const Memory& memory, typename Memory::At line, std::uint64_t want,
                                          unsigned& reach, const Change& what, Answer& answer) {
  const Seen seen = memory.look(line, want);
  if (seen.hits != 0) {
    return change_slot(memory, line, static_cast<unsigned>(std::countr_zero(seen.hits)), want, what, answer);
  }
  const unsigned on = distance(want);
  if (on == 0) reach = memory.full(seen) ? memory.reach(line, seen) : 0;
  if (!what.adds()) {
    if (on < reach) return Turn::next;
    answer.status = Status::not_found;
    answer.value = 0;
    return Turn::done;
  }
  if (on != 0 || memory.full(seen)) {  // not there, or further on: a slot is looked for as well
    if ((reach & kSawFree) == 0 && free_slot(memory, line, seen, want)) reach |= kSawFree;
    if (on < (reach & ~kSawFree)) return Turn::next;
    if ((reach & kSawFree) != 0) return add_locked(memory, line, want, what, answer);
    return on == kMostDistance ? Turn::far : Turn::next;
  }
  const auto slot = static_cast<unsigned>(std::countr_one(seen.used));
  const std::uint64_t value = what.first_value();
  if (memory.swap(line, slot, {}, {want | kLive, value})) {
    answer.status = Status::inserted;
    answer.value = reads_value(what.op) ? value : 0;
    return Turn::done;
  }
  return (memory.load_word(line, slot) & kFrozen) != 0 ? Turn::frozen : Turn::again;
}

/// Stops all changes of a line for good. Who was about to make one fails at its swap, and joins the move.
template <class Memory>
inline void freeze(const Memory& memory, typename Memory::At line) {
  for (unsigned slot = 0; slot < memory.slots(); ++slot) memory.set(line, slot, kFrozen);
}

/// Puts an item that is nowhere else into a table where only movers are. False: no slot within reach.
template <class Memory>
inline bool put_moved(const Memory& memory, typename Memory::At home, std::uint64_t want, std::uint64_t value) {
  auto line = home;
  for (unsigned on = 0; on <= kMostDistance;) {
    const Seen seen = memory.look(line, want);
    if (memory.full(seen)) {
      line = memory.on(line, 1);
      want += kOneLineOn;
      ++on;
      continue;
    }
    if (on > 0 && on > memory.reach(home, memory.look(home, 0))) memory.raise(home, on);
    const auto slot = static_cast<unsigned>(std::countr_one(seen.used));
    if (memory.swap(line, slot, {}, {want | kLive, value})) return true;
    // Another mover took it; at most once for each slot.
  }
  return false;
}

}  // namespace holdfast::dramhit
