// dramhit_test.cpp: the slot protocol of the table in memory (structures/dramhit/protocol.hpp, the code that ships), in every
// order of few preemptions, over memory as weak as proof/weak_memory.hpp has it: insert, erase, reuse, keys that come back,
// reads and growth.
//
// Lines of two slots: a slot is one location, its word below and its value above. What must be true at the end: no key has two
// slots, every key is where a search looks, every acknowledged change is there, and no read gave a value of another key.
#include "structures/dramhit/protocol.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <string_view>

#include "proof/weak_memory.hpp"

namespace holdfast::machine::model {

namespace {

using dramhit::Answer;
using dramhit::Change;
using dramhit::Pair;
using dramhit::Seen;
using dramhit::Turn;
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
                             {Left::reserve, "back beside the erased key"},
                             {Left::look_for_reserved, "back beside a find"},
                             {Left::look_back, "back beside a find"},
                             {Left::forget, "back beside its own slot"},
                             {Left::wait, "back while moved"},
                             {Left::look_before_lower, "one of two comes back"}};
Left left = Left::nothing;
bool two_loads = false;  ///< slots are read by two loads and a look back, and do not pass from key to key

int waits_for[kMostActors];  ///< the slot that an actor waits for, or -1

constexpr unsigned kSlotsHere = 2;
constexpr std::uint64_t kLow = 0xffff'ffff;

Pair pair_of(std::uint64_t coded) { return {coded & kLow, coded >> 32}; }
std::uint64_t coded(Pair pair) { return pair.value << 32 | pair.word; }

/// The policy. Lines are numbers; those of a table that grew stand behind the old ones.
struct Slots {
  using At = int;
  using ConstAt = int;
  unsigned who = 0;
  mutable bool holding = false;
  mutable bool looks_back = false;
  mutable bool not_reserved = false;

  static unsigned at(int line, unsigned slot) { return static_cast<unsigned>(line) * kSlotsHere + slot; }
  static unsigned slots() { return kSlotsHere; }
  static bool full(const Seen& seen) { return seen.used == 3; }
  static bool reuses() { return !two_loads; }
  static int on(int line, std::int64_t lines) { return line + static_cast<int>(lines); }
  static unsigned reach(int, const Seen& seen) { return static_cast<unsigned>(std::countr_one(seen.passed)); }
  void raise(int line, unsigned distance) const {
    for (unsigned step = 0; step < distance && left != Left::raise; ++step) set(line, step, dramhit::kPassed);
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
    }
    if (left == Left::look_under_lock && holding) seen.hits = 0;
    if (left == Left::look_for_reserved && want == dramhit::kReserved) seen.hits = 0;
    if (left == Left::look_back && looks_back) seen.hits = 0;
    looks_back = want == dramhit::kReserved;
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
    if (bits == dramhit::kLock) {
      if (left == Left::lock) return 0;
      holding = true;
    }
    return weak->update(at(line, slot), ~std::uint64_t{0}, bits) & kLow;
  }
  void clear(int line, unsigned slot, std::uint64_t bits) const {
    holding = false;
    if (left != Left::lock) weak->update(at(line, slot), ~bits, 0);
  }
};

/// The word of key `key`, whose search begins `distance` lines before.
std::uint64_t word_of(std::uint64_t key, unsigned distance = 0) {
  return key << dramhit::kRestShift | distance * dramhit::kOneLineOn | dramhit::kUsed;
}
std::uint64_t live(std::uint64_t key, std::uint64_t value, unsigned distance = 0) {
  return coded({word_of(key, distance) | dramhit::kLive, value});
}
std::uint64_t erased(std::uint64_t key, std::uint64_t value, unsigned distance = 0) {
  return coded({word_of(key, distance), value});
}

// Keys 1 to 4; a value is its key's, times 16, and a version.
constexpr std::uint64_t kK = 1, kX = 2, kY = 3, kZ = 4;
constexpr std::uint64_t value_of(std::uint64_t key, std::uint64_t version) { return key * 16 + version; }

struct Outcome {
  bool done = false;
  Answer answer;
  bool frozen = false;
};
Outcome outcomes[kMostActors];

/// One operation on a key whose search begins at line 0; gives up after some tries, as if it had never begun.
void operate(unsigned who, Op op, std::uint64_t key, std::uint64_t version) {
  static const index::Combining kSum;
  const Slots slots{who};
  const Change change{op, value_of(key, version), kSum};
  std::uint64_t want = word_of(key);
  unsigned reach = 0;
  int line = 0;
  for (int attempt = 0; attempt < 4; ++attempt) {
    Answer answer;
    const Turn turn = op == Op::find ? dramhit::find(slots, line, want, reach, answer)
                                     : dramhit::change(slots, line, want, reach, change, answer);
    if (turn == Turn::next) {
      ++line;
      want += dramhit::kOneLineOn;
      --attempt;
      continue;
    }
    if (turn == Turn::done) outcomes[who] = {true, answer, false};
    if (turn == Turn::frozen) outcomes[who].frozen = true;
    if (turn != Turn::again) return;
  }
}

struct Step {
  Op op;
  std::uint64_t key, version;
};

/// How often the key stands in lines [from, to), live or erased, and its value where it is live.
unsigned count(const WeakMemory& memory, std::uint64_t key, int from, int to, std::uint64_t* value = nullptr) {
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

/// Whether all that is left of lines 0 and 1 is where a search finds it, and nothing is held.
bool in_order(const WeakMemory& memory) {
  unsigned reach = 0;
  while (reach < kSlotsHere && (memory.newest(Slots::at(0, reach)) & dramhit::kPassed) != 0) ++reach;
  bool in_order = (memory.newest(0) & dramhit::kLock) == 0;
  for (unsigned at = 0; at < 2 * kSlotsHere; ++at) {
    const std::uint64_t word = pair_of(memory.newest(at)).word;
    in_order &= !dramhit::holds(word, dramhit::kReserved);
    if (dramhit::is_live(word)) in_order &= dramhit::distance(word) == at / kSlotsHere && at / kSlotsHere <= reach;
  }
  return in_order;
}

/// Actors that do one operation each, on two lines that hold `begin`.
Play play_of(std::vector<std::uint64_t> begin, std::vector<Step> steps, unsigned preemptions) {
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
    for (const std::uint64_t key : {kK, kX, kY, kZ}) {
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

const Play kTwoIntoAFreshSlot = play_of({live(kX, value_of(kX, 1))}, {{Op::insert, kK, 1}, {Op::insert, kK, 2}}, 8);
const Play kTwoIntoAFullLine =
    play_of({live(kX, value_of(kX, 1)), erased(kY, value_of(kY, 1))}, {{Op::insert, kK, 1}, {Op::insert, kK, 2}}, 3);
const Play kBackOrTaken =
    play_of({live(kX, value_of(kX, 1)), erased(kY, value_of(kY, 1))}, {{Op::insert, kK, 1}, {Op::insert, kY, 2}}, 4);
const Play kEraseAndTwoInserts = play_of({live(kX, value_of(kX, 1)), live(kY, value_of(kY, 1))},
                                         {{Op::erase, kY, 0}, {Op::insert, kK, 1}, {Op::insert, kK, 2}}, 1);
const Play kReadWhileTheSlotPasses = play_of({live(kX, value_of(kX, 1)), live(kY, value_of(kY, 1))},
                                             {{Op::find, kY, 0}, {Op::erase, kY, 0}, {Op::insert, kK, 1}}, 2);
const Play kUpdateAndErase = play_of({live(kX, value_of(kX, 1)), live(kY, value_of(kY, 1))},
                                     {{Op::insert_or_assign, kY, 2}, {Op::erase, kY, 0}, {Op::find, kY, 0}}, 3);
const Play kBackWhileRead = play_of({live(kX, value_of(kX, 1)), live(kY, value_of(kY, 1))},
                                    {{Op::find, kY, 0}, {Op::erase, kY, 0}, {Op::insert, kY, 2}}, 4);

/// An insert finds both slots of the key's line taken; a search that begins after it must find the key one line further on.
Play search_after() {
  constexpr unsigned kFlag = 6;
  Play play =
      play_of({live(kX, value_of(kX, 1)), live(kY, value_of(kY, 1))}, {{Op::insert, kK, 1}, {Op::find, kK, 0}}, 3);
  const auto act = play.act;
  play.act = [act](unsigned who) {
    if (who == 1 && weak->load(kFlag, true) == 0) return;
    act(who);
    // The insert asks for the next line at its second turn.
    if (who == 0 && outcomes[0].done) weak->store(kFlag, 1, true);
  };
  play.end = [](WeakMemory& memory) {
    memory.cached |= outcomes[1].done;
    memory.wrong |= outcomes[1].done && outcomes[1].answer.status != Status::found;
  };
  return play;
}

/// A slot passes from a key to another and back while somebody reads it.
Play there_and_back() {
  Play play =
      play_of({live(kX, value_of(kX, 1)), live(kY, value_of(kY, 1))}, {{Op::find, kY, 0}, {Op::erase, kY, 0}}, 3);
  play.act = [](unsigned who) {
    if (who == 0) return operate(who, Op::find, kY, 0);
    operate(1, Op::erase, kY, 0);
    operate(1, Op::insert, kK, 1);
    operate(1, Op::erase, kK, 0);
    operate(1, Op::insert, kY, 2);
  };
  play.end = [](WeakMemory& memory) {
    const Outcome& read = outcomes[0];
    memory.wrong |= read.done && read.answer.status == Status::found && read.answer.value >> 4 != kY;
  };
  return play;
}

/// Line 0 moves to line 2, which is another table's, while somebody changes it.
Play move_and(Step step) {
  Play play;
  play.actors = 2;
  play.preemptions = 6;
  play.begin = [](WeakMemory& memory) {
    for (Outcome& outcome : outcomes) outcome = {};
    memory.begin(0, live(kX, value_of(kX, 1)));
  };
  play.act = [step](unsigned who) {
    if (who == 0) return operate(who, step.op, step.key, step.version);
    const Slots slots;
    dramhit::freeze(slots, 0);
    for (unsigned slot = 0; slot < kSlotsHere; ++slot) {
      const Pair pair = dramhit::load_settled(slots, 0, slot);
      if (!dramhit::is_live(pair.word)) continue;
      if (!dramhit::put_moved(slots, 2, pair.word & dramhit::kIdentity, pair.value)) weak->wrong = true;
    }
  };
  play.end = [step](WeakMemory& memory) {
    std::uint64_t value = 0;
    const unsigned there = count(memory, step.key, 2, 3, &value);
    const bool was_there = step.key == kX, done = outcomes[0].done;
    memory.cached |= done;
    memory.wrong |= there > 1 || (!done && !outcomes[0].frozen);
    if (done && step.op == Op::erase) memory.wrong |= value != 0;
    if (done && step.op != Op::erase) memory.wrong |= value != value_of(step.key, step.version);
    if (!done) memory.wrong |= was_there ? value != value_of(kX, 1) : value != 0;
  };
  return play;
}

/// K lies one line on from the full line where its search begins, and may come back when Y is erased there; `beside` does
/// something meanwhile. K is missed by nobody, and no change of it is lost.
Play back_beside(std::vector<Step> beside, unsigned preemptions, std::uint64_t other = 0) {
  std::vector<Step> steps = {{Op::erase, kY, 0}};
  steps.insert(steps.end(), beside.begin(), beside.end());
  Play play = play_of(
      {live(kX, value_of(kX, 1)) | dramhit::kPassed, live(kY, value_of(kY, 1)), live(kK, value_of(kK, 1), 1), other},
      steps, preemptions);
  const auto end = play.end;
  play.end = [end, steps](WeakMemory& memory) {
    end(memory);
    bool erases = false;
    std::uint64_t version = 1;
    for (unsigned i = 0; i < steps.size(); ++i) {
      if (!outcomes[i].done || steps[i].key != kK) continue;
      erases |= steps[i].op == Op::erase;
      if (outcomes[i].answer.status == Status::updated) version = steps[i].version;
    }
    for (unsigned i = 0; i < steps.size(); ++i) {
      const Answer& answer = outcomes[i].answer;
      if (!outcomes[i].done || steps[i].key != kK) continue;
      memory.wrong |= answer.status == Status::inserted && !erases;
      memory.wrong |= answer.status == Status::not_found && (!erases || steps[i].op == Op::erase);
      if (answer.status == Status::found) {
        memory.wrong |= answer.value != value_of(kK, 1) && answer.value != value_of(kK, version);
      }
    }
    std::uint64_t value = 0;
    count(memory, kK, 0, 2, &value);
    memory.wrong |= !erases && value != value_of(kK, version);
  };
  return play;
}

/// As back_beside, and K is updated while somebody reads it twice: never the newer value first.
Play back_while_read_twice() {
  Play play = back_beside({{Op::assign, kK, 2}, {Op::find, kK, 0}}, 1);
  const auto act = play.act;
  static Outcome first;
  play.act = [act](unsigned who) {
    if (who == 2) {
      first = {};
      act(who);
      first = outcomes[who];
      outcomes[who] = {};
    }
    act(who);
  };
  const auto end = play.end;
  play.end = [end](WeakMemory& memory) {
    end(memory);
    if (!first.done) return;
    memory.wrong |= first.answer.status != Status::found;
    if (outcomes[2].done) memory.wrong |= outcomes[2].answer.value < first.answer.value;
  };
  return play;
}

/// As back_beside, and the table is moved to lines 2 and 3.
Play back_while_moved() {
  Play play = back_beside({{Op::find, kK, 0}}, 3);
  play.act = [](unsigned who) {
    if (who == 0) return operate(who, Op::erase, kY, 0);
    const Slots slots{who};
    for (int line = 0; line < 2; ++line) {
      dramhit::freeze(slots, line);
      for (unsigned slot = 0; slot < kSlotsHere; ++slot) {
        const Pair pair = dramhit::load_settled(slots, line, slot);
        if (!dramhit::is_live(pair.word)) continue;
        const std::uint64_t key = pair.word >> dramhit::kRestShift;
        if (!dramhit::put_moved(slots, 2, word_of(key), pair.value)) weak->wrong = true;
      }
    }
  };
  play.end = [](WeakMemory& memory) {
    std::uint64_t value = 0, erased_value = 0;
    memory.wrong |= count(memory, kK, 2, 4, &value) != 1 || value != value_of(kK, 1);
    const unsigned there = count(memory, kY, 2, 4, &erased_value);
    memory.wrong |= there != (outcomes[0].done ? 0 : 1) || count(memory, kX, 2, 4) != 1;
    memory.wrong |= !outcomes[0].done && !outcomes[0].frozen;
  };
  return play;
}

/// The erased slot of K, one line on, is on the way of what comes back when Y is erased.
Play back_beside_its_own_slot() {
  return play_of(
      {live(kX, value_of(kX, 1)) | dramhit::kPassed, live(kY, value_of(kY, 1)), erased(kK, value_of(kK, 1), 1), 0},
      {{Op::erase, kY, 0}, {Op::insert, kK, 2}}, 4);
}

/// Both keys of the line are erased, and both of the next come back.
Play two_come_back() {
  return play_of({live(kX, value_of(kX, 1)) | dramhit::kPassed, live(kY, value_of(kY, 1)), live(kK, value_of(kK, 1), 1),
                  live(kZ, value_of(kZ, 1), 1)},
                 {{Op::erase, kY, 0}, {Op::erase, kX, 0}}, 3);
}

struct Case {
  const char* name;
  Play play;
};

std::vector<Case> cases() {
  return {{"two into a fresh slot", kTwoIntoAFreshSlot},
          {"two into a full line", kTwoIntoAFullLine},
          {"back or taken", kBackOrTaken},
          {"update and erase", kUpdateAndErase},
          {"back while read", kBackWhileRead},
          {"search after", search_after()},
          {"move and update", move_and({Op::insert_or_assign, kX, 2})},
          {"move and erase", move_and({Op::erase, kX, 0})},
          {"move and insert", move_and({Op::insert, kK, 1})},
          {"there and back", there_and_back()},
          {"read while the slot passes", kReadWhileTheSlotPasses},
          {"erase and two inserts", kEraseAndTwoInserts},
          {"back beside a find", back_beside({{Op::find, kK, 0}}, 3)},
          {"back beside an assign", back_beside({{Op::assign, kK, 2}}, 3)},
          {"back beside an upsert", back_beside({{Op::insert_or_assign, kK, 2}}, 3)},
          {"back beside an erase", back_beside({{Op::erase, kK, 0}}, 3)},
          {"back beside an insert", back_beside({{Op::insert, kZ, 1}}, 3)},
          {"back beside the erased key", back_beside({{Op::insert, kY, 2}}, 3)},
          {"one of two comes back", back_beside({{Op::find, kZ, 0}}, 2, live(kZ, value_of(kZ, 1), 1))},
          {"back while read twice", back_while_read_twice()},
          {"back while moved", back_while_moved()},
          {"back beside its own slot", back_beside_its_own_slot()},
          {"two come back", two_come_back()}};
}

class DramhitModel : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override { two_loads = GetParam(); }
  void TearDown() override { two_loads = false; }
};

TEST_P(DramhitModel, EveryOrderIsRight) {
  std::uint64_t executions = 0;
  for (const Case& one : cases()) {
    const Executions seen = run_all(one.play);
    EXPECT_EQ(seen.wrong, 0u) << one.name << ", of " << seen.executions;
    EXPECT_GE(seen.executions, 15u) << one.name;
    std::cout << one.name << ": " << seen.executions << " executions\n";
    executions += seen.executions;
  }
  std::cout << executions << " executions\n";
  EXPECT_GT(executions, 50'000u);
}

INSTANTIATE_TEST_SUITE_P(Loads, DramhitModel, testing::Values(false, true),
                         [](const auto& info) { return info.param ? "TwoLoads" : "Whole"; });

TEST(DramhitModel, EveryStepIsNeeded) {
  for (const Needed& needed : kSteps) {
    left = needed.step;
    std::uint64_t wrong = 0;
    for (const Case& one : cases()) {
      if (std::string_view(one.name) == needed.fails) wrong = run_all(one.play, true).wrong;
    }
    left = Left::nothing;
    EXPECT_NE(wrong, 0u) << needed.fails << " does not fail without step " << static_cast<int>(needed.step);
  }
}

}  // namespace

}  // namespace holdfast::machine::model
