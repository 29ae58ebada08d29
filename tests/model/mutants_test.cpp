// mutants_test.cpp: leaves out one step of the protocol after another; the model must notice each. Rule 25.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "record.hpp"
#include "scenarios.hpp"

namespace holdfast::gphash::model {

namespace {

using gphash::Step;

struct Mutant {
  Step step;
  const char* name;
  const char* why_it_survives;  ///< null: it must be killed
  bool of_phases = false;       ///< only batches in phases have the step, or need it
};

#define MUTANT(step) \
  { Step::step, #step, nullptr }
#define SURVIVOR(step, why) \
  { Step::step, #step, why }
#define OF_PHASES(step) \
  { Step::step, #step, nullptr, true }
constexpr Mutant kMutants[] = {
    MUTANT(claim_key),
    MUTANT(fence_after_place),
    MUTANT(order_value_before_key),
    MUTANT(order_key_before_fingerprint),
    MUTANT(fence_after_commit),
    SURVIVOR(publish_after_commit,
             "a search that sees the tag early finds the key claimed, and makes durable what it saw"),
    MUTANT(fence_after_update),
    MUTANT(fence_after_erase),
    MUTANT(clear_word_before_key),
    MUTANT(raise_after_erase),
    MUTANT(fence_after_copy),
    MUTANT(publish_copy_before_clear),
    MUTANT(raise_before_move_clear),
    MUTANT(raise_after_move_clear),
    MUTANT(claim_moved_key),
    MUTANT(retry_held_move),
    MUTANT(fence_after_move_clear),
    MUTANT(look_again),
    MUTANT(published_only),
    MUTANT(reader_flush),
    MUTANT(flush_value),
    MUTANT(flush_slot),
    MUTANT(flush_wide_key),
    MUTANT(flush_group_values),
    MUTANT(fence_group_values),
    MUTANT(flush_group_slots),
    MUTANT(fence_group_slots),
    MUTANT(settle_before_search),
    MUTANT(settle_before_retry),
    MUTANT(retire_cell),
    MUTANT(clear_torn_slots),
    MUTANT(drop_second_copies),
    MUTANT(finish_resize),
    MUTANT(flush_rehash_copies),
    MUTANT(fence_after_rehash_copy),
    MUTANT(fence_superblock_copy),
    MUTANT(find_before_rehash),
    OF_PHASES(hide_word),
    OF_PHASES(fence_behind_fingerprints),
    OF_PHASES(commit_all_of_line),
    OF_PHASES(claim_in_phases),
    MUTANT(flush_directory),
    MUTANT(fence_directory),
    MUTANT(score_before_commit),
};
constexpr std::size_t kOfCaches = 9;  // the last steps: cache_map_test.cpp, bucket_map_test.cpp, key_directory_test.cpp
static_assert(std::size(kMutants) + kOfCaches == static_cast<std::size_t>(Step::count), "every step has its mutant");

/// Leaves a step out for a scope.
class LeavingOut {
 public:
  explicit LeavingOut(Step step) { left_out = step; }
  ~LeavingOut() { left_out = Step::count; }
  LeavingOut(const LeavingOut&) = delete;
  LeavingOut& operator=(const LeavingOut&) = delete;
};

/// Scenarios in the order in which a mutant is looked for.
using Suites = std::vector<std::vector<Scenario>>;

/// The first of them that fails without what is left out, or nothing.
std::string killer(const Suites& suites, const Bounds& bounds, std::uint64_t& states) {
  for (const std::vector<Scenario>& scenarios : suites) {
    for (const Scenario& scenario : scenarios) {
      const Verdict verdict = explore(scenario, bounds);
      states += verdict.counts.states;
      if (!verdict.failure.empty()) return scenario.name + " (" + name(scenario.flavour) + ")";
    }
  }
  return {};
}

/// One that fails, or nothing after all were gone through. The bounded run looks a little into each before it looks far into any.
std::string any_killer(const Suites& suites, std::uint64_t& states) {
  if (!long_run()) {
    for (const std::uint64_t few : {200, 2'000, 20'000}) {
      if (std::string by = killer(suites, {.states = few}, states); !by.empty()) return by;
    }
  }
  return killer(suites, {}, states);
}

/// The batches in phases, of those with `some` in their names.
Suites in_phases(const char* some = "") {
  Suites suites;
  for (const Flavour flavour : {Flavour::resident, Flavour::gpu}) {
    auto& scenarios = suites.emplace_back(schedules(flavour));
    std::erase_if(scenarios, [&](const Scenario& scenario) {
      return scenario.name.rfind("phases", 0) != 0 || scenario.name.find(some) == std::string::npos;
    });
  }
  return suites;
}

/// A scenario that fails without the mutant's step, or nothing.
std::string killer(const Mutant& mutant, std::uint64_t& states) {
  const LeavingOut without(mutant.step);
  if (mutant.of_phases) return any_killer(in_phases(), states);
  const Suites by_hand = {schedules(Flavour::power), schedules(Flavour::gpu)};
  const unsigned one_in = long_run() ? 24 : 96;
  const Suites others = {quadruples(Flavour::power, one_in), quadruples(Flavour::gpu, one_in)};
  // Where nothing is to be found, the bounded run does not look everywhere.
  const bool everywhere = mutant.why_it_survives == nullptr || long_run();
  const Bounds bounds = {.states = everywhere ? Bounds{}.states : 300};
  const std::string by = everywhere ? any_killer(by_hand, states) : killer(by_hand, bounds, states);
  return by.empty() ? killer(others, bounds, states) : by;
}

class Mutants : public testing::TestWithParam<Mutant> {};

TEST_P(Mutants, IsNoticed) {
  const Mutant& mutant = GetParam();
  std::uint64_t states = 0;
  const std::string by = killer(mutant, states);
  record_mutant(mutant.name, by, states, mutant.why_it_survives ? mutant.why_it_survives : "");
  if (mutant.why_it_survives == nullptr) {
    EXPECT_NE(by, "") << "nothing fails without " << mutant.name << ": write a schedule that does, or explain it";
  } else {
    EXPECT_EQ(by, "") << mutant.name << " is explained as a survivor, but is killed: say so";
  }
}

/// One key a call: what a batch needs, and the model notices it where every caller calls so.
TEST(MutantsOfOneKey, AreNoticed) {
  Suites suites = {schedules(Flavour::power), quadruples(Flavour::power, 96)};
  for (auto& scenarios : suites) {
    for (Scenario& scenario : scenarios) scenario.single = ~0u;
    std::erase_if(scenarios, [](const Scenario& scenario) {
      return std::any_of(scenario.callers.begin(), scenario.callers.end(), [](const auto& submissions) {
        return std::any_of(submissions.begin(), submissions.end(),
                           [](const Submission& one) { return one.operations.size() != 1 || one.as_run; });
      });
    });
  }
  for (const Step step :
       {Step::claim_key, Step::fence_after_place, Step::order_value_before_key, Step::fence_after_commit,
        Step::fence_after_update, Step::fence_after_erase, Step::raise_after_erase, Step::look_again,
        Step::published_only, Step::reader_flush, Step::retire_cell, Step::flush_directory, Step::claim_moved_key}) {
    const LeavingOut without(step);
    std::uint64_t states = 0;
    EXPECT_NE(any_killer(suites, states), "") << "nothing fails without step " << static_cast<int>(step);
  }
}

/// The phases have fences of their own, at other places than the steps one by one.
TEST(MutantsInPhases, AreNoticed) {
  for (const Step step : {Step::fence_after_place, Step::order_value_before_key, Step::fence_after_commit,
                          Step::raise_after_erase, Step::retire_cell}) {
    const LeavingOut without(step);
    std::uint64_t states = 0;
    EXPECT_NE(any_killer(in_phases(), states), "") << "nothing fails without step " << static_cast<int>(step);
  }
}

/// Those of pairs have a schedule of their own (structures/gphash/model/pair_phases.cpp). Two steps are redundant there: the fence of the pairs
/// comes between the directory and the slots, and a search that meets another item in an emptied slot sees its key, in the pair.
TEST(MutantsInPhases, OfPairsAreNoticed) {
  std::uint64_t states = 0;
  for (const Step step : {Step::fence_after_place, Step::fence_after_commit, Step::retire_cell, Step::hide_word}) {
    const LeavingOut without(step);
    EXPECT_NE(any_killer(in_phases("variable-length pairs"), states), "")
        << "nothing fails without step " << static_cast<int>(step);
  }
  for (const Step step : {Step::fence_directory, Step::raise_after_erase}) {
    const LeavingOut without(step);
    EXPECT_EQ(killer(in_phases("variable-length pairs"), {}, states), "") << "step " << static_cast<int>(step);
  }
}

/// Those of columns write whole values, of which a part was read: all of it needs what the value of a row needs.
TEST(MutantsInPhases, OfColumnsAreNoticed) {
  std::uint64_t states = 0;
  for (const Step step :
       {Step::fence_after_place, Step::order_value_before_key, Step::fence_after_commit, Step::retire_cell}) {
    const LeavingOut without(step);
    EXPECT_NE(any_killer(in_phases("of columns"), states), "")
        << "nothing fails without step " << static_cast<int>(step);
  }
}

/// An update of a column has the steps of any other, but needs them for more: what it keeps of the old value was read under the key's
/// claim, and the whole of the fresh cell must be durable, not the bytes that it gives alone.
TEST(MutantsInColumns, AreNoticed) {
  for (const Step step : {Step::claim_key, Step::flush_value, Step::fence_after_place, Step::fence_after_update,
                          Step::fence_after_erase, Step::retire_cell}) {
    const LeavingOut without(step);
    bool noticed = false;
    for (const Scenario& scenario : schedules(Flavour::power)) {
      if (noticed || scenario.name.rfind("columns", 0) != 0) continue;
      noticed = !explore(scenario).failure.empty();
    }
    EXPECT_TRUE(noticed) << "nothing fails without step " << static_cast<int>(step);
  }
}

INSTANTIATE_TEST_SUITE_P(All, Mutants, testing::ValuesIn(kMutants),
                         [](const auto& instance) { return std::string(instance.param.name); });

}  // namespace

}  // namespace holdfast::gphash::model
