// pairs_test.cpp: keys and values of any length on the GPU: full heaps, and large batches. conformance_test.cpp has every operation.
#include "heap/slab.hpp"
#include "pair_rows.hpp"

namespace holdfast::test {
namespace {

/// Eight slabs.
constexpr std::uint64_t kSmallPool = 16 << 20;

Table small_table(const PoolPath& path, std::uint64_t order_from = 0) {
  CreateOptions options = pair_options(16, order_from);
  options.shape.max_bytes = kSmallPool;
  return Table::create(path.str(), options);
}

/// The whole heap is used up; updates go on, in phases and one by one, and what does not fit says so.
TEST(GpuPairsSpace, SmallUpdatesOfAFullHeap) {
  HOLDFAST_NEEDS_GPU();
  for (const std::uint64_t order_from : {std::uint64_t{1}, kNeverOrdered}) {
    const PoolPath path;
    Table table = small_table(path, order_from);
    PairRows many = numbered_pairs(6000, 4000, 'a');
    const BatchResult filled = table.run(many.batch(Op::insert));
    const std::uint64_t inside = filled.of(Status::inserted);
    EXPECT_GT(inside, 2000u);
    EXPECT_EQ(inside + filled.of(Status::no_space), 6000u);
    EXPECT_EQ(table.size(), inside);
    PairRows other = numbered_pairs(6000, 4000, 'b');
    EXPECT_EQ(table.run(other.batch(Op::assign)).of(Status::updated), inside);
    const CheckReport report = table.check();
    EXPECT_TRUE(report.errors.empty()) << report.errors.front();
    EXPECT_EQ(table.stats().pairs.live_bytes, inside * heap::class_bytes(heap::class_of(16 + 8 + 4000)));
    EXPECT_EQ(table.run(other.batch(Op::erase)).of(Status::erased), inside);
    EXPECT_EQ(table.run(numbered_pairs(6000, 100, 'c').batch(Op::insert)).of(Status::inserted), 6000u)
        << "slabs change their class";
    EXPECT_TRUE(table.check().errors.empty());
  }
}

/// A heap that cannot hold a batch holds some of every size: no class takes the slabs of another that comes after it.
TEST(GpuPairsSpace, SmallEverySizeGetsItsShareOfAFullHeap) {
  HOLDFAST_NEEDS_GPU();
  for (const std::uint64_t order_from : {std::uint64_t{1}, kNeverOrdered}) {
    const PoolPath path;
    Table table = small_table(path, order_from);
    PairRows many = numbered_pairs(6000, 4000, 'a');
    many.values = {};
    for (std::size_t i = 0; i < 6000; ++i) many.values.add(std::string(i % 200 == 0 ? 40000 : 4000, 'a'));
    EXPECT_GT(table.run(many.batch(Op::insert)).of(Status::no_space), 0u);
    std::size_t large = 0, small = 0;
    for (std::size_t i = 0; i < many.statuses.size(); ++i) {
      if (many.statuses[i] == Status::inserted) ++(i % 200 == 0 ? large : small);
    }
    EXPECT_EQ(large, 30u) << "which one slab holds";
    EXPECT_GT(small, 1500u);
    EXPECT_TRUE(table.check().errors.empty());
  }
}

/// The same where rows read too: what they read is gathered before the cells are used again.
TEST(GpuPairsSpace, ReadsAndUpdatesOfAFullHeap) {
  HOLDFAST_NEEDS_GPU();
  const PoolPath path;
  Table table = small_table(path);
  PairRows many = numbered_pairs(6000, 4000, 'a');
  table.run(many.batch(Op::insert));
  std::vector<std::string> inside;
  for (std::size_t i = 0; i < many.statuses.size(); ++i) {
    if (many.statuses[i] == Status::inserted) inside.push_back("key " + std::to_string(i));
  }
  PairRows rows;
  std::vector<std::uint8_t> ops;
  for (const std::string& key : inside) {
    for (const Op op : {Op::find, Op::assign, Op::find}) {
      rows.add(key, op == Op::assign ? std::string(3990, 'b') : "");
      ops.push_back(static_cast<std::uint8_t>(op));
    }
  }
  Blobs blobs;
  Batch batch = rows.batch(Op::find);
  batch.ops = ops.data();
  batch.variable->blobs = &blobs;
  const BatchResult result = table.run(batch);
  EXPECT_EQ(result.of(Status::updated), inside.size());
  EXPECT_EQ(result.of(Status::found), 2 * inside.size());
  EXPECT_EQ(result.of(Status::no_space), 0u);
  for (std::size_t i = 0; i < inside.size(); ++i) {
    ASSERT_EQ(blobs[3 * i], std::string(4000, 'a')) << i;
    ASSERT_FALSE(blobs.has(3 * i + 1)) << i;
    ASSERT_EQ(blobs[3 * i + 2], std::string(3990, 'b')) << i;
  }
  const CheckReport report = table.check();
  EXPECT_TRUE(report.errors.empty()) << report.errors.front();
}

/// Batches that are large enough for phases by themselves.
TEST(GpuPairsSpace, LargeBatchesGoInPhases) {
  HOLDFAST_NEEDS_GPU();
  const PoolPath path;
  Table table = Table::create(path.str(), pair_options(300000));
  const std::size_t n = 200000;
  EXPECT_EQ(table.run(numbered_pairs(n, 20, 'a').batch(Op::insert)).of(Status::inserted), n);
  EXPECT_EQ(table.run(numbered_pairs(n, 30, 'b').batch(Op::insert)).of(Status::exists), n);
  for (const char fill : {'c', 'd', 'e'}) {
    EXPECT_EQ(table.run(numbered_pairs(n, 90, fill).batch(Op::insert_or_assign)).of(Status::updated), n);
  }
  EXPECT_GE(table.stats().work.phased_batches, 5u);
  Blobs blobs;
  PairRows expected = numbered_pairs(n, 90, 'e');
  Batch find = expected.batch(Op::find);
  find.variable->blobs = &blobs;
  EXPECT_EQ(table.run(find).of(Status::found), n);
  for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(blobs[i], std::string(90, 'e')) << i;
  EXPECT_TRUE(table.check().errors.empty());
  EXPECT_EQ(table.run(numbered_pairs(n / 2, 0, 'f').batch(Op::erase)).of(Status::erased), n / 2);
  EXPECT_EQ(table.size(), n - n / 2);
  const CheckReport report = table.check();
  EXPECT_TRUE(report.errors.empty()) << report.errors.front();
  table.close();
  EXPECT_TRUE(check(path.str()).errors.empty()) << "as the CPU sees it";
}

}  // namespace
}  // namespace holdfast::test
