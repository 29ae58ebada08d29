// dramhit_test.cpp: the slot protocol of the table in memory (structures/dramhit/protocol.hpp, the code that ships), in every
// order of few preemptions, over memory as weak as proof/weak_memory.hpp has it: insert, erase, reuse, reads and growth.
//
// Lines of two slots: a slot is one location, its word below and its value above. What must be true at the end: no key has two
// slots, every acknowledged change is there, and no read gave a value of another key.
#include "structures/dramhit/protocol.hpp"

#include <gtest/gtest.h>

#include <iostream>

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
enum class Left : std::uint8_t { nothing, lock, look_under_lock, raise, freeze, compare, whole_loads };
Left left = Left::nothing;
bool two_loads = false;  ///< slots are read by two loads and a look back, and do not pass from key to key

constexpr unsigned kSlotsHere = 2;
constexpr std::uint64_t kLow = 0xffff'ffff;

Pair pair_of(std::uint64_t coded) { return {coded & kLow, coded >> 32}; }
std::uint64_t coded(Pair pair) { return pair.value << 32 | pair.word; }

/// The policy. Lines are numbers; those of a table that grew stand behind the old ones.
struct Slots {
  using At = int;
  mutable bool holding = false;

  static unsigned at(int line, unsigned slot) { return static_cast<unsigned>(line) * kSlotsHere + slot; }
  static unsigned slots() { return kSlotsHere; }
  static bool full(const Seen& seen) { return seen.used == 3; }
  static bool reuses() { return !two_loads; }
  static int on(int line, std::int64_t lines) { return line + static_cast<int>(lines); }
  static unsigned reach(int, const Seen& seen) { return static_cast<unsigned>(std::countr_one(seen.passed)); }
  void raise(int line, unsigned distance) const {
    for (unsigned step = 0; step < distance && left != Left::raise; ++step) set(line, step, dramhit::kPassed);
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
    return seen;
  }
  Pair load(int line, unsigned slot) const {
    if (!two_loads && left != Left::whole_loads) return pair_of(weak->load(at(line, slot), true));
    for (int attempt = 0; attempt < 3; ++attempt) {
      const std::uint64_t word = load_word(line, slot);
      const std::uint64_t value = weak->load(at(line, slot), true) >> 32;
      if (load_word(line, slot) == word) return {word, value};
    }
    return {};
  }
  std::uint64_t load_word(int line, unsigned slot) const { return weak->load(at(line, slot), true) & kLow; }
  bool swap(int line, unsigned slot, Pair seen, Pair next) const {
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
std::uint64_t live(std::uint64_t key, std::uint64_t value) { return coded({word_of(key) | dramhit::kLive, value}); }
std::uint64_t erased(std::uint64_t key, std::uint64_t value) { return coded({word_of(key), value}); }

// Keys 1 to 3; a value is its key's, times 16, and a version.
constexpr std::uint64_t kK = 1, kX = 2, kY = 3;
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
  const Slots slots;
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
    line = 0;
    want = word_of(key);
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
      ++found;
      if (value != nullptr && dramhit::is_live(pair.word)) *value = pair.value;
    }
  }
  return found;
}

/// Actors that do one operation each, on two lines that hold `begin`.
Play play_of(std::vector<std::uint64_t> begin, std::vector<Step> steps, unsigned preemptions) {
  Play play;
  play.actors = static_cast<unsigned>(steps.size());
  play.preemptions = preemptions;
  play.begin = [begin](WeakMemory& memory) {
    for (Outcome& outcome : outcomes) outcome = {};
    for (unsigned i = 0; i < begin.size(); ++i) memory.begin(i, begin[i]);
  };
  play.act = [steps](unsigned who) { operate(who, steps[who].op, steps[who].key, steps[who].version); };
  play.end = [steps](WeakMemory& memory) {
    for (const std::uint64_t key : {kK, kX, kY}) {
      memory.wrong |= count(memory, key, 0, 3) > 1;  // two slots
      int there = 0, known = 0;
      for (unsigned i = 0; i < steps.size(); ++i) {
        const Outcome& outcome = outcomes[i];
        if (!outcome.done || steps[i].key != key) continue;
        const Status status = outcome.answer.status;
        known |= status == Status::inserted || status == Status::erased;
        there += (status == Status::inserted) - (status == Status::erased);
        if (steps[i].op == Op::find && status == Status::found) {
          memory.wrong |= outcome.answer.value >> 4 != key;  // torn
        }
        memory.cached |= status == Status::inserted;
      }
      std::uint64_t value = 0;
      count(memory, key, 0, 3, &value);
      if (value != 0) memory.wrong |= value >> 4 != key;
      if (known != 0)
        memory.wrong |= there < -1 || there > 1 || (there == 1 && value == 0) || (there == -1 && value != 0);
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
      const Pair pair = slots.load(0, slot);
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
          {"erase and two inserts", kEraseAndTwoInserts}};
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
  for (const Left step :
       {Left::lock, Left::look_under_lock, Left::raise, Left::freeze, Left::compare, Left::whole_loads}) {
    left = step;
    std::uint64_t wrong = 0;
    const std::vector<Case> all = cases();
    for (std::size_t i = 0; i < all.size() && wrong == 0; ++i) wrong = run_all(all[i].play, true).wrong;
    left = Left::nothing;
    EXPECT_NE(wrong, 0u) << "nothing fails without step " << static_cast<int>(step);
  }
}

}  // namespace

}  // namespace holdfast::machine::model
