// checker_test.cpp: the linearizability checker accepts good histories and catches planted bad ones.
#include "checker.hpp"

#include <gtest/gtest.h>

namespace holdfast::test::linear {
namespace {

Operation make(Op op, std::uint64_t given, std::uint64_t begun, std::uint64_t ended, Status status, State out = {}) {
  Operation operation;
  operation.op = op;
  operation.given = given;
  operation.begun = begun;
  operation.ended = ended;
  operation.status = status;
  operation.found =
      status == Status::exists || status == Status::updated || status == Status::erased || status == Status::found;
  operation.out = out;
  return operation;
}

Operation insert(std::uint64_t value, std::uint64_t begun, std::uint64_t ended, Status status = Status::inserted) {
  return make(Op::insert, value, begun, ended, status);
}
Operation put(std::uint64_t value, std::uint64_t begun, std::uint64_t ended, Status status = Status::updated) {
  return make(Op::insert_or_assign, value, begun, ended, status);
}
Operation erase(std::uint64_t begun, std::uint64_t ended, Status status = Status::erased) {
  return make(Op::erase, 0, begun, ended, status);
}
Operation read(State value, std::uint64_t begun, std::uint64_t ended) {
  return make(Op::find, 0, begun, ended, value ? Status::found : Status::not_found, value);
}
Operation add(std::uint64_t value, std::uint64_t begun, std::uint64_t ended, Status status = Status::updated) {
  return make(Op::accumulate, value, begun, ended, status);
}

TEST(GoodHistory, Sequential) {
  EXPECT_TRUE(is_linearizable({{read({}, 1, 2), insert(7, 3, 4), read(7, 5, 6), put(8, 7, 8), read(8, 9, 10),
                                insert(9, 11, 12, Status::exists), erase(13, 14), read({}, 15, 16)}}));
}

TEST(GoodHistory, ReadDuringAChangeSeesEither) {
  EXPECT_TRUE(is_linearizable({{insert(1, 1, 2), put(2, 3, 8), read(1, 4, 5), read(2, 6, 7)}}));
  EXPECT_TRUE(is_linearizable({{insert(1, 1, 2), put(2, 3, 8), read(1, 4, 7), read(1, 5, 6)}}));
}

TEST(GoodHistory, ConcurrentInsertsOneWins) {
  EXPECT_TRUE(is_linearizable({{insert(1, 1, 4), insert(2, 2, 3, Status::exists), read(1, 5, 6)}}));
}

TEST(GoodHistory, AdditionsCommute) {
  EXPECT_TRUE(is_linearizable({{insert(1, 1, 2), add(10, 3, 6), add(100, 4, 5), read(111, 7, 8)}}));
}

TEST(GoodHistory, PendingChangeMayHappenOrNot) {
  for (const std::uint64_t left : {1, 2}) {
    EXPECT_TRUE(is_linearizable({{insert(1, 1, 2), put(2, 3, kPending)}, {read(left, 1, 2)}}));
  }
  EXPECT_TRUE(is_linearizable({{insert(1, 1, 2), erase(3, kPending)}, {read({}, 1, 2)}}));
}

TEST(GoodHistory, PendingBatchMayStopAnywhereInArrayOrder) {
  for (const std::uint64_t left : {1, 2, 3}) {
    Operation second = put(3, 3, kPending);
    second.after = 1;
    EXPECT_TRUE(is_linearizable({{insert(1, 1, 2), put(2, 3, kPending), second}, {read(left, 1, 2)}}));
  }
}

TEST(GoodHistory, RepeatsInOneBatchInArrayOrder) {
  Operation first = put(1, 1, 2, Status::inserted), second = put(2, 1, 2);
  second.after = 0;
  EXPECT_TRUE(is_linearizable({{first, second, read(2, 3, 4)}}));
  EXPECT_FALSE(is_linearizable({{first, second, read(1, 3, 4)}}));
}

TEST(BadHistory, LostUpdate) {
  EXPECT_FALSE(is_linearizable({{insert(1, 1, 2), add(10, 3, 6), add(100, 4, 5), read(101, 7, 8)}}));
  EXPECT_FALSE(is_linearizable({{insert(1, 1, 2), put(2, 3, 4), read(1, 5, 6)}}));
}

TEST(BadHistory, StaleReadAfterANewOne) {
  EXPECT_FALSE(is_linearizable({{insert(1, 1, 2), put(2, 3, 9), read(2, 4, 5), read(1, 6, 7)}}));
}

TEST(BadHistory, ValueFromNowhere) {
  EXPECT_FALSE(is_linearizable({{insert(1, 1, 2), read(5, 3, 4)}}));
  EXPECT_FALSE(is_linearizable({{insert(1, 1, 4), insert(2, 2, 3, Status::exists), read(2, 5, 6)}}));
}

TEST(BadHistory, ReadFromTheFuture) { EXPECT_FALSE(is_linearizable({{read(1, 1, 2), insert(1, 3, 4)}})); }

TEST(BadHistory, KeyMissedWhileItIsThere) {
  EXPECT_FALSE(is_linearizable({{insert(1, 1, 2), put(2, 3, 8), read({}, 4, 5)}}));
}

TEST(BadHistory, DuplicateInsertAcknowledged) { EXPECT_FALSE(is_linearizable({{insert(1, 1, 4), insert(2, 2, 3)}})); }

TEST(BadHistory, DoubleErase) { EXPECT_FALSE(is_linearizable({{insert(1, 1, 2), erase(3, 6), erase(4, 5)}})); }

TEST(BadHistory, WrongFound) {
  Operation wrong = put(2, 3, 4);
  wrong.found = false;
  EXPECT_FALSE(is_linearizable({{insert(1, 1, 2), wrong}}));
}

TEST(BadHistory, ResurrectedErase) {
  EXPECT_FALSE(is_linearizable({{insert(1, 1, 2), erase(3, 4), read(1, 5, 6)}}));
  EXPECT_FALSE(is_linearizable({{insert(1, 1, 2), erase(3, 4)}, {read(1, 1, 2)}}));
}

TEST(BadHistory, AcknowledgedChangeLostInACrash) {
  EXPECT_FALSE(is_linearizable({{insert(1, 1, 2), put(2, 3, 4)}, {read(1, 1, 2)}}));
  EXPECT_FALSE(is_linearizable({{insert(1, 1, 2)}, {read({}, 1, 2)}}));
}

TEST(BadHistory, ReadValueLostInACrash) {
  EXPECT_FALSE(is_linearizable({{insert(1, 1, 2), put(2, 3, kPending), read(2, 4, 5)}, {read(1, 1, 2)}}));
  EXPECT_FALSE(is_linearizable({{insert(1, 1, 2), erase(3, kPending), read({}, 4, 5)}, {read(1, 1, 2)}}));
}

TEST(BadHistory, PendingChangeHappensAfterTheCrash) {
  EXPECT_FALSE(is_linearizable({{insert(1, 1, 2), put(2, 3, kPending)}, {read(1, 1, 2), read(2, 3, 4)}}));
}

TEST(BadHistory, PendingBatchOutOfOrder) {
  Operation second = put(3, 3, kPending, Status::updated);
  second.after = 1;
  EXPECT_FALSE(is_linearizable({{insert(1, 1, 2), put(2, 3, kPending), second, read(3, 4, 5)}, {read(2, 1, 2)}}));
}

TEST(BadHistory, DoubledByTheCrash) {
  EXPECT_FALSE(is_linearizable({{insert(1, 1, 2), add(10, 3, kPending)}, {read(21, 1, 2)}}));
}

TEST(Checker, RefusesMoreThanItCanSearch) {
  EXPECT_THROW(is_linearizable({Epoch(kMaxOperations + 1)}), std::length_error);
}

TEST(Checker, WideConcurrencyIsRememberedNotTriedAgain) {
  Epoch epoch;  // 16 additions at once: 16! orders, but only 2^16 sets of them
  for (unsigned i = 0; i < 16; ++i) epoch.push_back(add(std::uint64_t{1}, 1, 100, Status::updated));
  EXPECT_TRUE(is_linearizable({epoch, {read(17, 200, 201)}}, State{1}));
  EXPECT_FALSE(is_linearizable({epoch, {read(16, 200, 201)}}, State{1}));
}

}  // namespace
}  // namespace holdfast::test::linear
