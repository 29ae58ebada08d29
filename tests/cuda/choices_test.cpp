// choices_test.cpp: what a table measures when it is opened: within bounds, only where there is something to measure, and never at
// the cost of an answer.
#include <numeric>

#include "device_arrays.hpp"

namespace holdfast::test {
namespace {

constexpr std::uint64_t kMostRows = 1 << 14;  // of unordered searches, and of those that a cluster orders

class GpuChoices : public testing::TestWithParam<std::uint32_t> {
 protected:
  /// A closed pool of so many items. The value of key k is 2k and 3k.
  void fill(std::size_t items) {
    CreateOptions options;
    options.shape.key_bytes = GetParam();
    options.shape.value_bytes = 16;
    options.shape.capacity = items;
    options.runtime.device = "cuda";
    options.overwrite = true;
    Table table = Table::create(path_.str(), options);
    std::vector<std::uint64_t> keys(items * words()), values(2 * items);
    for (std::size_t i = 0; i < items; ++i) {
      keys[i * words()] = i;
      values[2 * i] = 2 * i;
      values[2 * i + 1] = 3 * i;
    }
    EXPECT_EQ(table.insert(keys.data(), values.data(), items).of(Status::inserted), items);
    EXPECT_EQ(table.stats().search.calibration_ms, 0);
  }

  Table open(bool calibrate) const {
    OpenOptions options;
    options.runtime.device = "cuda";
    options.tuning.calibrate = calibrate;
    return Table::open(path_.str(), options);
  }

  /// Every third key is absent.
  void expect_answers(Table& table, std::size_t items) const {
    for (const std::size_t n : {1u, 700u, 1024u, 1025u, 4096u, 5000u, 16384u, 16385u, 70000u}) {
      std::vector<std::uint64_t> keys(n * words()), values(2 * n), expected(2 * n);
      const auto found = std::make_unique<bool[]>(n);
      for (std::size_t i = 0; i < n; ++i) {
        const std::uint64_t key = i % 3 == 0 ? items + i : i * 7919 % items;
        keys[i * words()] = key;
        expected[2 * i] = i % 3 == 0 ? 0 : 2 * key;
        expected[2 * i + 1] = i % 3 == 0 ? 0 : 3 * key;
      }
      table.find(keys.data(), values.data(), n, found.get());
      EXPECT_EQ(values, expected) << n;
      for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(found[i], i % 3 != 0) << n << " row " << i;
    }
    const CheckReport report = table.check();
    EXPECT_TRUE(report.errors.empty()) << report.errors.front();
  }

  std::size_t words() const { return GetParam() / 8; }

 private:
  const PoolPath path_;
};

TEST_P(GpuChoices, AreMeasuredAtOpenAndWithinBounds) {
  HOLDFAST_NEEDS_GPU();
  constexpr std::size_t kItems = 1'200'000;
  ASSERT_NO_FATAL_FAILURE(fill(kItems));
  Stats defaults;
  {
    Table table = open(false);
    defaults = table.stats();
    EXPECT_EQ(defaults.search.calibration_ms, 0);
    EXPECT_EQ(defaults.search.unordered_rows + defaults.search.cluster_rows, kMostRows);
    EXPECT_EQ(defaults.search.gather_share, 4u);
    expect_answers(table, kItems);
  }
  Table table = open(true);
  const Stats stats = table.stats();
  EXPECT_GT(stats.search.calibration_ms, 0);
  EXPECT_LE(stats.search.unordered_rows, kMostRows);
  EXPECT_LE(stats.search.cluster_rows, kMostRows);
  EXPECT_GE(stats.search.gather_share, 1u);
  EXPECT_LE(stats.search.gather_share, 8u);
  EXPECT_EQ(stats.space.size, kItems);
  EXPECT_EQ(stats.value_cache.hits, 0u);
  expect_answers(table, kItems);
}

TEST_P(GpuChoices, SmallTablesGoByTheDefaults) {
  HOLDFAST_NEEDS_GPU();
  constexpr std::size_t kItems = 1000;
  ASSERT_NO_FATAL_FAILURE(fill(kItems));
  Table table = open(true);
  EXPECT_EQ(table.stats().search.calibration_ms, 0);
  EXPECT_EQ(table.stats().search.unordered_rows + table.stats().search.cluster_rows, kMostRows);
}

INSTANTIATE_TEST_SUITE_P(Keys, GpuChoices, testing::Values(8u, 32u));

}  // namespace
}  // namespace holdfast::test
