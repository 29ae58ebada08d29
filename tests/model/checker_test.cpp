// checker_test.cpp: the model's own parts, on histories and stores whose answers are known.
#include <gtest/gtest.h>

#include <set>

#include "scenarios.hpp"
#include "structures/gphash/model/oracle.hpp"
#include "structures/gphash/model/world.hpp"

namespace holdfast::gphash::model {

namespace {

Operation answered(Operation operation, Status status, State read = kAbsent) {
  operation.invoked = operation.answered = true;
  operation.status = status;
  operation.read = read;
  return operation;
}

Operation running(Operation operation) {
  operation.invoked = true;
  return operation;
}

History history(State before, std::vector<Operation> operations) {
  return {{1}, {before}, std::move(operations), false};
}

using States = std::vector<State>;

TEST(Oracle, AnAnsweredChangeStaysAndARunningOneMay) {
  EXPECT_EQ(history(kAbsent, {answered(insert(1, 5), Status::inserted)}).allowed(0), States{5});
  EXPECT_EQ(history(kAbsent, {running(insert(1, 5))}).allowed(0), (States{5, kAbsent}));
  EXPECT_EQ(history(3, {running(erase(1))}).allowed(0), (States{3, kAbsent}));
}

TEST(Oracle, ARunningChangeThatWasReadStays) {
  Operation writer = running(assign(1, 7));
  Operation reader = answered(find(1), Status::found, 7);
  reader.caller = 1;
  EXPECT_EQ(history(3, {writer, reader}).allowed(0), States{7});
}

TEST(Oracle, RefusesAnswersThatNoOrderGives) {
  Operation first = answered(insert(1, 5), Status::inserted);
  Operation second = answered(insert(1, 6), Status::inserted);
  second.caller = 1;
  EXPECT_TRUE(history(kAbsent, {first, second}).allowed(0).empty());
  // A search that began after the insert was answered must find it.
  Operation late = answered(find(1), Status::not_found);
  late.caller = 1;
  EXPECT_EQ(history(kAbsent, {first, late}).allowed(0), States{5});
  late.earlier = 1;
  EXPECT_TRUE(history(kAbsent, {first, late}).allowed(0).empty());
  EXPECT_TRUE(history(3, {answered(find(1), Status::found, 4)}).allowed(0).empty());
}

TEST(Oracle, KeepsACallersOrder) {
  // The second change of a batch is there only with the first.
  const History both = history(kAbsent, {running(insert(1, 2)), running(accumulate(1, 4))});
  EXPECT_EQ(both.allowed(0), (States{2, 6, kAbsent}));
}

TEST(Oracle, NoSpaceIsAnAnswerOnlyWhereThereCanBeNone) {
  History full = history(kAbsent, {answered(insert(1, 2), Status::no_space)});
  EXPECT_TRUE(full.allowed(0).empty());
  full.may_be_full = true;
  EXPECT_EQ(full.allowed(0), States{kAbsent});
}

/// The images of a pool of two slots and one cell of two words, as their words.
std::set<Image> images(const proof::Arena& durable) {
  std::set<Image> found;
  EXPECT_TRUE(durable.images([&](const Image& image, std::uint64_t) { found.insert(image); }));
  return found;
}

Regions small() {
  Regions regions;
  regions.words = 6;
  regions.heap_begin = 4;
  regions.cell_words = 2;
  return regions;
}

proof::Arena arena(Flavour flavour) { return {stores_of(flavour), plan_of(small(), flavour)}; }

TEST(Durable, ALineKeepsAnyPrefixOnACpu) {
  proof::Arena durable = arena(Flavour::power);
  durable.store(0, durable.words(), 7);
  durable.store(0, durable.words() + 1, 1);
  EXPECT_EQ(images(durable), (std::set<Image>{{0, 0, 0, 0, 0, 0}, {7, 0, 0, 0, 0, 0}, {7, 1, 0, 0, 0, 0}}));
}

TEST(Durable, AnyWordMayBeMissingOnAGpu) {
  proof::Arena durable = arena(Flavour::gpu);
  durable.store(0, durable.words(), 7);
  durable.store(0, durable.words() + 1, 1);
  EXPECT_EQ(images(durable),
            (std::set<Image>{{0, 0, 0, 0, 0, 0}, {7, 0, 0, 0, 0, 0}, {0, 1, 0, 0, 0, 0}, {7, 1, 0, 0, 0, 0}}));
}

TEST(Durable, OnlyAFenceAfterAFlushOfItsOwnSettles) {
  proof::Arena durable = arena(Flavour::power);
  durable.store(0, durable.words(), 7);
  durable.fence(0);
  EXPECT_EQ(images(durable).size(), 2u);  // not flushed
  durable.flush(0, durable.words(), 8);
  durable.fence(1);
  EXPECT_EQ(images(durable).size(), 2u);  // another's fence
  durable.store(0, durable.words(), 8);
  durable.fence(0);
  EXPECT_EQ(images(durable), (std::set<Image>{{7, 0, 0, 0, 0, 0}, {8, 0, 0, 0, 0, 0}}));  // the flush came before 8
}

TEST(Durable, CellsMatterOnlyWhereASlotNamesThem) {
  proof::Arena durable = arena(Flavour::power);
  durable.store(0, durable.words() + 4, 9);
  EXPECT_EQ(images(durable), (std::set<Image>{{0, 0, 0, 0, 0, 0}}));
  durable.store(0, durable.words(), 7);
  durable.store(0, durable.words() + 1, 1);
  EXPECT_TRUE(images(durable).contains({7, 1, 0, 0, 0, 0}));
  EXPECT_TRUE(images(durable).contains({7, 1, 0, 0, 9, 0}));
  EXPECT_FALSE(images(durable).contains({7, 0, 0, 0, 9, 0}));
}

TEST(Durable, EveryStoreSurvivesAProcess) {
  proof::Arena durable = arena(Flavour::process);
  durable.store(0, durable.words() + 2, 7);
  EXPECT_EQ(images(durable), (std::set<Image>{{0, 0, 7, 0, 0, 0}}));
}

TEST(Explorer, SaysWhatWentWrongInAPlantedProtocol) {
  // Without claims two inserts of one key both say `inserted`.
  Scenario scenario;
  scenario.name = "two inserts";
  scenario.shape = two_levels({kInSlots});
  scenario.callers = {{Submission{{insert(5, 1)}, false}}, {Submission{{insert(5, 2)}, false}}};
  EXPECT_EQ(explore(scenario).failure, "");
  left_out = gphash::Step::claim_key;
  const std::string failure = explore(scenario).failure;
  left_out = gphash::Step::count;
  EXPECT_NE(failure.find("key 5"), std::string::npos) << failure;
  EXPECT_NE(failure.find("caller 1: insert(5, 2) inserted"), std::string::npos) << failure;
}

TEST(Explorer, TriesEverySchedule) {
  // A slot that is claimed, and two callers with n accesses each that meet in no word: every order leads to one end.
  Scenario scenario;
  scenario.name = "two searches of an empty table";
  scenario.shape = two_levels({kInSlots});
  scenario.callers = {{Submission{{find(5)}, false}}, {Submission{{find(5)}, false}}};
  const Verdict verdict = explore(scenario);
  EXPECT_EQ(verdict.failure, "");
  // A search of an empty table makes six accesses: the stripe, four words of tags, and the stripe again. Each caller can be
  // at any of its 7 places: 49 states, and 6 for each that begins after the other has answered.
  EXPECT_EQ(verdict.counts.states, 61u);
}

}  // namespace

}  // namespace holdfast::gphash::model
