// suite.hpp: what every index answers, one caller: batches, signatures that collide, displacement, growth, bad input. A typed test suite over
// makers of an index. Names of tests that are small enough for compute-sanitizer begin with Small.
#pragma once

#include "entries.hpp"
#include "holdfast/error.hpp"

namespace holdfast::cuckoo {

/// What a maker gets.
struct Options {
  std::uint64_t capacity = 0;
  unsigned signature_bits = 32;
};

/// `Maker::available()`: whether this machine can run it. `Maker::make(Options)`: an index.
template <class Maker>
class IndexSuite : public testing::Test {
 protected:
  void SetUp() override {
    if (!Maker::available()) GTEST_SKIP() << "no GPU";
  }
};
TYPED_TEST_SUITE_P(IndexSuite);

inline std::unordered_map<std::uint64_t, Location> keys_to(std::uint64_t end) {
  std::unordered_map<std::uint64_t, Location> expected;
  for (std::uint64_t key = 0; key < end; ++key) expected[key] = static_cast<Location>(key);
  return expected;
}

/// That an index without capacity has for 500,000 keys: at a load factor of 0.954, unless the maker has another number.
template <class Maker>
constexpr std::uint64_t grown_cells() {
  if constexpr (requires { Maker::kGrownCells; }) {
    return Maker::kGrownCells;
  } else {
    return std::uint64_t{1} << 19;
  }
}

TYPED_TEST_P(IndexSuite, SmallBatchesAreAnswered) {
  auto index = TypeParam::make({.capacity = 1000});
  Batch batch = inserts(0, 500);
  exchange(index, batch);
  EXPECT_EQ(count(batch, Outcome::inserted), 500u);

  Batch next;
  next.add(7, 7, 1007);    // replaces
  next.add(8, 9, 1008);    // the key has another location
  next.add(600, 5, 1600);  // no such key
  next.add(601, kNone, 601);
  exchange(index, next);
  const std::vector<Outcome> expected = {Outcome::replaced, Outcome::absent, Outcome::absent, Outcome::inserted};
  EXPECT_EQ(next.outcomes, expected);

  const std::vector<Hash> hashes = {hash_of(7), hash_of(8), hash_of(600), hash_of(601)};
  std::vector<Location> found(4);
  index.search(hashes, found);
  EXPECT_EQ(found, (std::vector<Location>{1007, 8, kNone, 601}));

  std::vector<Outcome> outcomes(4);
  index.erase(hashes, std::vector<Location>{7, 8, 600, 601}, outcomes);
  EXPECT_EQ(outcomes, (std::vector<Outcome>{Outcome::absent, Outcome::erased, Outcome::absent, Outcome::erased}));
  index.search(hashes, found);
  EXPECT_EQ(found, (std::vector<Location>{1007, kNone, kNone, kNone}));
  EXPECT_EQ(index.size(), 499u);
  for (const std::uint64_t key : {7, 8}) {  // a batch of one row, whose output had another value
    const Hash hash = hash_of(key);
    Location one = 5;
    index.search({&hash, 1}, {&one, 1});
    EXPECT_EQ(one, key == 7 ? Location{1007} : kNone);
  }
}

TYPED_TEST_P(IndexSuite, SmallSignaturesLeadToAllKeys) {
  auto index = TypeParam::make({.capacity = 3000, .signature_bits = 4});
  Batch batch = inserts(0, 2000);
  exchange(index, batch);
  ASSERT_EQ(count(batch, Outcome::inserted), 2000u);
  auto expected = keys_to(2000);
  EXPECT_GT(expect_candidates(index, expected), 500u) << "too few collisions to show anything";

  // Replacing and erasing one of them leaves the others.
  Batch changes;
  std::vector<Hash> hashes;
  std::vector<Location> erased;
  for (std::uint64_t key = 0; key < 2000; ++key) {
    if (key % 3 == 0) {
      changes.add(key, static_cast<Location>(key), static_cast<Location>(10'000 + key));
      expected[key] = static_cast<Location>(10'000 + key);
    } else if (key % 3 == 1) {
      hashes.push_back(hash_of(key));
      erased.push_back(static_cast<Location>(key));
      expected.erase(key);
    }
  }
  exchange(index, changes);
  EXPECT_EQ(count(changes, Outcome::replaced), changes.size());
  std::vector<Outcome> outcomes(hashes.size());
  index.erase(hashes, erased, outcomes);
  EXPECT_EQ(std::count(outcomes.begin(), outcomes.end(), Outcome::erased), static_cast<std::ptrdiff_t>(hashes.size()));
  expect_candidates(index, expected);
}

TYPED_TEST_P(IndexSuite, FillsItsCellsByDisplacement) {
  auto index = TypeParam::make({.capacity = 400'000});
  const std::uint64_t cells = index.cells(), rows = cells * 96 / 100;
  for (std::uint64_t begin = 0; begin < rows; begin += rows / 3 + 1) {
    Batch batch = inserts(begin, std::min(rows, begin + rows / 3 + 1));
    exchange(index, batch);
    EXPECT_EQ(count(batch, Outcome::inserted), batch.size());
  }
  EXPECT_EQ(index.cells(), cells) << "grew before 96% of the cells were in use";
  EXPECT_GT(index.moves(), rows / 100);
  expect_candidates(index, keys_to(rows));
  std::vector<Hash> absent;
  for (std::uint64_t key = rows; key < 2 * rows; ++key) absent.push_back(hash_of(key));
  std::vector<Location> found(absent.size());
  index.search(absent, found);
  EXPECT_LE(std::count_if(found.begin(), found.end(), [](Location at) { return at != kNone; }), 1);
}

TYPED_TEST_P(IndexSuite, GrowsAndDropsNothing) {
  auto index = TypeParam::make({.capacity = 0});
  constexpr std::uint64_t kKeys = 500'000;
  for (std::uint64_t begin = 0; begin < kKeys; begin += kKeys / 8) {
    Batch batch = inserts(begin, begin + kKeys / 8);
    exchange(index, batch);
    ASSERT_EQ(count(batch, Outcome::inserted), batch.size());
  }
  expect_candidates(index, keys_to(kKeys));
  EXPECT_EQ(index.cells(), grown_cells<TypeParam>());
}

TYPED_TEST_P(IndexSuite, BuildsPartitionByPartition) {
  for (const std::uint64_t capacity : {0, 500'000}) {
    auto index = TypeParam::make({.capacity = capacity});
    const std::uint64_t cells = index.cells();
    const Batch batch = inserts(0, 500'000);  // of two partitions
    EXPECT_EQ(index.build(batch.hashes, batch.locations), 0u);
    expect_candidates(index, keys_to(batch.size()));
    EXPECT_EQ(index.cells() == cells, capacity != 0);
  }
}

TYPED_TEST_P(IndexSuite, SmallChangesForLongNeedNoGrowth) {
  auto index = TypeParam::make({.capacity = 10'000});
  const std::uint64_t cells = index.cells(), live = cells * 9 / 10;
  Batch first = inserts(0, live);
  exchange(index, first);
  auto expected = keys_to(live);
  std::uint64_t key = live;
  for (int round = 0; round < 100; ++round) {
    std::vector<Hash> hashes;
    std::vector<Location> locations;
    Batch batch;
    for (unsigned i = 0; i < 2000; ++i, ++key) {
      hashes.push_back(hash_of(key - live));
      locations.push_back(static_cast<Location>(key - live));
      expected.erase(key - live);
      batch.add(key, kNone, static_cast<Location>(key));
      expected[key] = static_cast<Location>(key);
    }
    std::vector<Outcome> outcomes(hashes.size());
    index.erase(hashes, locations, outcomes);
    exchange(index, batch);
    ASSERT_EQ(count(batch, Outcome::inserted), batch.size());
  }
  expect_candidates(index, expected);
  EXPECT_EQ(index.cells(), cells);
}

TYPED_TEST_P(IndexSuite, SmallIndexReportsRowsThatGrowthCannotHelp) {
  auto index = TypeParam::make({.capacity = 0, .signature_bits = 1});  // one signature in all: 16 cells for each hash
  Batch batch;
  for (Location i = 0; i < 20; ++i) {
    batch.add(1, kNone, i);
    batch.hashes.back() = Hash{5} << 32 | 1;
  }
  exchange(index, batch);
  EXPECT_EQ(count(batch, Outcome::inserted), kMostCandidates);
  EXPECT_EQ(count(batch, Outcome::no_cell), 4u);
  Candidates list;
  index.candidates({batch.hashes.data(), 1}, {&list, 1});
  ASSERT_EQ(list.size, kMostCandidates);
  std::vector<Location> inserted;  // whichever they are
  for (Location i = 0; i < 20; ++i) {
    if (batch.outcomes[i] == Outcome::inserted) inserted.push_back(i);
  }
  std::sort(list.locations, list.locations + list.size);
  EXPECT_TRUE(std::equal(inserted.begin(), inserted.end(), list.locations));
}

TYPED_TEST_P(IndexSuite, RefusesBadInput) {
  EXPECT_THROW(TypeParam::make({.capacity = std::uint64_t{1} << 32}), InvalidArgument);
  EXPECT_THROW(TypeParam::make({.capacity = 1, .signature_bits = 33}), InvalidArgument);
  EXPECT_THROW(TypeParam::make({.capacity = 1, .signature_bits = 0}), InvalidArgument);
  auto index = TypeParam::make({.capacity = 100});
  const std::vector<Hash> two = {1, 2};
  std::vector<Location> one(1), both(2);
  std::vector<Outcome> outcomes(2), fewer(1);
  std::vector<Candidates> lists(1);
  EXPECT_THROW(index.search(two, one), InvalidArgument);
  EXPECT_THROW(index.candidates(two, lists), InvalidArgument);
  EXPECT_THROW(index.erase(two, one, outcomes), InvalidArgument);
  EXPECT_THROW(index.erase(two, both, fewer), InvalidArgument);
  EXPECT_THROW(index.exchange(two, one, both, outcomes), InvalidArgument);
  EXPECT_THROW(index.exchange(two, both, one, outcomes), InvalidArgument);
  EXPECT_THROW(index.exchange(two, both, both, fewer), InvalidArgument);
  EXPECT_THROW(index.build(two, one), InvalidArgument);
  both[1] = kNone;
  EXPECT_THROW(index.exchange(two, both, both, outcomes), InvalidArgument);
  EXPECT_THROW(index.build(two, both), InvalidArgument);
  EXPECT_THROW(index.reserve(std::uint64_t{1} << 33), InvalidArgument);
  EXPECT_EQ(index.size(), 0u);
  index.search({}, {});
  index.reserve(10'000);
  EXPECT_GE(index.cells(), 10'000u);
}

REGISTER_TYPED_TEST_SUITE_P(IndexSuite, SmallBatchesAreAnswered, SmallSignaturesLeadToAllKeys,
                            FillsItsCellsByDisplacement, GrowsAndDropsNothing, BuildsPartitionByPartition,
                            SmallChangesForLongNeedNoGrowth, SmallIndexReportsRowsThatGrowthCannotHelp,
                            RefusesBadInput);

}  // namespace holdfast::cuckoo
