// suite.hpp: the conformance suite: the same cases for every kind of table. A file registers the tables of a kind, in any test program:
//
//   const Conformance<MapTable> map_tables("MapTable", {standard_map()});  // tests/conformance/map_table_test.cpp
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "conformance/checked.hpp"

namespace holdfast::test {

/// One table under the suite.
template <BatchTable T>
struct ConformanceSubject {
  std::string name;                                 ///< letters, digits and underscores
  std::function<std::unique_ptr<T>()> create;       ///< an empty table, which can grow
  std::function<std::unique_ptr<T>()> reopen = {};  ///< of a durable one, which was destroyed; none: it is volatile
  std::uint64_t seed = 0;                           ///< of its hash, if keys are to collide
  Score score = Score::none;
  bool columns = false;                     ///< batches may be about a column of the values, of 4 bytes and more
  bool small = false;                       ///< the cases for compute-sanitizer too: every kernel, a few rows
  bool dense = false;                       ///< 0.9 of the slots take items before it grows
  std::function<std::string()> needs = {};  ///< why it cannot run here, or ""
};

template <BatchTable T>
class ConformanceCase : public testing::Test {
 public:
  using Body = void (ConformanceCase::*)();
  struct Named {
    const char* name;
    Body body;
    bool columns, small;
  };
  static std::vector<Named> all() {
    using Case = ConformanceCase;
    return {{"SmallEveryOperationOnFewKeys", &Case::few_keys, false, true},
            {"SmallMixedBatchesAndGrowth", &Case::mixed_and_growth, false, true},
            {"SmallColumns", &Case::small_columns, true, true},
            {"EveryOperationOnFewKeys", &Case::every_operation, false, false},
            {"MixedBatchesWithRepeatedKeys", &Case::repeated_keys, false, false},
            {"GrowsAndReopens", &Case::grows_and_reopens, false, false},
            {"ClearsAndReserves", &Case::clears_and_reserves, false, false},
            {"Columns", &Case::columns, true, false}};
  }

  ConformanceCase(const ConformanceSubject<T>& subject, Body body) : subject_(subject), body_(body) {}

  void SetUp() override {
    if (const std::string why = subject_.needs ? subject_.needs() : ""; !why.empty()) GTEST_SKIP() << why;
    table_ = subject_.create();
    checked_ =
        std::make_unique<Checked<T>>(Kept{table_->key_bytes(), table_->value_bytes(), subject_.seed, subject_.score});
  }
  void TestBody() override { (this->*body_)(); }

 private:
  void next_step() {
    if constexpr (ScoredTable<T>) {
      if (subject_.score == Score::step) checked_->set_step(*table_, checked_->random());
    }
  }
  void round(std::size_t n, std::uint64_t range, bool mixed, Op op) {
    next_step();
    ASSERT_NO_FATAL_FAILURE(checked_->round(*table_, n, range, mixed, op));
  }
  void rounds(std::size_t n, std::uint64_t range, std::uint32_t unit = 0) {
    next_step();
    ASSERT_NO_FATAL_FAILURE(checked_->rounds(*table_, n, range, unit));
  }
  void verify() {
    ASSERT_NO_FATAL_FAILURE(checked_->verify(*table_));
    if (!checked_->any_length()) {
      ASSERT_NO_FATAL_FAILURE(checked_->verify_searches(*table_));
    }
  }
  void reopen() {
    if (!subject_.reopen) return;
    table_.reset();
    table_ = subject_.reopen();
    verify();
  }
  std::uint64_t some(std::uint64_t most) { return 1 + checked_->random() % most; }
  Op some_op() { return static_cast<Op>(checked_->random() % kOps); }
  /// Pairs of any length are larger.
  std::size_t rows(std::size_t n) const { return checked_->any_length() ? n / 5 : n; }

  void few_keys() {
    rounds(50, 40);
    for (int i = 0; i < 30 && !HasFatalFailure(); ++i) round(some(60), 40, false, some_op());
    verify();
  }
  void mixed_and_growth() {
    const std::uint64_t slots = table_->slots();
    for (int i = 0; i < 4 && !HasFatalFailure(); ++i) round(some(300), 30, true, Op::find);
    round(600, 2000, false, Op::insert_or_assign);
    round(600, 2000, true, Op::find);
    EXPECT_GE(table_->slots(), slots);
    verify();
    reopen();
    table_->clear();
    checked_->oracle.clear();
    verify();
    round(500, 500, true, Op::find);
    verify();
  }
  void every_operation() {
    rounds(50, 40);
    for (int i = 0; i < 200 && !HasFatalFailure(); ++i) round(some(60), 40, false, some_op());
    verify();
  }
  void repeated_keys() {
    for (int i = 0; i < 80 && !HasFatalFailure(); ++i) round(some(i % 8 == 0 ? 1000 : 300), 30, true, Op::find);
    verify();
  }
  void grows_and_reopens() {
    const std::uint64_t slots = table_->slots();
    for (int i = 0; i < 3 && !HasFatalFailure(); ++i) {
      round(rows(8000), rows(40'000), false, Op::insert_or_assign);
      round(rows(1000), rows(40'000), false, Op::erase);
      round(rows(10'000), rows(40'000), true, Op::find);
      verify();
      reopen();
    }
    EXPECT_GT(table_->slots(), slots);
  }
  void clears_and_reserves() {
    round(500, 400, false, Op::insert);
    table_->clear();
    checked_->oracle.clear();
    verify();
    round(500, 500, true, Op::find);
    table_->reserve(5000);
    const std::uint64_t slots = table_->slots();
    EXPECT_GE(slots, 5000u);
    next_step();
    Rows rows = checked_->some_rows(4500, 1, false, Op::insert);
    for (std::size_t i = 0; i < rows.keys.size(); ++i) rows.keys[i] = 1000 + i;
    ASSERT_NO_FATAL_FAILURE(checked_->run(*table_, rows));
    EXPECT_TRUE(!subject_.dense || table_->slots() == slots) << "it grew to " << table_->slots();
    verify();
  }
  void small_columns() {
    for (const std::uint32_t unit : {1u, 4u, 8u, 16u}) rounds(60, 50, unit);
    verify();
  }
  void columns() {
    for (int i = 0; i < 40 && !HasFatalFailure(); ++i) rounds(50, 100, i % 2 == 0 ? 1 : 8);
    for (const bool mixed : {false, true}) {
      next_step();
      ASSERT_NO_FATAL_FAILURE(checked_->round(*table_, 20'000, 3000, mixed, Op::insert_or_assign, 1));
    }
    verify();
    reopen();
  }

  const ConformanceSubject<T> subject_;
  const Body body_;
  std::unique_ptr<T> table_;
  std::unique_ptr<Checked<T>> checked_;
};

/// Registers every case for every subject, as `KIND.CASE/SUBJECT`.
template <BatchTable T>
struct Conformance {
  Conformance(const char* kind, const std::vector<ConformanceSubject<T>>& subjects) {
    for (const ConformanceSubject<T>& subject : subjects) {
      for (const auto& one : ConformanceCase<T>::all()) {
        if ((one.columns && !subject.columns) || (one.small && !subject.small)) continue;
        const std::string name = std::string(one.name) + "/" + subject.name;
        testing::RegisterTest(
            kind, name.c_str(), nullptr, nullptr, __FILE__, __LINE__,
            [subject, body = one.body]() -> testing::Test* { return new ConformanceCase<T>(subject, body); });
      }
    }
  }
};

}  // namespace holdfast::test
