// shortage_test.cpp: every allocation of an operation on an open table fails once. The table has what it had, and works on, or
// says why not and works once it is opened again.
#include "shortage.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <new>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "items.hpp"
#include "minimum.hpp"
#include "support/folder.hpp"

namespace holdfast::proof {
namespace {

constexpr unsigned kPatience = 120;  // seconds, a subject: pairs grow by 16 MiB each time
constexpr std::uint64_t kFirst = 10, kLast = 300;

struct Case {
  std::string name;
  Tables tables;
  std::function<void(Table&, const std::string& folder)> act;
  std::uint64_t first = 0, last = 0;  ///< the keys that get version 2
};

void put_new(Table& table, std::uint64_t first, std::uint64_t last) {
  Items done;
  put_items(table, first, last, 2, done);
}
void put_all(Table& table, const std::string&) { put_new(table, kFirst, kLast); }
void put_again(Table& table, const std::string&) {
  Items done;
  put_items(table, 0, kFirst, 2, done);
}

void put_one(Table& table, const std::string&) {
  Items done;
  put_items(table, kFirst, kFirst + 1, 2, done);
}

static_assert(kFirst % 2 == 0, "its value is short");

/// Pairs are added and read in one, while their keys are claimed.
void put_and_read(Table& table, const std::string&) {
  const std::uint64_t keys[] = {0, kFirst}, offsets[] = {0, 8, 16}, values[] = {kFirst, 2, kFirst, 2},
                      value_offsets[] = {0, 16, 32};
  Status statuses[2];
  Blobs blobs;
  Batch batch;
  batch.size = 2;
  batch.op = Op::insert_and_find;
  batch.keys = keys;
  batch.variable = VariableLength{.key_offsets = offsets, .value_offsets = value_offsets, .blobs = &blobs};
  batch.values = values;
  batch.statuses = statuses;
  table.run(batch);
}

/// Items move while they are exported: each that is there throughout comes once, or the export is refused.
void put_in_exports(Table& table, const std::string&) {
  for (std::uint64_t next = kFirst; next < kLast; next += 20) {
    std::uint64_t cursor = 0, keys[kLast];
    std::size_t count = table.export_batch(cursor, keys, nullptr, next / 2);
    try {
      put_new(table, next, std::min(next + 20, kLast));
    } catch (const std::bad_alloc&) {
    }
    while (cursor != ~std::uint64_t{0}) count += table.export_batch(cursor, keys + count, nullptr, kLast - count);
    std::set<std::uint64_t> met;
    for (std::size_t i = 0; i < count; ++i) {
      if (!met.insert(keys[i]).second) throw std::logic_error("an export has a key twice");
    }
    for (std::uint64_t key = 0; key < kFirst; ++key) {
      if (met.count(key) == 0) throw std::logic_error("an export has lost a key");
    }
  }
}

const std::string kCopy = "/copy.hold";

const Tables kSlotItems{.value_bytes = 8, .capacity = 8}, kCellItems{.value_bytes = 16, .capacity = 8},
    kSpaciousItems{.value_bytes = 16, .capacity = 1000},  // a snapshot holds a compact copy
    kPairs{.value_bytes = kVariableBytes, .capacity = 8},
    kManyPairs{.value_bytes = kVariableBytes, .capacity = 2 * kLast};

void copy(Table& table, const std::string& folder) { table.snapshot(folder + kCopy); }

std::vector<Case> cases() {
  return {{"check", kCellItems, [](Table& table, const std::string&) { must_be_in_order(table.check()); }},
          {"grow_levels", kSlotItems, put_all, kFirst, kLast},
          {"grow_heap", kCellItems, put_all, kFirst, kLast},
          {"update_cells", kCellItems, put_again, 0, kFirst},
          {"insert_pair", kPairs, put_one, kFirst, kFirst + 1},
          {"update_pairs", kPairs, put_again, 0, kFirst},
          {"grow_pairs", kManyPairs, put_all, kFirst, kLast},
          {"read_pairs", kPairs, put_and_read, kFirst, kFirst + 1},
          {"export_moved", kSlotItems, put_in_exports, kFirst, kLast},
          {"reserve", kSlotItems, [](Table& table, const std::string&) { table.reserve(kLast); }},
          {"snapshot", kCellItems, copy},
          {"snapshot_compact", kSpaciousItems, copy}};
}

/// Whether the table refuses to work until it is opened again: a resize that had begun found no memory to end. Else it is in order:
/// no claim is held, for which the next change would wait.
bool is_shut(Table& table) {
  try {
    must_be_in_order(table.check());
    return false;
  } catch (const NoSpace& error) {
    EXPECT_NE(std::string(error.what()).find("open it again"), std::string::npos) << error.what();
    return true;
  }
}

class Shortages : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override { alarm(kPatience); }
  void TearDown() override { alarm(0); }

  /// A snapshot is whole, or there is none; nothing else is left in the folder.
  std::string compare_copy(const PoolState& before) const {
    std::string wrong;
    for (const auto& file : std::filesystem::directory_iterator(root_.path())) {
      const std::string path = file.path();
      if (path == root_ / "a.hold") continue;
      if (path != root_.path() + kCopy) {
        wrong += path + " was left; ";
        continue;
      }
      {
        Table copy = Table::open(path);
        wrong += compare(items_of(copy, wrong), &before, &before);
      }
      std::filesystem::remove(path);
    }
    return wrong;
  }

  /// False if the operation needs no more allocations than `at`.
  bool fail(std::int64_t at) {
    const std::string path = root_ / "a.hold";
    Table table = Table::create(path, create_options(GetParam().tables, true));
    PoolState before, after;
    put_items(table, 0, kFirst, 1, before.items);
    after = before;
    for (std::uint64_t key = GetParam().first; key < GetParam().last; ++key) after.items[key] = 2;
    bool met = false;
    {
      const Shortage shortage(at);
      try {
        GetParam().act(table, root_.path());
      } catch (const std::bad_alloc&) {
      } catch (const Error&) {
      }
      met = shortage.met();
    }
    if (is_shut(table)) {
      table.close();
      table = Table::open(path);
    }
    std::string wrong;
    wrong += compare(items_of(table, wrong), &before, &after);
    wrong += compare_copy(before);
    Items rest;
    put_items(table, kFirst, kLast, 1, rest);
    EXPECT_EQ(rest.size(), kLast - kFirst) << "not all fit afterwards";
    for (const std::string& error : table.check().errors) wrong += error + "; ";
    EXPECT_EQ(wrong, "") << "allocation " << at;
    table.close();
    return met;
  }

 private:
  const test::Folder root_;
};

INSTANTIATE_TEST_SUITE_P(System, Shortages, testing::ValuesIn(cases()),
                         [](const auto& info) { return info.param.name; });
/// Every third allocation, where there are hundreds, which the same few places make again and again, or where a sanitizer makes
/// them slow; make proof has them all.
std::int64_t step_for(const std::string& subject) {
  const bool many = subject == "grow_pairs" || subject == "export_moved";
  return is_long() || (tries_all() && !many) ? 1 : 3;
}

TEST_P(Shortages, LeaveATableThatWorks) {
  std::int64_t at = 0;
  try {
    while (fail(at) && !HasFailure()) at += step_for(GetParam().name);
  } catch (const std::exception& error) {
    FAIL() << "allocation " << at << ": " << error.what();
  }
  expect_no_fewer(GetParam().name, at);
}

}  // namespace
}  // namespace holdfast::proof
