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

}  // namespace holdfast::cuckoo
