// snapshot_fixture.hpp: a table of known items, the folders that it and its snapshots lie in, and what a snapshot must hold.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "holdfast/table.hpp"
#include "support/child.hpp"
#include "support/errors.hpp"
#include "support/folder.hpp"

namespace holdfast::test {

namespace fs = std::filesystem;

inline std::vector<std::uint64_t> keys_from(std::uint64_t first, std::size_t n) {
  std::vector<std::uint64_t> keys(n);
  std::iota(keys.begin(), keys.end(), first);
  return keys;
}

/// Values of `bytes` bytes that depend on their key and a version.
inline std::vector<std::uint8_t> values_of(const std::vector<std::uint64_t>& keys, std::uint32_t bytes,
                                           std::uint64_t version) {
  std::vector<std::uint8_t> values(keys.size() * bytes + 1);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    for (std::uint32_t b = 0; b < bytes; ++b) {
      values[i * bytes + b] = static_cast<std::uint8_t>((keys[i] + 1) * 31 + b * 7 + version * 13);
    }
  }
  return values;
}

inline Table make(const std::string& path, std::uint32_t bytes, std::uint64_t capacity = 16) {
  CreateOptions options;
  options.shape.value_bytes = bytes;
  options.shape.capacity = capacity;
  options.runtime.device = "cpu";
  return Table::create(path, options);
}

inline void expect_holds(Table& table, const std::vector<std::uint64_t>& keys, std::uint64_t version) {
  const std::uint32_t bytes = table.value_bytes();
  ASSERT_EQ(table.size(), keys.size());
  std::vector<std::uint8_t> values(keys.size() * bytes + 1);
  const std::unique_ptr<bool[]> found(new bool[keys.size() + 1]);
  table.find(keys.data(), values.data(), keys.size(), found.get());
  for (std::size_t i = 0; i < keys.size(); ++i) ASSERT_TRUE(found[i]) << keys[i];
  EXPECT_EQ(values, values_of(keys, bytes, version));
  const CheckReport report = table.check();
  EXPECT_TRUE(report.errors.empty()) << report.errors.front();
}

inline void expect_snapshot(const std::string& path, const std::vector<std::uint64_t>& keys, std::uint64_t version) {
  OpenOptions options;
  options.runtime.device = "cpu";
  options.read_only = true;
  Table table = Table::open(path, options);
  expect_holds(table, keys, version);
}

inline std::vector<char> read_all(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

class Snapshot : public testing::Test {
 protected:
  static constexpr std::uint32_t kBytes = 64;
  void fill(std::uint64_t version) {
    table->insert_or_assign(keys.data(), values_of(keys, kBytes, version).data(), keys.size());
  }
  /// Runs `body` in a forked child with a table of its own; returns what `test::in_child` does.
  int in_child(const std::function<void()>& body) {
    table->close();
    const int status = test::in_child([&] {
      table.emplace(Table::open(source, {.runtime = {.device = "cpu"}}));
      body();
      return testing::Test::HasFailure() ? 98 : 0;
    });
    table.emplace(Table::open(source, {.runtime = {.device = "cpu"}}));
    return status;
  }

  const Folder folder{"/dev/shm"}, disk{"/tmp"};
  const std::string source = folder / "a.hold", target = disk / "b.hold";
  const std::vector<std::uint64_t> keys = keys_from(0, 40'000);
  std::optional<Table> table{make(source, kBytes, 40'000)};
};

}  // namespace holdfast::test
