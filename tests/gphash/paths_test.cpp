// paths_test.cpp: which path a batch takes on a GPU, row by row of the tables in paths.hpp.
#include "structures/gphash/cuda/paths.hpp"

#include <gtest/gtest.h>

namespace holdfast::gphash::cuda {
namespace {

/// As default_choices has them on a GPU with clusters.
SearchFacts many_rows() {
  SearchFacts facts;
  facts.rows = std::uint64_t{1} << 20;
  facts.values_may_miss = true;
  facts.cluster_rows = kSmallSearch;
  return facts;
}

TEST(SearchPaths, AreOrderedWhereValuesAreFarAndRowsMany) {
  SearchFacts facts = many_rows();
  EXPECT_EQ(path_of(facts), SearchPath::ordered);
  facts.pipelined_rows = 1000;
  EXPECT_EQ(path_of(facts), SearchPath::two_parts);
  facts.slots_may_miss = true;
  EXPECT_EQ(path_of(facts), SearchPath::by_both);
  facts.values_may_miss = false;
  EXPECT_EQ(path_of(facts), SearchPath::by_slots);
  facts.slots_may_miss = false;
  EXPECT_EQ(path_of(facts), SearchPath::one_kernel);
}

TEST(SearchPaths, GoByWhatWasMeasured) {
  SearchFacts facts = many_rows();
  facts.unordered_rows = 1000;
  facts.rows = 1000;
  EXPECT_EQ(path_of(facts), SearchPath::merged);
  facts.rows = 1001;
  EXPECT_EQ(path_of(facts), SearchPath::cluster);
  facts.rows = kSmallSearch;
  EXPECT_EQ(path_of(facts), SearchPath::cluster);
  facts.rows = kSmallSearch + 1;
  EXPECT_EQ(path_of(facts), SearchPath::ordered);
  facts.unordered_rows = 2 * kSmallSearch;
  EXPECT_EQ(path_of(facts), SearchPath::one_kernel) << "too many to find the rows that want one cell";
  facts.slots_may_miss = true;
  EXPECT_EQ(path_of(facts), SearchPath::by_both);
  facts.rows = kSmallSearch;
  EXPECT_EQ(path_of(facts), SearchPath::merged);
}

TEST(SearchPaths, LeaveFewRowsWithoutOrderWhereMostValuesHaveCopies) {
  SearchFacts facts = many_rows();
  facts.values_have_copies = true;
  facts.rows = kSmallHitSearch;
  EXPECT_EQ(path_of(facts), SearchPath::merged);
  facts.rows = kSmallHitSearch + 1;
  EXPECT_EQ(path_of(facts), SearchPath::cluster);
}

TEST(SearchPaths, FollowTheUser) {
  SearchFacts facts = many_rows();
  facts.order_from = 10;
  facts.values_have_copies = true;
  facts.unordered_rows = 5000;
  facts.rows = 9;
  EXPECT_EQ(path_of(facts), SearchPath::merged);
  facts.slots_may_miss = true;
  EXPECT_EQ(path_of(facts), SearchPath::merged);
  facts.rows = 10;
  EXPECT_EQ(path_of(facts), SearchPath::by_both);
  facts.slots_may_miss = false;
  EXPECT_EQ(path_of(facts), SearchPath::ordered) << "no cluster, whose size was measured";
  facts.order_from = 1;
  facts.rows = 1;
  EXPECT_EQ(path_of(facts), SearchPath::ordered);
}

TEST(ChangePaths, AreChosenBySpaceAndByWhoWaits) {
  for (unsigned bits = 0; bits < 32; ++bits) {
    const ChangeFacts facts{(bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0, (bits & 8) != 0, (bits & 16) != 0};
    const ChangePath path = path_of(facts);
    SCOPED_TRACE(bits);
    EXPECT_EQ(path == ChangePath::phases, facts.phases_pay && facts.fits);
    EXPECT_EQ(path == ChangePath::parts, facts.phases_pay && !facts.fits && facts.may_ever_fit && !facts.whole);
    if (path == ChangePath::row_by_row) {
      EXPECT_TRUE(facts.fits && !facts.waited) << "nobody could make room";
    }
    if (facts.whole) {
      EXPECT_NE(path, ChangePath::parts) << "a part of a part";
    }
  }
}

TEST(PairPaths, AreChosenByRowsAndByWhatHasCopies) {
  EXPECT_EQ(path_of(PairFacts{.rows = kOrderPairsFrom - 1}), PairPath::resolved);
  EXPECT_EQ(path_of(PairFacts{.rows = kOrderPairsFrom}), PairPath::ordered);
  EXPECT_EQ(path_of(PairFacts{.rows = 10, .order_from = 10}), PairPath::ordered);
  EXPECT_EQ(path_of(PairFacts{.rows = kOrderPairsFrom, .order_from = ~std::uint64_t{0}}), PairPath::resolved);
  for (unsigned bits = 0; bits < 8; ++bits) {
    const PairFacts facts{.rows = 1u << 20,
                          .changes = true,
                          .reads = (bits & 1) != 0,
                          .phases_pay = (bits & 2) != 0,
                          .resident = (bits & 4) != 0};
    EXPECT_EQ(path_of(facts), bits == 6 ? PairPath::phases : PairPath::repeated) << bits;
  }
}

}  // namespace
}  // namespace holdfast::gphash::cuda
