// fresh_test.cpp: an empty index is filled from rows that several threads have collected: each is in it once, or returned.
#include <map>
#include <set>

#include "entries.hpp"

namespace holdfast::cuckoo {
namespace {

struct Case {
  std::uint64_t keys;
  std::uint64_t capacity;  ///< of the index before
  std::uint64_t most;      ///< rows that were expected
  unsigned signature_bits = 32;
  std::uint64_t repeated = 0;  ///< of the keys come twice
};

/// What an index has of each key, and what `fill` returned.
void expect_filled(const Case& test) {
  constexpr unsigned kCollectors = 3;
  cpu::CpuIndex index({.capacity = test.capacity, .threads = 4, .signature_bits = test.signature_bits});
  std::vector<cpu::FreshRows> rows;
  for (unsigned i = 0; i < kCollectors; ++i) rows.emplace_back(test.most, index.part_bits(test.most));
  std::map<Location, std::uint64_t> keys;
  for (std::uint64_t row = 0; row < test.keys + test.repeated; ++row) {
    keys[static_cast<Location>(row)] = row % test.keys;
    rows[row % kCollectors].add(hash_of(row % test.keys), static_cast<Location>(row));
  }
  const std::vector<cpu::Row> again = index.fill(rows);
  std::set<Location> returned;
  for (const cpu::Row& row : again) {
    ASSERT_EQ(row.hash, hash_of(keys.at(row.location)));
    ASSERT_TRUE(returned.insert(row.location).second) << row.location;
  }
  EXPECT_EQ(index.size() + returned.size(), keys.size());
  std::size_t wrong = 0, inserted_twice = 0;
  std::set<std::uint64_t> inserted;
  for (const auto& [location, key] : keys) {
    const Hash hash = hash_of(key);
    Candidates list;
    index.candidates({&hash, 1}, {&list, 1});
    const bool is_in = contains(list, location);
    wrong += is_in == returned.contains(location) ? 1 : 0;
    inserted_twice += is_in && !inserted.insert(key).second ? 1 : 0;
  }
  EXPECT_EQ(wrong, 0u) << "of " << keys.size() << " rows";
  EXPECT_EQ(inserted_twice, 0u);
  if (test.signature_bits < 32) return;
  EXPECT_EQ(inserted.size(), test.keys);
  EXPECT_LE(returned.size(), test.repeated + 2);
}

TEST(FreshIndex, HasEachRowOnce) {
  expect_filled({0, 0, 0});
  expect_filled({1, 0, 1});
  expect_filled({100, 0, 32'768});
  expect_filled({20'000, 0, 20'000});
  expect_filled({400'000, 0, 400'000});
  expect_filled({400'000, 400'000, 400'000});
}

TEST(FreshIndex, MayBeLargerOrSmallerThanExpected) {
  expect_filled({400'000, 0, 3'000'000});  // more parts than partitions
  expect_filled({400'000, 3'000'000, 1});  // more partitions than rows need
  expect_filled({800'000, 0, 10'000});     // more partitions than parts
}

TEST(FreshIndex, ReturnsKeysThatRepeat) {
  expect_filled({1000, 0, 2000, 32, 1000});
  expect_filled({300'000, 0, 400'000, 32, 100'000});
}

TEST(FreshIndex, ReturnsEqualSignatures) {
  expect_filled({1000, 0, 1000, 4});
  expect_filled({200'000, 200'000, 200'000, 8, 1000});
}

TEST(FreshIndex, TakesChangesAfterwards) {
  cpu::CpuIndex index({.capacity = 0, .threads = 2});
  std::vector<cpu::FreshRows> rows;
  rows.emplace_back(100'000, index.part_bits(100'000));
  for (std::uint64_t key = 0; key < 100'000; ++key) rows[0].add(hash_of(key), static_cast<Location>(key));
  ASSERT_TRUE(index.fill(rows).empty());
  Batch more = inserts(100'000, 400'000);  // it grows
  exchange(index, more);
  EXPECT_EQ(count(more, Outcome::inserted), more.size());
  expect_candidates(index, [] {
    std::unordered_map<std::uint64_t, Location> expected;
    for (std::uint64_t key = 0; key < 400'000; ++key) expected[key] = static_cast<Location>(key);
    return expected;
  }());
}

}  // namespace
}  // namespace holdfast::cuckoo
