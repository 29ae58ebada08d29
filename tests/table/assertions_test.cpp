// assertions_test.cpp: broken preconditions of the public layer end a checked build.
#include "support/assertions.hpp"

#include "table/item_filter.hpp"
#include "table/predicate_thread.hpp"
#include "table/session_gate.hpp"

namespace holdfast {
namespace {

TEST(TableAssertionDeathTest, FiltersGetWhatTheyRead) {
  Selection selection;
  selection.least_score = 1;
  table::ItemFilter by_score(selection, 8, 8);
  std::byte key[8] = {};
  EXPECT_EQ(by_score.choose({key, nullptr, nullptr}, 0), 0u);
  EXPECT_ASSERTION(by_score.choose({key, nullptr, nullptr}, 1), "scores");
  Selection by_value;
  by_value.where = [](const void*, const void*) { return true; };
  table::ItemFilter filter(by_value, 8, 8);
  EXPECT_ASSERTION(filter.choose({key, nullptr, nullptr}, 1), "values");
}

TEST(TableAssertionDeathTest, PredicateThreadsEndInReverseOrder) {
  auto outer = std::make_unique<PredicateThread>(nullptr);
  auto inner = std::make_unique<PredicateThread>(nullptr);
  EXPECT_ASSERTION(outer.reset(), "innermost");
  inner.reset();
}

}  // namespace
}  // namespace holdfast
