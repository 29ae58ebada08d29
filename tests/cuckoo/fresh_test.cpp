// fresh_test.cpp: an empty index in host memory is filled from rows that several threads have collected.
#include "filled.hpp"
#include "structures/cuckoo/cpu/cpu_index.hpp"

namespace holdfast::cuckoo {
namespace {

void expect_filled(const FillCase& test) {
  cpu::CpuIndex index({.capacity = test.capacity, .threads = 4, .signature_bits = test.signature_bits});
  expect_filled(index, index.part_bits(test.most), test);
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
  std::vector<FreshRows> rows;
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
