// log_test.cpp: logs and transactions, the code that ships, in every order of their callers, crashed at each access and again in
// recovery; and each of their steps left out. Rules 24, 25.
#include <gtest/gtest.h>

#include <iostream>

#include "log/model/explore.hpp"

namespace holdfast::log::model {
namespace {

constexpr Flavour kFlavours[] = {Flavour::process, Flavour::power, Flavour::gpu};
constexpr const char* kNames[] = {"process", "power", "gpu"};

Shape hierarchical(unsigned words, unsigned capacity) { return {LogKind::hierarchical, words, capacity, 1, 2}; }
Shape conventional(unsigned words, unsigned capacity) { return {LogKind::conventional, words, capacity, 1, 1}; }

std::vector<LogScenario> logs() {
  const Operation in0{Op::insert, 0}, in1{Op::insert, 1}, out0{Op::remove, 0}, out1{Op::remove, 1}, none0{Op::clear, 0};
  return {
      {"two lanes of a warp", hierarchical(2, 3), {{in0, in0}, {in1, out1, in1}}},
      {"a place used again", hierarchical(3, 2), {{in0, in0, out0, in0, out0, out0, in0}}},
      {"a log cleared and used again", hierarchical(2, 2), {{in0, in0, none0, in0}, {in1}}},
      {"a log full and empty", hierarchical(1, 1), {{out0, in0, in0, none0, none0}}},
      {"an entry of two lines", hierarchical(16, 1), {{in0, out0, in0}}},
      {"two in one partition", conventional(2, 4), {{in0, in0}, {in0, out0}}},
      {"three in one partition", conventional(1, 3), {{in0}, {in0}, {none0}}},
  };
}

std::vector<TransactionScenario> transactions() {
  return {
      {"two threads, two batches", hierarchical(3, 1), 4, {{{{0, 1}}, {{2, 1}}}, {{{0, 1}}, {{3, 1}}}}},
      {"one location twice", hierarchical(3, 2), 2, {{{{0, 1}, {0, 1}}}, {{{0, 1}, {1, 1}}}}},
      {"updates of several words", hierarchical(5, 1), 16, {{{{6, 3}}, {{12, 2}}}}},
      {"in a conventional log", conventional(3, 2), 2, {{{{0, 1}, {1, 1}}}, {{{0, 1}}}}},
  };
}

/// Exactly: a count that falls says that a proof has become weaker.
struct Known {
  std::uint64_t executions, states, images, recoveries, crashed_in_recovery;
};

template <class Scenarios>
void explore_all(const Scenarios& scenarios, const Known (&known)[3]) {
  for (unsigned f = 0; f < 3; ++f) {
    Counts all;
    for (const auto& scenario : scenarios) {
      const Verdict verdict = explore(scenario, kFlavours[f]);
      EXPECT_EQ(verdict.failure, "") << scenario.name << ", " << kNames[f];
      all.executions += verdict.counts.executions;
      all.states += verdict.counts.states;
      all.images += verdict.counts.images;
      all.recoveries += verdict.counts.recoveries;
      all.crashed_in_recovery += verdict.counts.crashed_in_recovery;
    }
    std::cout << kNames[f] << ": {" << all.executions << ", " << all.states << ", " << all.images << ", "
              << all.recoveries << ", " << all.crashed_in_recovery << "}\n";
    EXPECT_EQ(all.executions, known[f].executions) << kNames[f];
    EXPECT_EQ(all.states, known[f].states) << kNames[f];
    EXPECT_EQ(all.images, known[f].images) << kNames[f];
    EXPECT_EQ(all.recoveries, known[f].recoveries) << kNames[f];
    EXPECT_EQ(all.crashed_in_recovery, known[f].crashed_in_recovery) << kNames[f];
  }
}

TEST(LogModel, EveryOrderAndEveryCrashIsRight) {
  explore_all(logs(), {{655, 973, 347, 364, 0}, {1377, 1745, 14450, 14467, 0}, {655, 973, 14462, 14479, 0}});
}

TEST(TransactionModel, EveryOrderAndEveryCrashIsRight) {
  explore_all(transactions(), {{646, 1058, 107, 236, 129}, {1636, 2143, 121, 284, 163}, {646, 1058, 120, 302, 182}});
}

/// Who notices that a step is left out.
std::string noticed(Step step) {
  left_out = step;
  std::string by;
  const auto look = [&](const auto& scenarios) {
    for (const auto& scenario : scenarios) {
      for (unsigned f = 0; f < 3 && by.empty(); ++f) {
        const Verdict verdict = explore(scenario, kFlavours[f]);
        if (!verdict.failure.empty()) by = scenario.name + ", " + kNames[f] + ": " + verdict.failure;
      }
    }
  };
  look(logs());
  look(transactions());
  left_out = Step::count;
  return by;
}

TEST(LogModel, EveryStepIsNeeded) {
  for (unsigned step = 0; step < static_cast<unsigned>(Step::count); ++step) {
    const std::string by = noticed(static_cast<Step>(step));
    EXPECT_NE(by, "") << "nothing fails without step " << step;
    std::cout << step << ": " << by << "\n";
  }
}

}  // namespace
}  // namespace holdfast::log::model
