// group_test.cpp: group hashing, the code that ships, in every order of its callers, crashed at each access, in growth and again in
// recovery; each of its steps left out; and its persists counted. Rules 24, 25.
#include <gtest/gtest.h>

#include "crash_counts.hpp"
#include "structures/group/model/explore.hpp"

namespace holdfast::group::model {
namespace {

constexpr proof::NamedFlavour<Flavour> kMemories[] = {{Flavour::process, "process"}, {Flavour::power, "power"}};

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
      {{"one caller, every operation",
        wide,
        {},
        {{insert(0, 1), insert(0, 2), assign(0, 3), find(0), erase(0), find(0)}}},
       1},
      {{"a cell used again", wide, {insert(0, 1)}, {{erase(0), insert(1, 2), find(0), erase(1), insert_new(0, 3)}}}, 1},
      {{"a full group",
        wide,
        {insert(0, 1), insert(1, 2)},
        {{insert(2, 3), insert(3, 4), find(3), erase(1), insert(3, 5)}}},
       1},
      {{"assigned in both levels", wide, {insert(0, 1), insert(1, 2)}, {{assign(1, 3), assign(0, 4), assign(1, 5)}}},
       1},
      {{"assigned in two words of level 2",
        wide,
        {insert(0, 1)},
        {{assign(0, 2), assign(0, 3), assign(0, 4), find(0)}}},
       1},
      {{"two insert one key", wide, {}, {{insert(0, 1)}, {insert(0, 2)}}}, 1},
      {{"two insert in one group", wide, {}, {{insert(0, 1)}, {insert(1, 2)}}}, 1},
      {{"two insert in two groups", wide, {}, {{insert(0, 1)}, {insert(5, 2)}}}, 2},
      {{"an insert and a search", wide, {}, {{insert(0, 1)}, {find(0), find(0)}}}, 1},
      {{"an assignment and a search", wide, {insert(0, 1)}, {{assign(0, 2)}, {find(0), find(0)}}}, 1},
      {{"an erase and a search", wide, {insert(0, 1)}, {{erase(0)}, {find(0), find(0)}}}, 1},
      {{"a cell used again and a search", wide, {insert(0, 1)}, {{erase(0), insert(1, 2)}, {find(0)}}}, 1},
      {{"assignments meet", wide, {insert(0, 1)}, {{assign(0, 2)}, {assign(0, 3)}}}, 1},
      {{"an erase and an assignment", wide, {insert(0, 1)}, {{erase(0)}, {assign(0, 3)}}}, 1},
      {{"growth", wide, {insert(0, 1), insert(1, 2), insert(4, 3)}, {{kGrow, insert(2, 4), erase(0), find(1)}}}, 1},
      {{"growth of two groups", wide, {insert(0, 1), insert(5, 2)}, {{erase(0), kGrow, find(5), insert(0, 3)}}}, 2},
  };
  return all;
}

TEST(GroupModel, EveryOrderAndEveryCrashIsRight) {
  proof::expect_counts(scenarios(false), kMemories[0], {1124, 2761, 488, 488, 0}, "16 bytes, ");
  proof::expect_counts(scenarios(false), kMemories[1], {1124, 2761, 926, 926, 0}, "16 bytes, ");
  proof::expect_counts(scenarios(true), kMemories[0], {1742, 3961, 712, 722, 10}, "32 bytes, ");
  proof::expect_counts(scenarios(true), kMemories[1], {1742, 3961, 7704, 7714, 10}, "32 bytes, ");
}

TEST(GroupModel, EveryStepIsNeeded) {
  proof::expect_steps_needed(left_out, [] {
    const std::string by = proof::first_failure(scenarios(false), kMemories);
    return by.empty() ? proof::first_failure(scenarios(true), kMemories) : by;
  });
}

TEST(GroupModel, PersistsAreCounted) {
  const auto is = [](const Scenario& scenario, const Operation& operation, std::uint64_t persists) {
    const Persists found = persists_of(scenario, operation);
    EXPECT_EQ(found.fences, persists) << scenario.name;
    EXPECT_EQ(found.flushes, persists) << scenario.name;
  };
  for (const bool wide : {false, true}) {
    const Scenario empty{{"an insert", wide, {}, {}}};
    const Scenario one{{"one item", wide, {insert(0, 1)}, {}}};
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
