// line.hpp: four slots in a cache line, and how they are read and changed by several threads.
#pragma once

#include <sched.h>

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>

#include "core/both.hpp"
#include "structures/dramhit/word.hpp"

#if defined(__SANITIZE_THREAD__)
#define HOLDFAST_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define HOLDFAST_TSAN 1
#endif
#endif

namespace holdfast::dramhit {

inline constexpr unsigned kSlots = 4;  ///< of a line

struct alignas(64) Line {
  Pair slots[kSlots];
};
static_assert(sizeof(Line) == 64 && offsetof(Line, slots) == 0 && sizeof(Pair) == 16);

/// What one look at a line found: a bit a slot. Tiles have their own, with the same functions, which work out no more than is asked.
struct Seen {
  unsigned hits = 0;    ///< hold the key, live or erased; one at most
  unsigned used = 0;    ///< were used before; slots are used from the first on
  unsigned passed = 0;  ///< have that bit
  unsigned free = 0;    ///< are neither live nor frozen: a key may take them
  bool held = false;    ///< one of them is reserved for a key that comes back

  bool found() const { return hits != 0; }
  unsigned slot() const { return static_cast<unsigned>(std::countr_zero(hits)); }  ///< of a key that was found
  bool reserved() const { return held; }
  unsigned used_slots() const { return used; }
  unsigned passed_slots() const { return passed; }
  unsigned free_slots() const { return free; }
};

/// The policy `Memory` of the protocol: lines of slots, all of them volatile. `At` names a line, `Seen` is what a look at it found. Members
/// acquire if they read and release if they write; none blocks but `wait`. Any thread may call, unless said otherwise.
template <class M>
concept LineMemory = requires(const M& memory, typename M::At line, unsigned slot, std::uint64_t word, Pair pair,
                              const typename M::Seen& seen) {
  // Returns how many slots a line has; whether all of one were used before; whether another key may take the slot of one that was erased.
  { memory.slots() } -> std::same_as<unsigned>;
  { memory.full(seen) } -> std::same_as<bool>;
  { memory.reuses() } -> std::same_as<bool>;
  // Returns the line that is so many lines further on.
  { memory.on(line, std::int64_t{1}) } -> std::same_as<typename M::At>;
  // Looks at all slots of a line for a key's word. Each word is read whole, in any order.
  { memory.look(line, word) } -> std::same_as<typename M::Seen>;
  // Returns a slot's word and value, as they were at one moment; or its word alone.
  { memory.load(line, slot) } -> std::same_as<Pair>;
  { memory.load_word(line, slot) } -> std::same_as<std::uint64_t>;
  // Replaces a slot's pair by the fourth argument if it is the third; returns whether it was.
  { memory.swap(line, slot, pair, pair) } -> std::same_as<bool>;
  // Sets bits of a slot's word and returns what it was; clears bits.
  { memory.set(line, slot, word) } -> std::same_as<std::uint64_t>;
  { memory.clear(line, slot, word) } -> std::same_as<void>;
  // Returns how far from a full line a key may be whose search begins there. For the holder of the line's lock: raises that, or
  // lowers it, from one distance to another.
  { memory.reach(line, seen) } -> std::same_as<unsigned>;
  { memory.raise(line, 1u, 2u) } -> std::same_as<void>;
  { memory.lower(line, 2u, 1u) } -> std::same_as<void>;
  // Lets another thread run, which will change the slot soon.
  { memory.wait(line, slot) } -> std::same_as<void>;
};

/// The policy `Tile` of a LineMemory on a CPU: what looks at the four slots of a line at once with one instruction set.
template <class T>
concept LineTile = requires(const Line* line, std::uint64_t want, const typename T::Seen& seen) {
  { T::kName } -> std::convertible_to<const char*>;
  { T::look(line, want) } -> std::same_as<typename T::Seen>;
  // As the members of dramhit::Seen.
  { seen.found() } -> std::same_as<bool>;
  { seen.slot() } -> std::same_as<unsigned>;
  { seen.reserved() } -> std::same_as<bool>;
  { seen.used_slots() } -> std::same_as<unsigned>;
  { seen.passed_slots() } -> std::same_as<unsigned>;
  { seen.free_slots() } -> std::same_as<unsigned>;
};
/// One that also reads and writes a slot by one access, which is atomic.
template <class T>
concept WholeTile = LineTile<T> && requires(Pair* slot, const Pair* read, Pair pair) {
  { T::load(read) } -> std::same_as<Pair>;
  { T::store(slot, pair) } -> std::same_as<void>;
};

/// How far a key may lie from a full line where its search begins, as its slots say: `passed` in the first 1 to 4 of them, and
/// then `far` of the second to fourth. The paper's table would continue through every full line; keys that only pass by do not
/// lengthen this.
inline constexpr unsigned kReaches[] = {0, 1, 2, 3, 4, 8, 16, kMostDistance};  // the first five are their own steps

/// The least step of kReaches that is enough for a distance.
constexpr unsigned reach_step(unsigned distance) {
  HOLDFAST_ASSERT(distance <= kMostDistance);
  unsigned step = 0;
  while (kReaches[step] < distance) ++step;
  return step;
}
/// The slot, and the bit of its word, that say that keys went further than `step` steps.
constexpr unsigned step_slot(unsigned step) { return step < kSlots ? step : step - kSlots + 1; }
constexpr std::uint64_t step_bit(unsigned step) { return step < kSlots ? kPassed : kFar; }

template <class Memory>
void raise_reach(Line* line, unsigned from, unsigned to) {
  const unsigned steps = reach_step(to);
  for (unsigned step = reach_step(from); step < steps; ++step) Memory::set(line, step_slot(step), step_bit(step));
}
/// The furthest step goes first, so that what is said meanwhile is never less.
template <class Memory>
void lower_reach(Line* line, unsigned from, unsigned to) {
  for (unsigned step = reach_step(from); step-- > reach_step(to);) {
    Memory::clear(line, step_slot(step), step_bit(step));
  }
}

/// Slots in memory that threads share. `kWhole`: a slot is read by one 16-byte load, which Intel and AMD promise to be atomic
/// where the processor has AVX; else by two, and a look back. Everything depends on `Tile`, so that files compiled for
/// different instruction sets share none of it.
///
/// By two loads a pair cannot be torn while a slot never passes from one key to another: the key word is the same before
/// and after, so the value is one that this key had meanwhile. Hence reuses().
template <class Tile, bool kWhole>
struct SlotMemory {
  using At = Line*;
  using Seen = typename Tile::Seen;

  static constexpr unsigned slots() { return kSlots; }
  static bool full(const Seen& seen) { return seen.used_slots() == (1u << kSlots) - 1; }
  static constexpr bool reuses() { return kWhole; }  ///< an erased slot may be taken by another key

  /// Of a full line: how far from it a key whose search begins there may lie.
  [[gnu::always_inline]] static unsigned reach(const Line* line, const Seen& seen) {
    const auto step = static_cast<unsigned>(std::countr_one(seen.passed_slots()));
    return step < kSlots ? step : long_reach(line);
  }
  [[gnu::noinline]] static unsigned long_reach(const Line* line) {
    unsigned step = kSlots;
    while (step < 2 * kSlots - 1 && (load_word(line, step - kSlots + 1) & kFar) != 0) ++step;
    return kReaches[step];
  }
  /// Lets keys of a full line, which lay up to `from` away, lie up to `to` away. Only who holds its lock may.
  static void raise(Line* line, unsigned from, unsigned to) { raise_reach<SlotMemory>(line, from, to); }
  /// Says of a full line whose keys lay up to `from` away that they lie up to `to` away. Only who holds its lock may.
  static void lower(Line* line, unsigned from, unsigned to) { lower_reach<SlotMemory>(line, from, to); }

  static Seen look(const Line* line, std::uint64_t want) { return Tile::look(line, want); }

  static Pair load(const Line* line, unsigned slot) {
    if constexpr (kWhole) {
      return Tile::load(line->slots + slot);
    } else {
      // ends: a round fails only if another thread has changed the slot
      for (;;) {
        const std::uint64_t word = load_word(line, slot);
        const std::uint64_t value = __atomic_load_n(&line->slots[slot].value, __ATOMIC_ACQUIRE);
        if (load_word(line, slot) == word) return {word, value};
      }
    }
  }

  static std::uint64_t load_word(const Line* line, unsigned slot) {
    return __atomic_load_n(&line->slots[slot].word, __ATOMIC_ACQUIRE);
  }
  static bool swap(Line* line, unsigned slot, Pair seen, Pair next) {
#if defined(HOLDFAST_TSAN)
    Wide before, after;
    __builtin_memcpy(&before, &seen, 16);
    __builtin_memcpy(&after, &next, 16);
    return __sync_bool_compare_and_swap(reinterpret_cast<Wide*>(line->slots + slot), before, after);
#else
    bool done;
    asm volatile("lock cmpxchg16b %1"
                 : "=@ccz"(done), "+m"(line->slots[slot]), "+a"(seen.word), "+d"(seen.value)
                 : "b"(next.word), "c"(next.value)
                 : "memory");
    return done;
#endif
  }
  /// Sets bits of a word; what it was.
  static std::uint64_t set(Line* line, unsigned slot, std::uint64_t bits) {
    return __atomic_fetch_or(&line->slots[slot].word, bits, __ATOMIC_ACQ_REL);
  }
  static void clear(Line* line, unsigned slot, std::uint64_t bits) {
    __atomic_fetch_and(&line->slots[slot].word, ~bits, __ATOMIC_ACQ_REL);
  }
  static Line* on(Line* line, std::int64_t lines) { return line + lines; }
  static void wait(const Line*, unsigned) { sched_yield(); }  ///< another thread changes this slot soon
};

/// The same for the only thread that changes these slots, while others read them: no instruction locks anything. A pair is
/// written by one 16-byte store, or, where readers load two words, its value before its word.
template <class Tile, bool kWhole>
struct OwnedMemory : SlotMemory<Tile, kWhole> {
  static bool swap(Line* line, unsigned slot, Pair, Pair next) {
    store(line->slots + slot, next);
    return true;
  }
  static void store(Pair* slot, Pair next) {
    if constexpr (kWhole) {
      Tile::store(slot, next);
    } else {
      __atomic_store_n(&slot->value, next.value, __ATOMIC_RELEASE);
      __atomic_store_n(&slot->word, next.word, __ATOMIC_RELEASE);
    }
  }
  static std::uint64_t set(Line* line, unsigned slot, std::uint64_t bits) {
    const std::uint64_t word = __atomic_load_n(&line->slots[slot].word, __ATOMIC_RELAXED);
    __atomic_store_n(&line->slots[slot].word, word | bits, __ATOMIC_RELEASE);
    return word;
  }
  static void clear(Line* line, unsigned slot, std::uint64_t bits) {
    const std::uint64_t word = __atomic_load_n(&line->slots[slot].word, __ATOMIC_RELAXED);
    __atomic_store_n(&line->slots[slot].word, word & ~bits, __ATOMIC_RELEASE);
  }
  static void raise(Line* line, unsigned from, unsigned to) { raise_reach<OwnedMemory>(line, from, to); }
  static void lower(Line* line, unsigned from, unsigned to) { lower_reach<OwnedMemory>(line, from, to); }
};

/// Empties a line that its owner alone changes: its words first, so that no reader takes a value for another's.
inline void drop_line(Line* line) {
  for (unsigned slot = kSlots; slot-- > 0;) __atomic_store_n(&line->slots[slot].word, 0, __ATOMIC_RELEASE);
}

/// Asks for a line ahead of its use. Volatile, because GCC takes a function that only prefetches for one without effect.
template <class Tile>
[[gnu::always_inline]] inline void prefetch(const void* address) {
  asm volatile("prefetcht0 %0" : : "m"(*static_cast<const char*>(address)));
}
/// The same for the second-level cache.
template <class Tile>
[[gnu::always_inline]] inline void prefetch_far(const void* address) {
  asm volatile("prefetcht2 %0" : : "m"(*static_cast<const char*>(address)));
}
/// The same for a line that will be changed.
template <class Tile>
[[gnu::always_inline]] inline void prefetch_to_change(const void* address) {
  asm volatile("prefetchw %0" : : "m"(*static_cast<const char*>(address)));
}

}  // namespace holdfast::dramhit
