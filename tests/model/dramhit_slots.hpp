// dramhit_slots.hpp: slots of the table in memory over weak memory, steps that can be left out, and plays of a few operations on them.
//
// Lines of two slots: a slot is one location, its word below and its value above.
#pragma once

#include <algorithm>

#include "proof/weak_memory.hpp"
#include "structures/dramhit/protocol/change.hpp"

namespace holdfast::gphash::model {

using dramhit::Answer;
using dramhit::Change;
using dramhit::LineOutcome;
using dramhit::Pair;
using proof::Executions;
using proof::kMostActors;
using proof::Play;
using proof::run_all;
using proof::weak;
using proof::WeakMemory;

/// Steps that can be left out.
enum class Left : std::uint8_t {
  nothing,
  lock,
  look_under_lock,
  raise,
  freeze,
  compare,
  whole_loads,
  reserve,            ///< the slot that a key comes back to is not held for it
  look_for_reserved,  ///< a search does not ask whether a key is about to come
  look_back,          ///< nor whether one has come
  forget,             ///< an erased slot on the way keeps its key
  wait,               ///< a growth takes a reserved slot for an empty one
  look_before_lower,  ///< the line says that no key lies further on, whatever does
};
struct Needed {
  Left step;
  const char* fails;  ///< the play that goes wrong without it
};
constexpr Needed kSteps[] = {{Left::lock, "erase and two inserts"},
                             {Left::look_under_lock, "two into a full line"},
                             {Left::raise, "search after"},
                             {Left::freeze, "move and update"},
                             {Left::compare, "two into a fresh slot"},
                             {Left::whole_loads, "there and back"},
                             {Left::reserve, "back beside a find"},
                             {Left::look_for_reserved, "back beside a find"},
                             {Left::look_back, "back beside a find"},
                             {Left::forget, "back beside its own slot"},
                             {Left::wait, "back while moved"},
                             {Left::look_before_lower, "one of two comes back"}};
inline Left left = Left::nothing;
inline bool two_loads = false;  ///< slots are read by two loads and a look back, and do not pass from key to key

inline int waits_for[kMostActors];  ///< the slot that an actor waits for, or -1

constexpr unsigned kSlotsHere = 2;
constexpr std::uint64_t kLow = 0xffff'ffff;

inline Pair pair_of(std::uint64_t coded) { return {coded & kLow, coded >> 32}; }
inline std::uint64_t coded(Pair pair) { return pair.value << 32 | pair.word; }

/// The policy. Lines are numbers; those of a table that grew stand behind the old ones.
struct Slots {
  using At = int;
  using Seen = dramhit::Seen;
  unsigned who = 0;
  mutable bool holding = false;
  mutable std::uint64_t looked_for = 0;
  mutable bool not_reserved = false;

  static unsigned at(int line, unsigned slot) { return static_cast<unsigned>(line) * kSlotsHere + slot; }
  static unsigned slots() { return kSlotsHere; }
  static bool full(const Seen& seen) { return seen.used == 3; }
  static bool reuses() { return !two_loads; }
  static int on(int line, std::int64_t lines) { return line + static_cast<int>(lines); }
  static unsigned reach(int, const Seen& seen) { return static_cast<unsigned>(std::countr_one(seen.passed)); }
  void raise(int line, unsigned from, unsigned to) const {
    for (unsigned step = from; step < to; ++step) set(line, step, dramhit::kPassed);
  }

  void lower(int line, unsigned from, unsigned to) const {
    const unsigned lowest = left == Left::look_before_lower ? 0 : to;
    for (unsigned step = from; step-- > lowest;) weak->update(at(line, step), ~dramhit::kPassed, 0);
  }
  void wait(int line, unsigned slot) const {
    waits_for[who] = static_cast<int>(at(line, slot));
    weak->update(at(line, slot), ~std::uint64_t{0}, 0);  // and sees what came
    waits_for[who] = -1;
  }

  Seen look(int line, std::uint64_t want) const {
    Seen seen;
    for (unsigned slot = kSlotsHere; slot-- > 0;) {  // a wide load promises no order: the worse one
      const std::uint64_t word = load_word(line, slot);
      seen.hits |= static_cast<unsigned>(dramhit::holds(word, want)) << slot;
      seen.used |= static_cast<unsigned>(word & dramhit::kUsed) << slot;
      seen.passed |= static_cast<unsigned>((word & dramhit::kPassed) != 0) << slot;
      seen.held |= dramhit::holds(word, dramhit::kReserved);
      seen.free |= static_cast<unsigned>((word & (dramhit::kLive | dramhit::kFrozen)) == 0) << slot;
    }
    if (left == Left::look_under_lock && holding) seen.hits = 0;
    const bool same_key = looked_for >> dramhit::kRestShift == want >> dramhit::kRestShift;
    const bool looks_back = same_key && looked_for > want && dramhit::distance(want) == 0 && !holding;
    if (left == Left::look_for_reserved) seen.held = false;
    if (left == Left::look_back && looks_back) seen.hits = 0;
    looked_for = want;
    return seen;
  }
  Pair load(int line, unsigned slot) const {
    if (!two_loads && left != Left::whole_loads) {
      const Pair pair = pair_of(weak->load(at(line, slot), true));
      return left == Left::wait && dramhit::holds(pair.word, dramhit::kReserved) ? Pair{} : pair;
    }
    for (int attempt = 0; attempt < 3; ++attempt) {
      const std::uint64_t word = load_word(line, slot);
      const std::uint64_t value = weak->load(at(line, slot), true) >> 32;
      if (load_word(line, slot) == word) return {word, value};
    }
    return {};
  }
  std::uint64_t load_word(int line, unsigned slot) const { return weak->load(at(line, slot), true) & kLow; }
  bool swap(int line, unsigned slot, Pair seen, Pair next) const {
    const bool reserves = dramhit::holds(next.word, dramhit::kReserved);
    const bool forgets = next.word >> dramhit::kDistanceShift == dramhit::kNobodys >> dramhit::kDistanceShift &&
                         dramhit::distance(seen.word) <= dramhit::kMostDistance && !dramhit::is_live(seen.word);
    if (left == Left::forget && forgets) return true;
    if (left == Left::reserve && reserves) {
      not_reserved = true;
      return true;
    }
    if (not_reserved && line == 0) {
      weak->store(at(line, slot), coded(next), true);
      not_reserved = false;
      return true;
    }
    if (left != Left::compare) return weak->swap(at(line, slot), coded(seen), coded(next));
    weak->store(at(line, slot), coded(next), true);
    return true;
  }
  std::uint64_t set(int line, unsigned slot, std::uint64_t bits) const {
    if (bits == dramhit::kFrozen && slot == 0 && left == Left::freeze) return load_word(line, slot);
    holding |= (bits & dramhit::kLock) != 0;
    const std::uint64_t omitted =
        (left == Left::lock ? dramhit::kLock : 0) | (left == Left::raise ? dramhit::kPassed : 0);
    bits &= ~omitted;
    return bits == 0 ? 0 : weak->update(at(line, slot), ~std::uint64_t{0}, bits) & kLow & ~omitted;
  }
  void clear(int line, unsigned slot, std::uint64_t bits) const {
    holding = false;
    if (left != Left::lock) weak->update(at(line, slot), ~bits, 0);
  }
};
static_assert(dramhit::LineMemory<Slots>);

/// The word of key `key`, whose search begins `distance` lines before.
inline std::uint64_t word_of(std::uint64_t key, unsigned distance = 0) {
  return key << dramhit::kRestShift | distance * dramhit::kOneLineOn | dramhit::kUsed;
}
inline std::uint64_t live(std::uint64_t key, std::uint64_t value, unsigned distance = 0) {
  return coded({word_of(key, distance) | dramhit::kLive, value});
}
inline std::uint64_t erased(std::uint64_t key, std::uint64_t value, unsigned distance = 0) {
  return coded({word_of(key, distance), value});
}

// Keys 1 to 6; a value is its key's, times 16, and a version. Searches for the last two begin at line 1.
constexpr std::uint64_t kK = 1, kX = 2, kY = 3, kZ = 4, kV = 5, kW = 6;
constexpr int home_of(std::uint64_t key) { return key >= kV ? 1 : 0; }
constexpr std::uint64_t value_of(std::uint64_t key, std::uint64_t version) { return key * 16 + version; }

struct Outcome {
  bool done = false;
  Answer answer;
  bool frozen = false;
};
inline Outcome outcomes[kMostActors];

/// One operation on a key; gives up after some tries, as if it had never begun.
inline void operate(unsigned who, Op op, std::uint64_t key, std::uint64_t version) {
  static const Combining kSum;
  const Slots slots{who};
  const Change change{op, value_of(key, version), kSum};
  std::uint64_t want = word_of(key);
  unsigned reach = 0;
  int line = home_of(key);
  for (int attempt = 0; attempt < 4; ++attempt) {
    Answer answer;
    const LineOutcome outcome = op == Op::find ? dramhit::find(slots, line, want, reach, answer)
                                               : dramhit::change(slots, line, want, reach, change, answer);
    if (outcome == LineOutcome::next) {
      ++line;
      want += dramhit::kOneLineOn;
      --attempt;
      continue;
    }
    if (outcome == LineOutcome::done) outcomes[who] = {true, answer, false};
    if (outcome == LineOutcome::frozen) outcomes[who].frozen = true;
    if (outcome != LineOutcome::again) return;
  }
}

struct Step {
  Op op;
  std::uint64_t key, version;
};

/// How often the key stands in lines [from, to), live or erased, and its value where it is live.
inline unsigned count(const WeakMemory& memory, std::uint64_t key, int from, int to, std::uint64_t* value = nullptr) {
  unsigned found = 0;
  for (int line = from; line < to; ++line) {
    for (unsigned slot = 0; slot < kSlotsHere; ++slot) {
      const Pair pair = pair_of(memory.newest(Slots::at(line, slot)));
      if ((pair.word & dramhit::kUsed) == 0 || pair.word >> dramhit::kRestShift != key) continue;
      if (dramhit::distance(pair.word) > dramhit::kMostDistance) continue;  // nobody's
      ++found;
      if (value != nullptr && dramhit::is_live(pair.word)) *value = pair.value;
    }
  }
  return found;
}

/// Whether all that is left of the first lines is where a search finds it, and nothing is held.
inline bool in_order(const WeakMemory& memory) {
  constexpr int kLines = 3;
  unsigned reach[kLines] = {};
  bool in_order = true;
  for (int line = 0; line < kLines; ++line) {
    while (reach[line] < kSlotsHere && (memory.newest(Slots::at(line, reach[line])) & dramhit::kPassed) != 0) {
      ++reach[line];
    }
    in_order &= (memory.newest(Slots::at(line, 0)) & dramhit::kLock) == 0;
  }
  for (unsigned at = 0; at < kLines * kSlotsHere; ++at) {
    const std::uint64_t word = pair_of(memory.newest(at)).word;
    in_order &= !dramhit::holds(word, dramhit::kReserved);
    if (!dramhit::is_live(word)) continue;
    const int home = home_of(word >> dramhit::kRestShift);
    const auto distance = static_cast<int>(dramhit::distance(word));
    in_order &= home + distance == static_cast<int>(at / kSlotsHere) && dramhit::distance(word) <= reach[home];
  }
  return in_order;
}

/// Actors that do one operation each, on two lines that hold `begin`.
inline Play play_of(std::vector<std::uint64_t> begin, std::vector<Step> steps, unsigned preemptions) {
  Play play;
  play.actors = static_cast<unsigned>(steps.size());
  play.preemptions = preemptions;
  play.begin = [begin](WeakMemory& memory) {
    for (Outcome& outcome : outcomes) outcome = {};
    std::fill_n(waits_for, kMostActors, -1);
    for (unsigned i = 0; i < begin.size(); ++i) memory.begin(i, begin[i]);
  };
  play.ready = [](const WeakMemory& memory, unsigned who) {
    return waits_for[who] < 0 ||
           !dramhit::holds(pair_of(memory.newest(static_cast<unsigned>(waits_for[who]))).word, dramhit::kReserved);
  };
  play.act = [steps](unsigned who) { operate(who, steps[who].op, steps[who].key, steps[who].version); };
  play.end = [begin, steps](WeakMemory& memory) {
    memory.wrong |= !in_order(memory);
    for (const std::uint64_t key : {kK, kX, kY, kZ, kV, kW}) {
      memory.wrong |= count(memory, key, 0, 3) > 1;  // two slots
      int there = 0;
      for (const std::uint64_t slot : begin) {
        const std::uint64_t word = pair_of(slot).word;
        there += word >> dramhit::kRestShift == key && dramhit::is_live(word);
      }
      for (unsigned i = 0; i < steps.size(); ++i) {
        const Outcome& outcome = outcomes[i];
        if (!outcome.done || steps[i].key != key) continue;
        const Status status = outcome.answer.status;
        there += (status == Status::inserted) - (status == Status::erased);
        if (steps[i].op == Op::find && status == Status::found) {
          memory.wrong |= outcome.answer.value >> 4 != key;  // torn
        }
        memory.cached |= status == Status::inserted;
      }
      std::uint64_t value = 0;
      count(memory, key, 0, 3, &value);
      if (value != 0) memory.wrong |= value >> 4 != key;
      memory.wrong |= there != (value != 0);
    }
  };
  return play;
}

}  // namespace holdfast::gphash::model
