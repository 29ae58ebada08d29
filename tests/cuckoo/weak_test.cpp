// weak_test.cpp: a search beside moves of its key, in every order of few preemptions over memory as weak as a GPU's (proof/weak_memory.hpp);
// and each acquire and release left out, which must be noticed.
#include <gtest/gtest.h>

#include <iostream>

#include "proof/weak_memory.hpp"
#include "structures/cuckoo/change.hpp"
#include "structures/cuckoo/search.hpp"

namespace holdfast::cuckoo {
namespace {

using proof::Play;
using proof::weak;

constexpr OneThread kTile;
constexpr Geometry kTwoBuckets{1, 1, ~std::uint32_t{0}};
constexpr Location kHere = 3;

/// Orders that a policy promises (memory.hpp).
struct Orders {
  bool cells_acquire = true, cells_release = true, group_acquires = true;
};

/// Two buckets of two cells, words 0 to 3, and their control word.
struct WeakPolicy {
  static constexpr unsigned kCells = 2, kGroup = 4;
  static constexpr bool kSearchBesideChanges = true, kChangeBesideMoves = true, kPrefetches = false;
  Orders orders;

  static bool keeps(Step) { return true; }
  static unsigned at(BucketNumber bucket, unsigned cell) { return bucket * kCells + cell; }
  std::uint64_t load_cell(BucketNumber bucket, unsigned cell) const {
    return weak->load(at(bucket, cell), orders.cells_acquire);
  }
  BucketCells<kCells> load_bucket(BucketNumber bucket) const { return {{load_cell(bucket, 0), load_cell(bucket, 1)}}; }
  bool fill(BucketNumber bucket, unsigned cell, std::uint64_t entry) const {
    return weak->swap(at(bucket, cell), kEmpty, entry);
  }
  void store(BucketNumber bucket, unsigned cell, std::uint64_t entry) const {
    weak->store(at(bucket, cell), entry, orders.cells_release);
  }
  Group load_group(BucketNumber) const { return {weak->load(kGroup, orders.group_acquires)}; }
  bool swap_group(BucketNumber, Group seen, Group next) const { return weak->swap(kGroup, seen.word, next.word); }
  static void wait(BucketNumber) {}
  static void prefetch(BucketNumber) {}
};
static_assert(IndexMemory<WeakPolicy>);

/// A key whose primary bucket is 0.
Hash key() {
  Hash hash = 1;
  while (kTwoBuckets.primary(hash) != 0) ++hash;
  return hash;
}

/// One caller searches, another one moves the key, first away from its primary bucket if `leaves`, then back, and so on.
Play play_of(Orders orders, bool leaves, unsigned moves) {
  const Hash hash = key();
  const std::uint64_t entry = entry_of(kTwoBuckets.signature(hash), kHere);
  Play play;
  play.actors = 2;
  play.preemptions = moves == 1 ? 4 : 3;
  play.begin = [=](proof::WeakMemory& memory) {
    memory.begin(WeakPolicy::at(leaves ? 0 : 1, 0), entry);
    if (!leaves) memory.begin(WeakPolicy::kGroup, Group{}.one_more(0).word);
  };
  play.act = [=](unsigned who) {
    const WeakPolicy memory{orders};
    if (who == 0) {
      weak->wrong |= search(kTile, memory, Target(kTwoBuckets, hash)) != kHere;
      return;
    }
    const unsigned cell = chosen_cell<WeakPolicy::kCells>(3, signature_of(entry));  // where a move puts it
    for (unsigned i = 0; i < moves; ++i) {
      const bool away = leaves == (i % 2 == 0);
      weak->cached |= move_entry(kTile, memory, kTwoBuckets, away ? 0 : 1, i == 0 ? 0 : cell, away ? 1 : 0);
    }
  };
  return play;
}

std::uint64_t wrong_with(Orders orders) {
  std::uint64_t wrong = 0;
  for (const bool leaves : {true, false}) {
    for (unsigned moves = 1; moves <= 2 && wrong == 0; ++moves) {
      wrong = proof::run_all(play_of(orders, leaves, moves), true).wrong;
    }
  }
  return wrong;
}

TEST(CuckooWeak, SearchesMissNothingBesideMoves) {
  for (const bool leaves : {true, false}) {
    for (unsigned moves = 1; moves <= 2; ++moves) {
      const proof::Executions seen = proof::run_all(play_of({}, leaves, moves));
      EXPECT_EQ(seen.wrong, 0u) << "of " << seen.executions;
      EXPECT_EQ(seen.cached, seen.executions) << "nothing moved";
      std::cout << (leaves ? "leaves" : "returns") << ", " << moves << " moves: " << seen.executions << " executions\n";
    }
  }
}

TEST(CuckooWeak, EveryOrderIsNeeded) {
  EXPECT_NE(wrong_with({.cells_acquire = false}), 0u) << "nothing fails where loads of cells do not acquire";
  EXPECT_NE(wrong_with({.cells_release = false}), 0u) << "nothing fails where stores to cells do not release";
  EXPECT_NE(wrong_with({.group_acquires = false}), 0u) << "nothing fails where loads of control words do not acquire";
}

}  // namespace
}  // namespace holdfast::cuckoo
