// group_test.cpp: group hashing, the code that ships, in every order of its callers, crashed at each access, in growth and again in
// recovery; each of its steps left out; and its persists counted. Rules 24, 25.
#include <gtest/gtest.h>

#include <iostream>

#include "structures/group/model/explore.hpp"

namespace holdfast::group::model {
namespace {

constexpr Flavour kFlavours[] = {Flavour::process, Flavour::power};
constexpr const char* kNames[] = {"process", "power"};

Operation insert(unsigned key, unsigned value) {
  return {Do::insert, static_cast<std::uint8_t>(key), static_cast<std::uint8_t>(value)};
}
Operation insert_new(unsigned key, unsigned value) {
  return {Do::insert_new, static_cast<std::uint8_t>(key), static_cast<std::uint8_t>(value)};
}
Operation assign(unsigned key, unsigned value) {
  return {Do::assign, static_cast<std::uint8_t>(key), static_cast<std::uint8_t>(value)};
}
Operation find(unsigned key) { return {Do::find, static_cast<std::uint8_t>(key)}; }
Operation erase(unsigned key) { return {Do::erase, static_cast<std::uint8_t>(key)}; }
constexpr Operation kGrow = {Do::grow};

/// Those of one item size.
std::vector<Scenario> scenarios(bool wide) {
  std::vector<Scenario> all = {
      {"one caller, every operation",
       wide,
       1,
       2,
       {},
       {{insert(0, 1), insert(0, 2), assign(0, 3), find(0), erase(0), find(0)}}},
      {"a cell used again",
       wide,
       1,
       2,
       {insert(0, 1)},
       {{erase(0), insert(1, 2), find(0), erase(1), insert_new(0, 3)}}},
      {"a full group",
       wide,
       1,
       2,
       {insert(0, 1), insert(1, 2)},
       {{insert(2, 3), insert(3, 4), find(3), erase(1), insert(3, 5)}}},
      {"assigned in both levels",
       wide,
       1,
       2,
       {insert(0, 1), insert(1, 2)},
       {{assign(1, 3), assign(0, 4), assign(1, 5)}}},
      {"assigned in two words of level 2",
       wide,
       1,
       2,
       {insert(0, 1)},
       {{assign(0, 2), assign(0, 3), assign(0, 4), find(0)}}},
      {"two insert one key", wide, 1, 2, {}, {{insert(0, 1)}, {insert(0, 2)}}},
      {"two insert in one group", wide, 1, 2, {}, {{insert(0, 1)}, {insert(1, 2)}}},
      {"two insert in two groups", wide, 2, 2, {}, {{insert(0, 1)}, {insert(5, 2)}}},
      {"an insert and a search", wide, 1, 2, {}, {{insert(0, 1)}, {find(0), find(0)}}},
      {"an assignment and a search", wide, 1, 2, {insert(0, 1)}, {{assign(0, 2)}, {find(0), find(0)}}},
      {"an erase and a search", wide, 1, 2, {insert(0, 1)}, {{erase(0)}, {find(0), find(0)}}},
      {"a cell used again and a search", wide, 1, 2, {insert(0, 1)}, {{erase(0), insert(1, 2)}, {find(0)}}},
      {"assignments meet", wide, 1, 2, {insert(0, 1)}, {{assign(0, 2)}, {assign(0, 3)}}},
      {"an erase and an assignment", wide, 1, 2, {insert(0, 1)}, {{erase(0)}, {assign(0, 3)}}},
      {"growth", wide, 1, 2, {insert(0, 1), insert(1, 2), insert(4, 3)}, {{kGrow, insert(2, 4), erase(0), find(1)}}},
      {"growth of two groups", wide, 2, 2, {insert(0, 1), insert(5, 2)}, {{erase(0), kGrow, find(5), insert(0, 3)}}},
  };
  return all;
}

/// Exactly: a count that falls says that a proof has become weaker.
struct Known {
  std::uint64_t executions, states, images, recoveries, crashed_in_recovery;
};

Counts explore_all(bool wide, Flavour flavour) {
  Counts all;
  for (const Scenario& scenario : scenarios(wide)) {
    const Verdict verdict = explore(scenario, flavour);
    EXPECT_EQ(verdict.failure, "") << scenario.name << (wide ? ", 32 bytes, " : ", 16 bytes, ")
                                   << kNames[static_cast<unsigned>(flavour)];
    all.executions += verdict.counts.executions;
    all.states += verdict.counts.states;
    all.images += verdict.counts.images;
    all.recoveries += verdict.counts.recoveries;
    all.crashed_in_recovery += verdict.counts.crashed_in_recovery;
  }
  return all;
}

TEST(GroupModel, EveryOrderAndEveryCrashIsRight) {
  constexpr Known kKnown[2][2] = {{{1124, 2761, 488, 488, 0}, {1124, 2761, 926, 926, 0}},
                                  {{1742, 3961, 712, 722, 10}, {1742, 3961, 7704, 7714, 10}}};
  for (const bool wide : {false, true}) {
    for (unsigned f = 0; f < 2; ++f) {
      const Counts all = explore_all(wide, kFlavours[f]);
      const Known& known = kKnown[wide][f];
      std::cout << (wide ? "32 bytes, " : "16 bytes, ") << kNames[f] << ": {" << all.executions << ", " << all.states
                << ", " << all.images << ", " << all.recoveries << ", " << all.crashed_in_recovery << "}\n";
      EXPECT_EQ(all.executions, known.executions);
      EXPECT_EQ(all.states, known.states);
      EXPECT_EQ(all.images, known.images);
      EXPECT_EQ(all.recoveries, known.recoveries);
      EXPECT_EQ(all.crashed_in_recovery, known.crashed_in_recovery);
    }
  }
}

/// Who notices that a step is left out.
std::string noticed(Step step) {
  left_out = step;
  std::string by;
  for (const bool wide : {false, true}) {
    for (const Scenario& scenario : scenarios(wide)) {
      for (unsigned f = 0; f < 2 && by.empty(); ++f) {
        const Verdict verdict = explore(scenario, kFlavours[f]);
        if (!verdict.failure.empty())
          by = scenario.name + (wide ? ", 32 bytes, " : ", 16 bytes, ") + kNames[f] + ": " + verdict.failure;
      }
    }
  }
  left_out = Step::count;
  return by;
}

TEST(GroupModel, EveryStepIsNeeded) {
  for (unsigned step = 0; step < static_cast<unsigned>(Step::count); ++step) {
    const std::string by = noticed(static_cast<Step>(step));
    EXPECT_NE(by, "") << "nothing fails without step " << step;
    std::cout << step << ": " << by << "\n";
  }
}

TEST(GroupModel, PersistsAreCounted) {
  const auto is = [](const Scenario& scenario, const Operation& operation, std::uint64_t persists) {
    const Persists found = persists_of(scenario, operation);
    EXPECT_EQ(found.fences, persists) << scenario.name;
    EXPECT_EQ(found.flushes, persists) << scenario.name;
  };
  for (const bool wide : {false, true}) {
    const Scenario empty{"an insert", wide, 1, 2, {}, {}};
    const Scenario one{"one item", wide, 1, 2, {insert(0, 1)}, {}};
    is(empty, insert(0, 1), 2);
    is(empty, insert_new(0, 1), 2);
    is(one, insert(1, 1), 2);  // in level 2
    is(one, insert(0, 2), 0);  // it exists
    is(one, erase(0), 1);
    is(one, find(0), 0);
    is(one, assign(0, 2), wide ? 3 : 1);  // the second cell is in level 2, another word
  }
}

}  // namespace
}  // namespace holdfast::group::model
