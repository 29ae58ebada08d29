// entries.hpp: keys, hashes and locations for tests of the index, and a map of what it should hold.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "structures/cuckoo/cpu/cpu_index.hpp"
#include "support/random.hpp"

namespace holdfast::cuckoo {

inline Hash hash_of(std::uint64_t key) { return test::mix(key, 77); }

/// The arrays of a batch that inserts keys [begin, end); the location of a key is the key and `version` in its upper bits.
struct Batch {
  std::vector<Hash> hashes;
  std::vector<Location> old, locations;
  std::vector<Outcome> outcomes;

  void add(std::uint64_t key, Location old_location, Location location) {
    hashes.push_back(hash_of(key));
    old.push_back(old_location);
    locations.push_back(location);
    outcomes.push_back(Outcome::no_cell);
  }
  std::size_t size() const { return hashes.size(); }
};

inline Batch inserts(std::uint64_t begin, std::uint64_t end) {
  Batch batch;
  for (std::uint64_t key = begin; key < end; ++key) batch.add(key, kNone, static_cast<Location>(key));
  return batch;
}

template <class I>
void exchange(I& index, Batch& batch) {
  index.exchange(batch.hashes, batch.old, batch.locations, batch.outcomes);
}

inline std::size_t count(const Batch& batch, Outcome outcome) {
  return static_cast<std::size_t>(std::count(batch.outcomes.begin(), batch.outcomes.end(), outcome));
}

inline bool contains(const Candidates& list, Location location) {
  return std::count(list.locations, list.locations + list.size, location) != 0;
}

/// Whether `location` is among the candidates of every key, and how many keys have more than one.
template <class I>
std::size_t expect_candidates(const I& index, const std::unordered_map<std::uint64_t, Location>& expected) {
  std::vector<Hash> hashes;
  std::vector<Location> there;
  for (const auto& [key, location] : expected) {
    hashes.push_back(hash_of(key));
    there.push_back(location);
  }
  std::vector<Candidates> lists(hashes.size());
  std::vector<Location> first(hashes.size());
  index.candidates(hashes, lists);
  index.search(hashes, first);
  std::size_t wrong = 0, several = 0;
  for (std::size_t i = 0; i < hashes.size(); ++i) {
    wrong += contains(lists[i], there[i]) && contains(lists[i], first[i]) ? 0 : 1;
    several += lists[i].size > 1 ? 1 : 0;
  }
  EXPECT_EQ(wrong, 0u) << "of " << hashes.size() << " keys";
  EXPECT_EQ(index.size(), expected.size());
  return several;
}

}  // namespace holdfast::cuckoo
