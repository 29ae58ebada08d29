// export_checks.hpp: exports of a table that changes between two pieces, for tests of every machine.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <unordered_map>
#include <vector>

#include "holdfast/table.hpp"

namespace holdfast::test {

inline constexpr std::uint64_t kExportEnd = ~std::uint64_t{0};

/// How often each key appears in an export in pieces of `n` items, with `between` called between two pieces.
template <class AnyTable>
std::unordered_map<std::uint64_t, unsigned> export_in_pieces(
    AnyTable& table, std::size_t n, const std::function<void()>& between = [] {}) {
  std::unordered_map<std::uint64_t, unsigned> times;
  std::vector<std::uint64_t> keys(n);
  std::vector<std::uint8_t> values(n * table.value_bytes() + 1);
  for (std::uint64_t cursor = 0; cursor != kExportEnd;) {
    const std::size_t got = table.export_batch(cursor, keys.data(), values.data(), n);
    for (std::size_t i = 0; i < got; ++i) ++times[keys[i]];
    if (cursor != kExportEnd) between();
  }
  return times;
}

/// Inserts the keys [first, last), with zeros as values. All must be new.
template <class AnyTable>
void insert_range(AnyTable& table, std::uint64_t first, std::uint64_t last) {
  std::vector<std::uint64_t> keys;
  for (std::uint64_t key = first; key < last; ++key) keys.push_back(key);
  const std::vector<std::uint8_t> values(keys.size() * table.value_bytes() + 1);
  ASSERT_EQ(table.insert(keys.data(), values.data(), keys.size()).of(Status::inserted), keys.size());
}

/// The keys [0, count), which were there throughout, appear once each, and all others at most once.
inline void expect_each_once(const std::unordered_map<std::uint64_t, unsigned>& times, std::uint64_t count) {
  std::uint64_t missed = 0, doubled = 0;
  for (std::uint64_t key = 0; key < count; ++key) missed += !times.contains(key);
  for (const auto& [key, n] : times) doubled += n > 1;
  EXPECT_EQ(missed, 0u) << "of " << count << " keys that were there throughout";
  EXPECT_EQ(doubled, 0u);
}

}  // namespace holdfast::test
