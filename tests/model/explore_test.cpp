// explore_test.cpp: the protocol survives every schedule and every crash, within the bounds of rule 24.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string_view>

#include "record.hpp"
#include "scenarios.hpp"

namespace holdfast::gphash::model {

namespace {

// Of the bounded run; `make proof` goes through all.
constexpr std::uint64_t kStatesAtOnce = 4'000;
constexpr unsigned kOneIn = 96;
constexpr unsigned kOneInOfResident = 24;  // of the long run: its slots alone are others than those of gpu

class Explore : public testing::TestWithParam<Flavour> {
 protected:
  /// Explores each scenario to its end and compares how much that was with what is committed.
  void run(const std::string& suite, const std::vector<Scenario>& scenarios, const Bounds& bounds) {
    ExploreCounts total;
    for (const Scenario& scenario : scenarios) {
      const Verdict verdict = explore(scenario, bounds);
      total += verdict.counts;
      ASSERT_EQ(verdict.failure, "");
      ASSERT_TRUE(verdict.complete || bounds.states != Bounds{}.states) << scenario.name;
    }
    record(suite, name(GetParam()), total);
  }
  static Bounds all() { return {.thorough = long_run()}; }
};

TEST_P(Explore, Pairs) { run("pairs", pairs(GetParam()), all()); }
TEST_P(Explore, Quadruples) {
  const unsigned one_in = !long_run() ? kOneIn : GetParam() == Flavour::resident ? kOneInOfResident : 1;
  run("quadruples", quadruples(GetParam(), one_in), all());
}
TEST_P(Explore, Schedules) {
  Bounds bounds = all();
  if (!long_run()) bounds.states = kStatesAtOnce;  // few scenarios have more, and those have most of the time
  run("schedules", schedules(GetParam()), bounds);
}

/// One key a call (gphash/cpu/one_key.hpp): the durable accesses of a batch, and fewer volatile ones.
class ExploreOneKey : public Explore {
 protected:
  static std::vector<Scenario> with(std::vector<Scenario> scenarios, unsigned single) {
    for (Scenario& scenario : scenarios) scenario.single = single;
    return scenarios;
  }
  static constexpr unsigned kAll = ~0u, kFirst = 1;
};
TEST_P(ExploreOneKey, Pairs) { run("pairs_of_one_key", with(pairs(GetParam()), kAll), all()); }
TEST_P(ExploreOneKey, BesideBatches) {
  for (const auto& scenarios : {with(quadruples(GetParam(), kOneIn), kFirst), with(schedules(GetParam()), kFirst),
                                with(schedules(GetParam()), kAll)}) {
    for (const Scenario& scenario : scenarios) ASSERT_EQ(explore(scenario, {.states = kStatesAtOnce}).failure, "");
  }
}
INSTANTIATE_TEST_SUITE_P(All, ExploreOneKey, testing::Values(Flavour::process, Flavour::power),
                         [](const auto& instance) { return std::string(name(instance.param)); });

INSTANTIATE_TEST_SUITE_P(All, Explore,
                         testing::Values(Flavour::process, Flavour::power, Flavour::gpu, Flavour::resident),
                         [](const auto& instance) { return std::string(name(instance.param)); });

}  // namespace

}  // namespace holdfast::gphash::model
