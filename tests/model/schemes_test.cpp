// schemes_test.cpp: linear probing, PFHT and path hashing, the code that ships. With a log: every order of callers, crashed at each access,
// in growth and again in recovery; each step left out; persists counted. Without: what they lose. Rules 24, 25.
#include <gtest/gtest.h>

#include "crash_counts.hpp"
#include "structures/cells/model/explore.hpp"

namespace holdfast::cells::model {
namespace {

using structures::model::operation;

constexpr proof::NamedFlavour<Flavour> kMemories[] = {{Flavour::process, "process"}, {Flavour::power, "power"}};
constexpr const char* kNames[] = {"linear probing, ", "PFHT, ", "path hashing, "};

Operation insert(unsigned key, unsigned value) { return operation(Do::insert, key, value); }
Operation assign(unsigned key, unsigned value) { return operation(Do::assign, key, value); }
Operation find(unsigned key) { return operation(Do::find, key); }
Operation erase(unsigned key) { return operation(Do::erase, key); }
constexpr Operation kGrow = {Do::grow}, kClear = {Do::clear};

/// Those of one scheme with a log and one item size.
std::vector<Scenario> scenarios(Scheme scheme, bool wide) {
  const std::vector<structures::model::Script> all = {
      {"one caller, every operation",
       wide,
       {},
       {{insert(0, 1), insert(0, 2), assign(0, 3), find(0), erase(0), find(0)}}},
      {"the key 0", wide, {insert(0, 1)}, {{insert(5, 2), assign(5, 3), insert(5, 4), find(5), erase(5)}}},
      {"colliding keys", wide, {insert(0, 1)}, {{insert(1, 2), insert(2, 3), insert(3, 4), find(2)}}},
      {"an erase that may move items",
       wide,
       {insert(0, 1), insert(1, 2), insert(2, 3), insert(3, 4), insert(5, 5)},
       {{erase(0), find(3), find(2), insert(0, 6)}}},
      {"an erase of a later item",
       wide,
       {insert(0, 1), insert(1, 2), insert(2, 3), insert(3, 4), insert(4, 5)},
       {{erase(3), find(4), erase(2), find(4)}}},
      {"a clear", wide, {insert(0, 1), insert(1, 2), insert(5, 3)}, {{kClear, find(1), insert(1, 4)}}},
      {"growth",
       wide,
       {insert(0, 1), insert(1, 2), insert(2, 3), insert(5, 4)},
       {{kGrow, insert(3, 4), erase(0), find(1)}}},
      {"two insert one key", wide, {}, {{insert(0, 1)}, {insert(0, 2)}}},
      {"two insert two keys", wide, {insert(0, 1)}, {{insert(1, 2)}, {insert(2, 3)}}},
      {"an insert and a search", wide, {}, {{insert(0, 1)}, {find(0), find(0)}}},
      {"an insert that displaces, and a search", wide, {insert(0, 1), insert(1, 2)}, {{insert(2, 3)}, {find(1)}}},
      {"an assignment and a search", wide, {insert(0, 1)}, {{assign(0, 2)}, {find(0), find(0)}}},
      {"an erase that moves, and a search", wide, {insert(0, 1), insert(1, 2)}, {{erase(0)}, {find(1), find(0)}}},
  };
  std::vector<Scenario> some;
  for (const auto& script : all) some.push_back({script, scheme, true});
  return some;
}

class SchemeModel : public testing::TestWithParam<Scheme> {
 protected:
  static std::string about(bool wide) {
    return std::string(kNames[static_cast<unsigned>(GetParam())]) + (wide ? "32 bytes, " : "16 bytes, ");
  }
};

TEST_P(SchemeModel, EveryOrderAndEveryCrashIsRight) {
  constexpr proof::CrashCounts kKnown[3][2][2] = {{{{1116, 3121, 504, 754, 250}, {1116, 3121, 713, 1007, 294}},
                                                   {{4916, 9814, 630, 1250, 620}, {4916, 9814, 1504, 2515, 1011}}},
                                                  {{{882, 2493, 535, 694, 159}, {882, 2493, 748, 914, 166}},
                                                   {{1890, 4501, 698, 1162, 464}, {1890, 4501, 1707, 2850, 1143}}},
                                                  {{{970, 2550, 498, 624, 126}, {970, 2550, 710, 844, 134}},
                                                   {{1767, 4161, 621, 988, 367}, {1767, 4161, 1501, 1892, 391}}}};
  for (const bool wide : {false, true}) {
    for (unsigned memory = 0; memory < 2; ++memory) {
      proof::expect_counts(scenarios(GetParam(), wide), kMemories[memory],
                           kKnown[static_cast<unsigned>(GetParam())][wide][memory], about(wide));
    }
  }
}

/// Each step, in one scheme or another: only linear probing and a stash move items in an erase.
TEST(SchemesModel, EveryStepIsNeeded) {
  proof::expect_steps_needed(left_out, [] {
    std::string by;
    for (const Scheme scheme : kSchemes) {
      for (const bool wide : {false, true}) {
        if (by.empty()) by = proof::first_failure(scenarios(scheme, wide), kMemories);
        if (!by.empty()) return kNames[static_cast<unsigned>(scheme)] + by;
      }
    }
    return by;
  });
}

TEST_P(SchemeModel, ChangesTakeThreePersistsWithALog) {
  const auto is = [&](bool wide, const std::vector<Operation>& before, const Operation& operation, unsigned fences,
                      unsigned flushes) {
    const Scenario scenario{{"", wide, before, {}}, GetParam(), true};
    const Persists found = persists_of(scenario, operation);
    EXPECT_EQ(found.fences, fences) << about(wide);
    EXPECT_EQ(found.flushes, flushes) << about(wide);
  };
  for (const bool wide : {false, true}) {
    is(wide, {}, insert(0, 1), 3, 3);
    is(wide, {}, operation(Do::insert_new, 0, 1), 3, 3);
    is(wide, {}, insert(5, 1), 3, 3);
    is(wide, {insert(0, 1)}, insert(0, 2), 0, 0);
    is(wide, {insert(0, 1)}, find(0), 0, 0);
    is(wide, {insert(0, 1)}, erase(0), 3, 3);
    is(wide, {insert(0, 1)}, assign(0, 2), 3, 3);
    const std::vector<Operation> three = {insert(0, 1), insert(1, 2), insert(3, 3)};
    if (GetParam() == Scheme::linear) {
      // Cell 7 is emptied; key 1 moves there from cell 0, and key 3 from cell 1 to cell 0, which are in one line.
      is(wide, three, erase(0), 9, 10);
    } else {
      is(wide, three, erase(0), 3, 3);
    }
    if (GetParam() == Scheme::pfht) is(wide, {insert(0, 1), insert(1, 2)}, insert(2, 3), 3, wide ? 4 : 3);
  }
}

/// Figure 1 of the paper: an insert that a crash interrupts.
class FigureOne : public testing::TestWithParam<Scheme> {
 protected:
  static InsertLosses losses(bool wide, bool logged) {
    return insert_losses({{"", wide, {insert(1, 2)}, {}}, GetParam(), logged});
  }
};

TEST_P(FigureOne, Case1TheItemIsThereAndIsNotCounted) {
  for (const bool wide : {false, true}) {
    EXPECT_GT(losses(wide, false).item_without_count, 0u);
    EXPECT_EQ(losses(wide, true).item_without_count, 0u);
  }
}
TEST_P(FigureOne, Case2TheItemIsCountedAndIsNotThere) {
  for (const bool wide : {false, true}) {
    EXPECT_GT(losses(wide, false).count_without_item, 0u);
    EXPECT_EQ(losses(wide, true).count_without_item, 0u);
  }
}
TEST_P(FigureOne, Case3APartOfTheItemIsThere) {
  for (const bool wide : {false, true}) {
    EXPECT_GT(losses(wide, false).torn_item, 0u);
    EXPECT_EQ(losses(wide, true).torn_item, 0u);
    EXPECT_GT(losses(wide, true).images, 10u);
  }
}

/// And an erase of linear probing loses an item that was acknowledged long ago.
TEST_P(FigureOne, AnyChangeWithoutALogMayLoseItems) {
  for (const Scenario& scenario : scenarios(GetParam(), true)) {
    if (scenario.callers.size() != 1) continue;
    Scenario plain = scenario;
    plain.logged = false;
    EXPECT_NE(explore(plain, Flavour::power).failure, "") << plain.name;
  }
}

const auto kSchemeName = [](const auto& info) {
  return std::string(info.param == Scheme::linear ? "linear" : info.param == Scheme::pfht ? "pfht" : "path");
};
INSTANTIATE_TEST_SUITE_P(All, SchemeModel, testing::ValuesIn(kSchemes), kSchemeName);
INSTANTIATE_TEST_SUITE_P(All, FigureOne, testing::ValuesIn(kSchemes), kSchemeName);

}  // namespace
}  // namespace holdfast::cells::model
