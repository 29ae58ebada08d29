// index_test.cpp: the index on the CPU, one caller: what batches answer, signatures that collide, displacement, growth, bad input.
#include "entries.hpp"
#include "holdfast/error.hpp"

namespace holdfast::cuckoo {
namespace {

using cpu::CpuIndex;

TEST(Index, AnswersSearchExchangeAndErase) {
  CpuIndex index({.capacity = 1000});
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
}

TEST(Index, FindsAllKeysOfOneSignature) {
  CpuIndex index({.capacity = 3000, .signature_bits = 4});
  std::unordered_map<std::uint64_t, Location> expected;
  Batch batch = inserts(0, 2000);
  exchange(index, batch);
  ASSERT_EQ(count(batch, Outcome::inserted), 2000u);
  for (std::uint64_t key = 0; key < 2000; ++key) expected[key] = static_cast<Location>(key);
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

TEST(Index, FillsItsCellsByDisplacement) {
  CpuIndex index({.capacity = 200'000});
  const std::uint64_t cells = index.cells();
  const std::uint64_t rows = cells * 96 / 100;
  Batch batch = inserts(0, rows);
  exchange(index, batch);
  EXPECT_EQ(count(batch, Outcome::inserted), rows);
  EXPECT_EQ(index.growths(), 0u) << "grew before 96% of the cells were in use";
  EXPECT_GT(index.moves(), rows / 100);
  std::unordered_map<std::uint64_t, Location> expected;
  for (std::uint64_t key = 0; key < rows; ++key) expected[key] = static_cast<Location>(key);
  expect_candidates(index, expected);
  std::vector<Hash> absent;
  for (std::uint64_t key = rows; key < 2 * rows; ++key) absent.push_back(hash_of(key));
  std::vector<Location> found(absent.size());
  index.search(absent, found);
  EXPECT_LE(std::count_if(found.begin(), found.end(), [](Location at) { return at != kNone; }), 1);
}

TEST(Index, GrowsAndDropsNothing) {
  for (const unsigned threads : {1u, 3u}) {
    CpuIndex index({.capacity = 0, .threads = threads});
    const std::uint64_t cells = index.cells();
    std::unordered_map<std::uint64_t, Location> expected;
    constexpr std::uint64_t kKeys = 500'000;
    for (std::uint64_t begin = 0; begin < kKeys; begin += kKeys / 8) {
      Batch batch = inserts(begin, begin + kKeys / 8);
      exchange(index, batch);
      ASSERT_EQ(count(batch, Outcome::inserted), batch.size());
    }
    for (std::uint64_t key = 0; key < kKeys; ++key) expected[key] = static_cast<Location>(key);
    expect_candidates(index, expected);
    EXPECT_EQ(index.cells(), cells << index.growths());
    EXPECT_EQ(index.cells(), std::uint64_t{1} << 19) << "a load factor of 0.954";
  }
}

TEST(Index, GrownAddressesAgree) {
  for (Geometry old{3, 3, ~0u}; old.bits < 20; old = old.grown()) {
    const Geometry next = old.grown();
    for (std::uint64_t key = 0; key < 2000; ++key) {
      const Target before(old, hash_of(key)), after(next, hash_of(key));
      ASSERT_LT(after.primary, next.buckets());
      ASSERT_LT(after.other, next.buckets());
      ASSERT_NE(before.primary, before.other);
      ASSERT_EQ(old.other(before.other, before.signature), before.primary);
      ASSERT_TRUE(old.is_primary(before.primary, before.signature));
      ASSERT_FALSE(old.is_primary(before.other, before.signature));
      ASSERT_EQ(before.primary >> kPartitionBits, before.other >> kPartitionBits);
      ASSERT_EQ(old.grown_bucket(before.primary, before.signature), after.primary);
      ASSERT_EQ(old.grown_bucket(before.other, before.signature), after.other);
      ASSERT_EQ(after.primary & low_bits(old.bits), before.primary);
      ASSERT_EQ(after.other & low_bits(old.bits), before.other);
    }
  }
}

TEST(Index, BuildsPartitionByPartition) {
  for (const unsigned threads : {1u, 4u}) {
    const std::uint64_t capacity = threads == 1 ? 0 : 500'000;
    CpuIndex index({.capacity = capacity, .threads = threads});
    const Batch batch = inserts(0, 500'000);  // of two partitions
    EXPECT_EQ(index.build(batch.hashes, batch.locations), 0u);
    std::unordered_map<std::uint64_t, Location> expected;
    for (std::uint64_t key = 0; key < batch.size(); ++key) expected[key] = static_cast<Location>(key);
    expect_candidates(index, expected);
    EXPECT_EQ(index.growths() == 0, capacity != 0);
  }
}

TEST(Index, ChangesForLongWithoutGrowth) {
  CpuIndex index({.capacity = 10'000});
  const std::uint64_t live = index.cells() * 9 / 10;
  std::unordered_map<std::uint64_t, Location> expected;
  Batch first = inserts(0, live);
  exchange(index, first);
  for (std::uint64_t key = 0; key < live; ++key) expected[key] = static_cast<Location>(key);
  std::uint64_t key = live;
  for (int round = 0; round < 400; ++round) {
    std::vector<Hash> hashes;
    std::vector<Location> locations;
    Batch batch;
    for (unsigned i = 0; i < 500; ++i, ++key) {
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
  EXPECT_EQ(index.growths(), 0u);
}

TEST(Index, ReportsRowsThatGrowthCannotHelp) {
  CpuIndex index({.capacity = 0, .signature_bits = 1});  // one signature in all: 16 cells for each hash
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
  std::sort(list.locations, list.locations + list.size);
  for (Location i = 0; i < kMostCandidates; ++i) EXPECT_EQ(list.locations[i], i);
}

TEST(Index, RefusesBadInput) {
  EXPECT_THROW(CpuIndex({.capacity = std::uint64_t{1} << 32}), InvalidArgument);
  EXPECT_THROW(CpuIndex({.capacity = 1, .signature_bits = 33}), InvalidArgument);
  EXPECT_THROW(CpuIndex({.capacity = 1, .signature_bits = 0}), InvalidArgument);
  CpuIndex index({.capacity = 100});
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
  index.reserve(10'000);
  EXPECT_GE(index.cells(), 10'000u);
}

}  // namespace
}  // namespace holdfast::cuckoo
