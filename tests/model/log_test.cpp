// log_test.cpp: logs and transactions, the code that ships, in every order of their callers, crashed at each access and again in
// recovery; and each of their steps left out. Rules 24, 25.
#include <gtest/gtest.h>

#include "crash_counts.hpp"
#include "log/model/explore.hpp"

namespace holdfast::log::model {
namespace {

constexpr proof::NamedFlavour<Flavour> kMemories[] = {
    {Flavour::process, "process"}, {Flavour::power, "power"}, {Flavour::gpu, "gpu"}};

LogShape hierarchical(unsigned words, unsigned capacity) { return {LogKind::hierarchical, words, capacity, 1, 2}; }
LogShape conventional(unsigned words, unsigned capacity) { return {LogKind::conventional, words, capacity, 1, 1}; }

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

template <class Scenarios>
void explore_all(const Scenarios& scenarios, const proof::CrashCounts (&known)[3]) {
  for (unsigned f = 0; f < 3; ++f) proof::expect_counts(scenarios, kMemories[f], known[f]);
}

TEST(LogModel, EveryOrderAndEveryCrashIsRight) {
  explore_all(logs(), {{655, 973, 347, 364, 0}, {1377, 1745, 14450, 14467, 0}, {655, 973, 14462, 14479, 0}});
}

TEST(TransactionModel, EveryOrderAndEveryCrashIsRight) {
  explore_all(transactions(), {{646, 1058, 107, 236, 129}, {1636, 2143, 121, 284, 163}, {646, 1058, 120, 302, 182}});
}

TEST(LogModel, EveryStepIsNeeded) {
  proof::expect_steps_needed(left_out, [] {
    const std::string by = proof::first_failure(logs(), kMemories);
    return by.empty() ? proof::first_failure(transactions(), kMemories) : by;
  });
}

}  // namespace
}  // namespace holdfast::log::model
