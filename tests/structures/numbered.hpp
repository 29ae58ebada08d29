// numbered.hpp: numbered keys and values of both sizes, a table's items of these, and a counter of persists.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>

#include "holdfast/status.hpp"
#include "pool/medium/persist.hpp"

namespace holdfast::test {

/// A key or a value that stands for a number; of 16 bytes, the second word differs with it.
using Wide = std::array<std::uint64_t, 2>;
inline Wide wide(std::uint64_t number) { return {number, number * 3 + 1}; }

/// Inserts keys 0 to `items` - 1 into an empty table, replaces every third value, and erases every fifth key.
template <class Table>
void insert_and_change(Table& table, std::uint64_t items) {
  for (std::uint64_t i = 0; i < items; ++i) {
    ASSERT_EQ(table.insert(wide(i).data(), wide(i + 1).data()), Status::inserted);
    ASSERT_EQ(table.insert(wide(i).data(), wide(i + 2).data()), Status::exists);
  }
  EXPECT_EQ(table.size(), items);
  for (std::uint64_t i = 0; i < items; i += 3)
    ASSERT_EQ(table.assign(wide(i).data(), wide(i + 7).data()), Status::updated);
  for (std::uint64_t i = 0; i < items; i += 5) ASSERT_EQ(table.erase(wide(i).data()), Status::erased);
  EXPECT_EQ(table.erase(wide(0).data()), Status::not_found);
  EXPECT_EQ(table.assign(wide(0).data(), wide(1).data()), Status::not_found);
}

/// Expects what `insert_and_change` left, by searches and by a visit of all items.
template <class Table>
void expect_changed(const Table& table, std::uint64_t items) {
  EXPECT_EQ(table.size(), items - items / 5);
  std::map<std::uint64_t, std::uint64_t> visited;
  table.for_each([&](const void* key, const void* value) {
    visited[*static_cast<const std::uint64_t*>(key)] = *static_cast<const std::uint64_t*>(value);
    return true;
  });
  EXPECT_EQ(visited.size(), table.size());
  for (std::uint64_t i = 0; i < items; ++i) {
    const bool erased = i % 5 == 0;
    const std::uint64_t number = i + (i % 3 == 0 ? 7 : 1);
    Wide value = {99, 99};
    ASSERT_EQ(table.find(wide(i).data(), value.data()), erased ? Status::not_found : Status::found);
    ASSERT_EQ(value[0], erased ? 99 : number);
    if (!erased && table.key_bytes() == sizeof(Wide)) {
      ASSERT_EQ(value, wide(number));
    }
    ASSERT_EQ(visited.contains(i), !erased);
    if (!erased) {
      ASSERT_EQ(visited[i], number);
    }
  }
}

/// Counts the fences and the lines that are flushed.
class PersistCounter : public pool::FlushObserver {
 public:
  PersistCounter() : before_(pool::observe_flushes(this)) {}
  ~PersistCounter() override { pool::observe_flushes(before_); }
  void flush(const void* address, std::size_t bytes) noexcept override {
    pool::each_line(address, bytes, [this](const char* line) {
      ++counts.lines;
      counts.twice += flushed_.insert(line).second ? 0 : 1;
    });
  }
  void fence() noexcept override {
    ++counts.fences;
    flushed_.clear();
  }
  struct Counts {
    unsigned lines = 0, fences = 0;
    unsigned twice = 0;  ///< lines flushed twice without a fence in between
  } counts;

 private:
  pool::FlushObserver* const before_;
  std::set<const char*> flushed_;
};

}  // namespace holdfast::test
