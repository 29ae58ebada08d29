// oracle_test.cpp: what may be in a pool after a kill: the values of acknowledged calls, and those of calls that were not.
#include "proof/kill/oracle.hpp"

#include <gtest/gtest.h>

namespace holdfast::proof::kill {
namespace {

TEST(KillOracle, TakesTheOldValueOrThatOfAnUnacknowledgedCall) {
  PossibleValues<int> values(3, 7);
  values.may_become(0, 8);
  values.may_become(0, 9);
  values.may_become(1, 8);
  EXPECT_TRUE(values.found(0, 9));
  EXPECT_TRUE(values.found(1, 7));
  EXPECT_TRUE(values.found(2, 7));
  EXPECT_EQ(values.kept(), 1u);
  EXPECT_EQ(values.lost(), 1u);
  EXPECT_EQ(values[0], 9) << "what was found is there from then on";
  values.settle();
  EXPECT_FALSE(values.found(0, 8)) << "no call is unacknowledged any more";
  EXPECT_FALSE(values.found(2, 8));
}

TEST(KillOracle, AnUnacknowledgedValueThatIsTheOldOneIsNeitherKeptNorLost) {
  PossibleValues<int> values(1, 7);
  values.may_become(0, 7);
  EXPECT_TRUE(values.found(0, 7));
  EXPECT_EQ(values.kept() + values.lost(), 0u);
}

TEST(KillOracle, CallsThatWriteAllPlacesLeaveTheLastOrTheOneThatRan) {
  const auto after = [](std::uint64_t call, std::size_t place) { return 100 * call + place; };
  PossibleValues<std::uint64_t> values(2);
  note_calls(values, 0, 1, after);
  EXPECT_TRUE(values.found(0, 0));
  EXPECT_TRUE(values.found(1, 101));
  note_calls(values, 2, 2, after);
  EXPECT_FALSE(values.found(0, 0));
  EXPECT_TRUE(values.found(1, 201));
}

TEST(KillOracle, GivesTheFirstFaultsOnce) {
  Findings findings;
  findings.expect(true, "holds");
  EXPECT_TRUE(findings.take().empty());
  for (int i = 0; i < 30; ++i) findings.expect(false, "fault " + std::to_string(i));
  const std::vector<std::string> wrong = findings.take();
  ASSERT_EQ(wrong.size(), 20u);
  EXPECT_EQ(wrong.front(), "fault 0");
  EXPECT_TRUE(findings.take().empty());
}

TEST(KillOracle, ReportsTheCheckAndDamagedObjects) {
  Findings findings;
  PoolInfo info;
  info.objects.resize(2);
  findings.expect_sound("", info);
  EXPECT_TRUE(findings.take().empty());
  info.objects[1].damage = "its page is torn";
  findings.expect_sound("a slot is wrong", info);
  EXPECT_EQ(findings.take(),
            (std::vector<std::string>{"the check found a slot is wrong", "inspection found its page is torn"}));
}

}  // namespace
}  // namespace holdfast::proof::kill
