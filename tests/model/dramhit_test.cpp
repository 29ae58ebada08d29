// dramhit_test.cpp: the slot protocol of the table in memory (structures/dramhit/protocol/change.hpp, the code that ships), in every
// order of few preemptions, two at most unless the run is long, over memory as weak as proof/weak_memory.hpp has it: insert,
// erase, reuse, keys that come back, reads and growth.
//
// What must be true at the end: no key has two slots, every key is where a search looks, every acknowledged change is there, and
// no read gave a value of another key.
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <string_view>

#include "dramhit_slots.hpp"
#include "record.hpp"

namespace holdfast::gphash::model {

namespace {

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

/// As back_beside, and who updates K reads it then: never the older value.
Play back_while_updated_and_read() {
  Play play = back_beside({{Op::assign, kK, 2}}, 2);
  play.act = [](unsigned who) {
    if (who == 0) return operate(who, Op::erase, kY, 0);
    operate(who, Op::assign, kK, 2);
    if (outcomes[who].done) operate(who, Op::find, kK, 0);
  };
  play.end = [](WeakMemory& memory) {
    const Answer& answer = outcomes[1].answer;
    if (!outcomes[1].done || answer.status == Status::updated) return;  // it gave up, before or after the update
    memory.cached = true;
    memory.wrong |= answer.status != Status::found || answer.value != value_of(kK, 2) || !in_order(memory);
  };
  return play;
}

/// As back_beside, and the table is moved to lines 2 and 3.
Play back_while_moved() {
  Play play = back_beside({{Op::find, kK, 0}}, 2);
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

/// As back_beside, and somebody exports what begins at line 0: K is among it, and X.
Play back_while_exported() {
  Play play = back_beside({{Op::find, kX, 0}}, 3);
  static bool has[8];
  play.act = [](unsigned who) {
    if (who == 0) return operate(who, Op::erase, kY, 0);
    std::fill(std::begin(has), std::end(has), false);
    dramhit::each_of(Slots{who}, 0, [](unsigned, const Pair& pair) {
      const std::uint64_t key = pair.word >> dramhit::kRestShift;
      weak->wrong |= pair.value != value_of(key, 1);
      has[key] = true;
    });
    weak->wrong |= !has[kK] || !has[kX];
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

/// K comes back to line 0, and so V to the slot that it left in line 1, while somebody looks for V, or changes it.
Play one_after_the_other(Step beside) {
  Play play = play_of(
      {live(kX, value_of(kX, 1)) | dramhit::kPassed, live(kY, value_of(kY, 1)),
       live(kK, value_of(kK, 1), 1) | dramhit::kPassed, live(kW, value_of(kW, 1)), live(kV, value_of(kV, 1), 1), 0},
      {{Op::erase, kY, 0}, beside}, 2);
  const auto end = play.end;
  play.end = [end, beside](WeakMemory& memory) {
    end(memory);
    const Outcome& other = outcomes[1];
    std::uint64_t value = 0;
    count(memory, kV, 0, 3, &value);
    memory.wrong |= value != value_of(kV, other.done && beside.op == Op::assign ? beside.version : 1);
    memory.wrong |= other.done && other.answer.status == Status::not_found;
    memory.cached |= count(memory, kV, 1, 2) == 1;
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
          {"erase and two inserts", kEraseAndTwoInserts},
          {"back beside a find", back_beside({{Op::find, kK, 0}}, 3)},
          {"back beside an assign", back_beside({{Op::assign, kK, 2}}, 3)},
          {"back beside an upsert", back_beside({{Op::insert_or_assign, kK, 2}}, 3)},
          {"back beside an erase", back_beside({{Op::erase, kK, 0}}, 3)},
          {"back beside an insert", back_beside({{Op::insert, kZ, 1}}, 3)},
          {"back beside the erased key", back_beside({{Op::insert, kY, 2}}, 3)},
          {"back beside an update of the erased key", back_beside({{Op::insert_or_assign, kY, 2}}, 3)},
          {"back beside a find of the erased key", back_beside({{Op::find, kY, 0}}, 3)},
          {"one of two comes back", back_beside({{Op::find, kZ, 0}}, 2, live(kZ, value_of(kZ, 1), 1))},
          {"back while updated and read", back_while_updated_and_read()},
          {"back while moved", back_while_moved()},
          {"back while exported", back_while_exported()},
          {"back beside its own slot", back_beside_its_own_slot()},
          {"two come back", two_come_back()},
          {"one after the other, and a find", one_after_the_other({Op::find, kV, 0})},
          {"one after the other, and an assign", one_after_the_other({Op::assign, kV, 2})}};
}

class DramhitModel : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override { two_loads = GetParam(); }
  void TearDown() override { two_loads = false; }
};

TEST_P(DramhitModel, EveryOrderIsRight) {
  std::uint64_t executions = 0;
  for (Case one : cases()) {
    if (!long_run()) {
      one.play.preemptions = std::min(one.play.preemptions, 2u);
      one.play.most = 8'000;  // half of the cases have more, which `make proof` goes through
    }
    const Executions seen = run_all(one.play);
    EXPECT_EQ(seen.wrong, 0u) << one.name << ", of " << seen.executions;
    EXPECT_GE(seen.executions, 14u) << one.name;
    std::cout << one.name << ": " << seen.executions << " executions\n";
    executions += seen.executions;
  }
  std::cout << executions << " executions\n";
  EXPECT_GT(executions, long_run() ? 50'000u : 5'000u);
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

}  // namespace holdfast::gphash::model
