// store_shortage_test.cpp: every allocation of an operation on an open store fails once. The store has what it had, or what the operation
// gave it, key by key, and works on: no claim is held, no memory of the heap is lost.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <new>
#include <set>
#include <string>
#include <vector>

#include "../minimum.hpp"
#include "../shortage.hpp"
#include "holdfast/store.hpp"
#include "holdfast/strings.hpp"
#include "holdfast/table.hpp"
#include "store/cpu/old_lines.hpp"
#include "support/folder.hpp"

namespace holdfast::proof {
namespace {

constexpr unsigned kStorePatience = 60;  // seconds, a case
constexpr int kStoreHeld = 10;

std::string short_key(int key) { return "key " + std::to_string(key); }
std::string old_value(int key) { return std::string(100 + key, 'o'); }
std::string large_value(char letter) { return std::string(700'000, letter); }

using Values = std::map<std::string, std::string>;

struct StoreCase {
  const char* name;
  StoreOptions options;
  std::function<void(Store&)> act;
  Values after;  ///< of the keys that it changes; an empty value: absent
};

void set_batch(Store& store) {
  Strings keys, values;
  for (int key = 0; key < 60; ++key) {
    keys.add(short_key(key));
    values.add(key % 20 == 7 ? large_value('b') : "batch");
  }
  if (store.set({keys.bytes(), keys.offsets(), keys.size()}, {values.bytes(), values.offsets(), values.size()}) != 0) {
    throw NoSpace("not all rows fit");
  }
}
Values after_batch() {
  Values after;
  for (int key = 0; key < 60; ++key) after[short_key(key)] = key % 20 == 7 ? large_value('b') : "batch";
  return after;
}

/// Every item once, unless an error ends it.
void visit_all(Store& store) {
  std::set<std::string> seen;
  store.for_each([&](std::string_view key, const StoreItem&) { return seen.emplace(key).second; });
  if (seen.size() != kStoreHeld) throw std::logic_error("a visit has not seen every item");
}

std::vector<StoreCase> store_cases() {
  return {{"store_set", {}, [](Store& store) { store.set("new", "1"); }, {{"new", "1"}}},
          {"store_set_in_a_new_class",
           {},
           [](Store& store) { store.set("key 1", large_value('n')); },
           {{"key 1", large_value('n')}}},
          {"store_append",
           {},
           [](Store& store) { store.append("key 2", std::string(5000, 'a')); },
           {{"key 2", old_value(2) + std::string(5000, 'a')}}},
          {"store_erase", {}, [](Store& store) { store.erase("key 3"); }, {{"key 3", ""}}},
          {"store_grows",
           {},
           [](Store& store) {
             for (int i = 0; i < 6; ++i) {
               if (store.set("large " + std::to_string(i), large_value('g')) == StoreStatus::no_space) return;
             }
           },
           {{"large 0", large_value('g')},
            {"large 1", large_value('g')},
            {"large 2", large_value('g')},
            {"large 3", large_value('g')},
            {"large 4", large_value('g')},
            {"large 5", large_value('g')}}},
          {"store_batch", {}, set_batch, after_batch()},
          {"store_read", {}, [](Store& store) { static_cast<void>(store.get("key 4")->value.size()); }, {}},
          {"store_visit", {}, visit_all, {}}};
}

class StoreShortages : public testing::TestWithParam<StoreCase> {
 protected:
  void SetUp() override { alarm(kStorePatience); }
  void TearDown() override { alarm(0); }

  /// False if the operation needs no more allocations than `at`.
  bool fail(std::int64_t at) {
    Pool pool = Pool::create(root_ / "a.hold", true);
    Store store = Store::create(pool, "s", GetParam().options);
    for (int key = 0; key < kStoreHeld; ++key) store.set(short_key(key), old_value(key));
    bool met = false;
    {
      const Shortage shortage(at);
      try {
        GetParam().act(store);
      } catch (const std::bad_alloc&) {
      } catch (const Error&) {
      }
      met = shortage.met();
    }
    expect_old_or_new(store, at);
    GetParam().act(store);  // nothing holds it up
    for (const auto& [key, value] : GetParam().after) {
      if (key == "key 2") continue;  // it may have been appended twice
      const auto item = store.get(key);
      EXPECT_EQ(item ? item->value : "", value) << key << ", allocation " << at;
    }
    for (int key = 0; key < kStoreHeld; ++key) EXPECT_NE(store.set(short_key(key), "last"), StoreStatus::no_space);
    const CheckReport report = store.check();
    EXPECT_TRUE(report.errors.empty()) << report.errors.front() << ", allocation " << at;
    store.close();
    const std::uint64_t items = report.items;
    Store again = Store::open(pool, "s");
    EXPECT_EQ(again.size(), items) << "allocation " << at;
    return met;
  }

 private:
  void expect_old_or_new(const Store& store, std::int64_t at) {
    const auto is = [&](const std::string& key, const std::string& value) {
      const auto item = store.get(key);
      return (item ? item->value : "") == value;
    };
    for (const auto& [key, value] : GetParam().after) {
      const bool was_there = key.starts_with("key ") && std::stoi(key.substr(4)) < kStoreHeld;
      EXPECT_TRUE(is(key, was_there ? old_value(std::stoi(key.substr(4))) : "") || is(key, value))
          << key << ", allocation " << at;
    }
    for (int key = 0; key < kStoreHeld; ++key) {
      EXPECT_TRUE(GetParam().after.contains(short_key(key)) || is(short_key(key), old_value(key))) << key;
    }
  }

  const test::Folder root_;
};

INSTANTIATE_TEST_SUITE_P(System, StoreShortages, testing::ValuesIn(store_cases()),
                         [](const auto& info) { return info.param.name; });

TEST_P(StoreShortages, LeaveAStoreThatWorks) {
  std::int64_t at = 0;
  try {
    while (fail(at) && !HasFailure()) ++at;
  } catch (const std::exception& error) {
    FAIL() << "allocation " << at << ": " << error.what();
  }
  expect_no_fewer(GetParam().name, at);
}

/// An allocation for what a snapshot keeps fails: the snapshot has no copy, and changes do not wait for one.
TEST(OldLinesShortage, EndsTheSnapshotAndNoChange) {
  constexpr std::uint64_t kBytes = 2 * 4096;
  struct alignas(4096) Heap {
    std::byte bytes[kBytes];
  };
  const auto heap = std::make_unique<Heap>();
  std::vector<std::byte> copy(kBytes);
  std::int64_t at = 0;
  for (bool met = true; met; ++at) {
    store::cpu::OldLines lines(heap->bytes, kBytes, 2 * store::cpu::OldLines::kLine);
    {
      const Shortage shortage(at);
      lines.keep(heap->bytes, 8);
      met = shortage.met();
    }
    if (!met) break;
    lines.keep(heap->bytes, kBytes);  // more than may be kept
    EXPECT_EQ(lines.kept(), 0u);
    EXPECT_THROW(lines.read(heap->bytes, kBytes, copy.data()), NoSpace) << "allocation " << at;
  }
  EXPECT_GE(at, 2);
}

}  // namespace
}  // namespace holdfast::proof
