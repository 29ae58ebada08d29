// filled.hpp: an empty index is filled from rows that several threads have collected: each is in it once, or returned.
#pragma once

#include <map>
#include <set>

#include "entries.hpp"
#include "structures/cuckoo/fresh_rows.hpp"

namespace holdfast::cuckoo {

struct FillCase {
  std::uint64_t keys;
  std::uint64_t capacity;  ///< of the index before
  std::uint64_t most;      ///< rows that were expected
  unsigned signature_bits = 32;
  std::uint64_t repeated = 0;  ///< of the keys come twice
};

/// What an index has of each key, and what `fill` returned.
template <class I>
void expect_filled(I& index, unsigned part_bits, const FillCase& test) {
  constexpr unsigned kCollectors = 3;
  std::vector<FreshRows> rows;
  for (unsigned i = 0; i < kCollectors; ++i) rows.emplace_back(test.most, part_bits);
  std::map<Location, std::uint64_t> keys;
  for (std::uint64_t row = 0; row < test.keys + test.repeated; ++row) {
    keys[static_cast<Location>(row)] = row % test.keys;
    rows[row % kCollectors].add(hash_of(row % test.keys), static_cast<Location>(row));
  }
  const std::vector<Row> again = index.fill(rows);
  std::set<Location> returned;
  for (const Row& row : again) {
    ASSERT_EQ(row.hash, hash_of(keys.at(row.location)));
    ASSERT_TRUE(returned.insert(row.location).second) << row.location;
  }
  EXPECT_EQ(index.size() + returned.size(), keys.size());
  std::vector<Hash> hashes;
  for (const auto& [location, key] : keys) hashes.push_back(hash_of(key));
  std::vector<Candidates> lists(hashes.size());
  index.candidates(hashes, lists);
  std::size_t wrong = 0, inserted_twice = 0, at = 0;
  std::set<std::uint64_t> inserted, missing;
  for (const auto& [location, key] : keys) {
    const bool is_in = contains(lists[at++], location);
    wrong += is_in == returned.contains(location) ? 1 : 0;
    inserted_twice += is_in && !inserted.insert(key).second ? 1 : 0;
    if (!is_in) missing.insert(key);
  }
  EXPECT_EQ(wrong, 0u) << "of " << keys.size() << " rows";
  EXPECT_EQ(inserted_twice, 0u);
  if (test.signature_bits < 32) return;
  EXPECT_LE(missing.size(), 2 * test.repeated + 4);
  EXPECT_LE(returned.size(), 2 * test.repeated + 4) << "a GPU returns both rows of a signature";
}

}  // namespace holdfast::cuckoo
