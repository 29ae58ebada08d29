// dramhit_shortage_test.cpp: every allocation of a handle to a partitioned table in memory fails once, those of the partitions'
// threads among them. The program goes on, and so does the table.
#include <gtest/gtest.h>
#include <unistd.h>

#include <new>

#include "holdfast/memory_table.hpp"
#include "minimum.hpp"
#include "shortage.hpp"

namespace holdfast::proof {
namespace {

constexpr unsigned kWaitS = 60;  // seconds
constexpr std::uint64_t kKeys = 200;

void put_all(MemoryTable& table, std::uint64_t version) {
  MemoryAnswers answers;
  MemoryHandle handle = table.handle();
  for (std::uint64_t key = 1; key <= kKeys; ++key) {
    if (handle.put(&key, &version, {}, 1, answers) != 1) throw std::bad_alloc();
  }
  while (!handle.flush(answers)) continue;
}

TEST(DramhitShortages, OfAHandleEndNoPartition) {
  alarm(kWaitS);
  std::int64_t at = 0;
  for (bool met = true; met; ++at) {
    MemoryTable table({.capacity = 10'000, .partitions = 2});  // a new one: its partitions know of no queue yet
    {
      const Shortage shortage(at);
      try {
        put_all(table, 1);
      } catch (const std::bad_alloc&) {
      }
      met = shortage.met();
    }
    put_all(table, 2);
    ASSERT_EQ(table.size(), kKeys) << "allocation " << at;
  }
  expect_no_fewer("handle", at - 1);
  alarm(0);
}

}  // namespace
}  // namespace holdfast::proof
