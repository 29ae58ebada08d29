// export_test.cpp: exports of a table on a GPU, and operations on selected items, while batches change and grow it.
#include "device_arrays.hpp"
#include "support/export_checks.hpp"

namespace holdfast::test {
namespace {

TEST(GpuExport, EachKeyAppearsOnceWhileItemsMove) {
  HOLDFAST_NEEDS_GPU();
  for (const Shape& shape : {Shape{8}, Shape{24}, Shape{24, 2, 2, 8, 0, kHalfOfFree, 64}}) {
    GpuTable gpu(shape, 40000);
    const auto at_load = [&](double load) {
      return static_cast<std::uint64_t>(load * static_cast<double>(gpu.table->slots()));
    };
    const std::uint64_t there = at_load(0.8), most = at_load(0.94);
    insert_range(*gpu.table, 0, there);
    std::uint64_t next = there;
    const auto times = export_in_pieces(*gpu.table, there / 50, [&] {
      const std::uint64_t last = std::min(most, next + (most - there) / 40);
      insert_range(*gpu.table, next, last);
      next = last;
    });
    expect_each_once(times, there);
  }
}

TEST(GpuExport, EachKeyAppearsOnceWhileTheTableGrows) {
  HOLDFAST_NEEDS_GPU();
  GpuTable gpu({24}, 1000);
  insert_range(*gpu.table, 0, 1000);
  std::uint64_t next = 1000;
  const auto times = export_in_pieces(*gpu.table, 97, [&] {
    insert_range(*gpu.table, next, next + 1000);
    next += 1000;
  });
  EXPECT_GT(gpu.table->stats().growth.resizes, 1u);
  expect_each_once(times, 1000);
}

TEST(GpuExport, SelectedItemsGo) {
  HOLDFAST_NEEDS_GPU();
  constexpr std::uint64_t kKeys = 100000;
  GpuTable gpu({24}, kKeys);
  insert_range(*gpu.table, 0, kKeys);
  const std::uint64_t first = 1000, last = 1999;
  Selection range;
  range.first = &first;
  range.last = &last;
  EXPECT_EQ(gpu.table->table().erase_if(range), 1000u);
  Selection odd;
  odd.where = [](const void* key, const void*) { return *static_cast<const std::uint64_t*>(key) % 2 == 1; };
  EXPECT_EQ(gpu.table->table().size_if(odd), (kKeys - 1000) / 2);
  EXPECT_EQ(gpu.table->table().erase_if(odd), (kKeys - 1000) / 2);
  EXPECT_EQ(gpu.table->size(), (kKeys - 1000) / 2);
  const CheckReport report = gpu.table->check();
  EXPECT_TRUE(report.errors.empty()) << report.errors.front();
}

}  // namespace
}  // namespace holdfast::test
