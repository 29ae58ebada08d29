// space_test.cpp: heaps that are full, and pools that a crash left, on the GPU.
#include <numeric>

#include "fixture.hpp"

namespace holdfast::test {
namespace {

std::vector<std::uint64_t> first_keys(std::size_t n) {
  std::vector<std::uint64_t> keys(n);
  std::iota(keys.begin(), keys.end(), std::uint64_t{1});
  return keys;
}

/// A heap that cannot grow past what it was made with.
Table bounded_table(const std::string& path, std::uint64_t capacity) {
  CreateOptions options;
  options.shape.value_bytes = 64;
  options.shape.capacity = capacity;
  options.runtime.device = "cuda";
  options.overwrite = true;
  options.shape.max_bytes = (capacity + capacity / 32 + 64) * options.shape.value_bytes;  // what the table begins with
  return Table::create(path, options);
}

TEST(GpuSpace, SmallUpdatesOfAFullHeapGoInParts) {
  HOLDFAST_NEEDS_GPU();
  const PoolPath path;
  Table table = bounded_table(path.str(), 1000);
  const auto keys = first_keys(4000);
  std::vector<std::uint64_t> values(keys.size() * 8, 1);
  std::vector<Status> statuses(keys.size());
  const BatchResult filled = table.insert(keys.data(), values.data(), keys.size(), statuses.data());
  const std::uint64_t inside = filled.of(Status::inserted);
  EXPECT_EQ(inside + filled.of(Status::no_space), keys.size());
  const std::uint64_t cells = table.stats().space.cells;  // a little more than asked for: whole pages
  ASSERT_LT(cells, keys.size());
  EXPECT_LE(inside, cells);
  EXPECT_GE(inside, cells - cells / 64 - 1);  // all but the reserve
  EXPECT_EQ(table.size(), inside);
  // Updates use the reserve, again and again, and all of them succeed.
  std::vector<std::uint64_t> there;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (statuses[i] == Status::inserted) there.push_back(keys[i]);
  }
  std::fill(values.begin(), values.end(), 2);
  EXPECT_EQ(table.insert_or_assign(there.data(), values.data(), there.size()).of(Status::updated), there.size());
  EXPECT_EQ(table.erase(there.data(), there.size()).of(Status::erased), there.size());
  EXPECT_EQ(table.insert(there.data(), values.data(), there.size()).of(Status::inserted), there.size());
  const CheckReport report = table.check();
  EXPECT_TRUE(report.errors.empty()) << report.errors.front();
}

/// Batches of more rows than there are free cells, which go in phases all the same.
TEST(GpuSpace, LargeUpdatesOfAFullHeapGoInParts) {
  HOLDFAST_NEEDS_GPU();
  const PoolPath path;
  Table table = bounded_table(path.str(), 400000);
  const std::size_t n = table.stats().space.cells - table.stats().space.cells / 8;
  const auto keys = first_keys(n);
  std::vector<std::uint64_t> values(n * 8, 1);
  ASSERT_EQ(table.insert(keys.data(), values.data(), n).of(Status::inserted), n);
  for (const Op op : {Op::assign, Op::insert_or_assign, Op::accumulate}) {
    std::uint64_t before = table.stats().work.phased_batches;
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = keys[i / 8] * static_cast<unsigned>(op) + i % 8;
    Batch batch;
    batch.size = n;
    batch.keys = keys.data();
    batch.values = values.data();
    batch.op = op;
    EXPECT_EQ(table.run(batch).of(Status::updated), n);
    EXPECT_GT(table.stats().work.phased_batches, before + 1) << int(op);
  }
  EXPECT_EQ(table.stats().growth.heap_growths, 0u);
  std::vector<std::uint64_t> seen(values.size());
  table.find(keys.data(), seen.data(), n);
  for (std::size_t i = 0; i < seen.size(); ++i) {
    const std::uint64_t assigned = keys[i / 8] * static_cast<unsigned>(Op::insert_or_assign) + i % 8;
    ASSERT_EQ(seen[i], assigned + values[i]) << i;
  }
  const CheckReport report = table.check();
  EXPECT_TRUE(report.errors.empty()) << report.errors.front();
}

TEST(GpuSpace, UpdatesNeverGrowTheHeapWithoutNeed) {
  HOLDFAST_NEEDS_GPU();
  const PoolPath path;
  CreateOptions options;
  options.shape.value_bytes = 64;
  options.shape.capacity = 20000;
  options.runtime.device = "cuda";
  options.overwrite = true;
  Table table = Table::create(path.str(), options);
  const auto keys = first_keys(10000);
  const std::vector<std::uint64_t> values(keys.size() * 8, 3);
  for (int i = 0; i < 20; ++i) table.insert_or_assign(keys.data(), values.data(), keys.size());
  EXPECT_EQ(table.stats().growth.heap_growths, 0u);
  EXPECT_EQ(table.size(), keys.size());
  const CheckReport report = table.check();
  EXPECT_TRUE(report.errors.empty()) << report.errors.front();
}

}  // namespace
}  // namespace holdfast::test
