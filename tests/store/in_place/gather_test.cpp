// gather_test.cpp: values that a batch of reads puts into an array: on the host, and by a device that copies late.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "holdfast/store_memory.hpp"
#include "store/cpu/engine.hpp"
#include "store/engine_kit.hpp"
#include "store/in_place/fake_device.hpp"
#include "store/store_fixture.hpp"

namespace holdfast {
namespace {

/// What `Store::get` fills, with bytes that it must replace.
struct FilledArray {
  FilledArray(std::size_t rows, std::uint64_t its_row_bytes)
      : row_bytes(its_row_bytes), memory(rows * row_bytes, '?'), statuses(rows), bytes(rows, 77) {}
  void get(const Store& store, const Strings& keys, bool on_device) {
    store.get(rows_of(keys), {memory.data(), row_bytes, on_device}, statuses, bytes);
  }
  void expect(std::size_t row, StoreStatus status, std::uint64_t size, const std::string& value) const {
    EXPECT_EQ(statuses[row], status) << row;
    EXPECT_EQ(bytes[row], size) << row;
    std::string wanted = value;
    wanted.resize(row_bytes, '\0');
    EXPECT_TRUE(memory.substr(row * row_bytes, row_bytes) == wanted) << row;
  }
  const std::uint64_t row_bytes;
  std::string memory;
  std::vector<StoreStatus> statuses;
  std::vector<std::uint64_t> bytes;
};

/// Whether the array is a GPU's.
class StoreGather : public StoreTest, public testing::WithParamInterface<bool> {
 protected:
  Store make_any(std::uint64_t limit = 64 << 20) {
    return make({.limit_bytes = limit, .max_value_bytes = 16u << 20, .gpu = GetParam()});
  }
#ifndef HOLDFAST_WITH_CUDA
  store::FakeDevice device_;
#endif
};

TEST_P(StoreGather, RowsHaveValuesAndZerosBehindThem) {
  Store store = make_any();
  const std::string large(5'000'003, 'l'), whole(100, 'w');
  store.set("small", "abc");
  store.set("whole", whole);
  store.set("empty", "");
  store.set("larger", whole + "w");
  store.set("large", large);
  const Strings keys = strings({"small", "none", "whole", "empty", "larger", "small"});
  FilledArray some(keys.size(), 100);
  some.get(store, keys, GetParam());
  some.expect(0, StoreStatus::found, 3, "abc");
  some.expect(1, StoreStatus::not_found, 0, "");
  some.expect(2, StoreStatus::found, 100, whole);
  some.expect(3, StoreStatus::found, 0, "");
  some.expect(4, StoreStatus::too_large, 101, "");
  some.expect(5, StoreStatus::found, 3, "abc");
  FilledArray chunks(2, 5'000'010);
  chunks.get(store, strings({"large", "whole"}), GetParam());
  chunks.expect(0, StoreStatus::found, large.size(), large);
  chunks.expect(1, StoreStatus::found, 100, whole);
  FilledArray nothing(2, 0);
  nothing.get(store, strings({"empty", "small"}), GetParam());
  nothing.expect(0, StoreStatus::found, 0, "");
  nothing.expect(1, StoreStatus::too_large, 3, "");
  std::string memory(6, '?');
  store.get(rows_of(strings({"small", "none"})), {memory.data(), 3, GetParam()});  // without answers
  EXPECT_EQ(memory, std::string("abc\0\0\0", 6));
  FilledArray none(0, 8);
  none.get(store, strings({}), GetParam());
}

TEST_P(StoreGather, ManyRows) {
  constexpr std::size_t kRows = 40'000;
  Store store = make_any();
  std::vector<std::string> names;
  for (std::size_t i = 0; i < kRows; ++i) {
    names.push_back("key " + std::to_string(i));
    if (i % 3 != 0) store.set(names.back(), "value " + std::to_string(i));
  }
  std::shuffle(names.begin(), names.end(), std::mt19937_64(3));
  FilledArray rows(kRows, 11);
  rows.get(store, Strings(names), GetParam());
  for (std::size_t i = 0; i < kRows && !HasFailure(); ++i) {
    const std::string number = names[i].substr(4), value = "value " + number;
    if (std::stoul(number) % 3 == 0) {
      rows.expect(i, StoreStatus::not_found, 0, "");
    } else {
      rows.expect(i, StoreStatus::found, value.size(), value);
    }
  }
  for (const std::string& name : names) store.erase(name);
  store.close();
}

TEST_P(StoreGather, ValuesAreWholeBesideChanges) {
  Store store = make_any();
  const Strings keys = strings({"a", "b", "c", "d"});
  const auto change = [&](int i) {
    for (const char* key : {"a", "b", "c", "d"}) {
      store.set(key, std::string(100 + static_cast<std::size_t>(i) % 3 * 200, static_cast<char>('a' + i % 26)));
      if (i % 5 == 0) store.erase(key);
    }
  };
  change(1);
  std::jthread changing([&](const std::stop_token& ends) {
    for (int i = 0; !ends.stop_requested(); ++i) change(i);
  });
  for (int i = 0; i < (kSanitized ? 100 : 2'000) && !HasFailure(); ++i) {
    FilledArray rows(4, 500);
    rows.get(store, keys, GetParam());
    for (std::size_t row = 0; row < 4; ++row) {
      const char letter = rows.memory[row * 500];
      if (rows.statuses[row] == StoreStatus::found) {
        rows.expect(row, StoreStatus::found, rows.bytes[row], std::string(rows.bytes[row], letter));
      } else {
        rows.expect(row, StoreStatus::not_found, 0, "");
      }
    }
  }
}

TEST_P(StoreGather, BadArgumentsFillNothing) {
  Store store = make_any();
  FilledArray rows(2, 8);
  const Strings keys = strings({"a", "b"});
  EXPECT_THROW(store.get(rows_of(keys), {nullptr, 8, GetParam()}, rows.statuses, rows.bytes), InvalidArgument);
  rows.statuses.pop_back();
  EXPECT_THROW(rows.get(store, keys, GetParam()), InvalidArgument);
  rows.statuses.resize(2);
  rows.bytes.pop_back();
  EXPECT_THROW(rows.get(store, keys, GetParam()), InvalidArgument);
  rows.bytes.resize(2);
  if (!GetParam()) {
    EXPECT_THROW(rows.get(store, keys, true), InvalidArgument);
  }
  EXPECT_EQ(rows.memory, std::string(16, '?'));
  store.close();
  EXPECT_THROW(rows.get(store, keys, GetParam()), ObjectClosed);
}

std::string name_of_place(const testing::TestParamInfo<bool>& each) { return each.param ? "device" : "host"; }

#ifdef HOLDFAST_WITH_CUDA
INSTANTIATE_TEST_SUITE_P(Places, StoreGather, testing::Values(false), name_of_place);
#else
INSTANTIATE_TEST_SUITE_P(Places, StoreGather, testing::Bool(), name_of_place);

class StoreDeviceGather : public StoreTest {
 protected:
  store::FakeDevice device_;
};

TEST_F(StoreDeviceGather, NoCellIsUsedAgainBeforeItIsCopied) {
  Store store = make({.limit_bytes = 8 << 20, .gpu = true});
  const std::string text(100'000, 't');
  for (const char* key : {"a", "b", "c"}) store.set(key, text);
  device_.during = [&] {
    std::jthread([&] {
      store.erase("a");
      store.set("b", "other");
      for (int i = 0; i < 50; ++i) {
        store.set("more " + std::to_string(i), std::string(100'000, 'm'));
        if (i % 2 == 0) store.erase("more " + std::to_string(i));
      }
    });
  };
  FilledArray rows(3, text.size());
  rows.get(store, strings({"a", "b", "c"}), true);
  for (std::size_t row = 0; row < 3; ++row) rows.expect(row, StoreStatus::found, text.size(), text);
  EXPECT_EQ(device_.copies, 1u);
}

TEST_F(StoreDeviceGather, AFailureLeavesNothingLeased) {
  Store store = make({.limit_bytes = 8 << 20, .gpu = true});
  const auto fill = [&] {
    std::size_t rows = 0;
    while (store.set(std::to_string(rows), std::string(200'000, 'v')) == StoreStatus::inserted) ++rows;
    return rows;
  };
  const std::size_t all = fill();
  std::vector<std::string> names;
  for (std::size_t i = 0; i < all; ++i) names.push_back(std::to_string(i));
  FilledArray rows(all, 200'000);
  for (const bool fails : {true, false}) {
    device_.fails = fails;
    if (fails) {
      EXPECT_THROW(rows.get(store, Strings(names), true), DeviceError);
    } else {
      rows.get(store, Strings(names), true);
    }
    for (const std::string& name : names) store.erase(name);
    EXPECT_EQ(fill(), all);
  }
}
#endif

using store::cpu::Engine;

/// A key changes after it was looked up, and before its cell is leased: when the clock is asked whether a later row has expired.
class LeaseOfEngine : public store::cpu::EngineTest {
 protected:
  static inline Engine* engine = nullptr;  ///< null: time passes, and nothing else
};

TEST_P(LeaseOfEngine, AnItemThatIsReplacedBetweenIsNotLeased) {
  store::cpu::Heap heap(4);
  store::cpu::EngineOptions its = options();
  its.clock = []() -> std::uint64_t {
    if (Engine* const changed = std::exchange(engine, nullptr)) {
      EXPECT_EQ(store::cpu::set(*changed, "replaced", "new"), store::Change::replaced);
      EXPECT_EQ(changed->erase(store::cpu::bytes_of("erased")), store::Change::erased);
      for (int i = 0; i < 4; ++i) store::cpu::set(*changed, "other " + std::to_string(i), "o");
    }
    return time_now;
  };
  Engine store(mapped(heap), {}, its);
  for (const char* key : {"replaced", "erased", "kept"}) store::cpu::set(store, key, "old");
  store::cpu::set(store, "expires", "old", 0, 0, 5'000);
  const Strings keys = strings({"replaced", "erased", "none", "kept", "expires", "kept"});
  std::vector<Engine::Leased> rows(keys.size());
  engine = &store;
  ASSERT_TRUE(store.lease({reinterpret_cast<const std::byte*>(keys.bytes()), keys.offsets(), keys.size()},
                          [&](std::size_t row) -> Engine::Leased& { return rows[row]; }));
  EXPECT_EQ(engine, nullptr) << "nothing changed between";
  const auto text = [&](std::size_t row) {
    if (rows[row].cell.none()) return std::string("-");
    const auto piece = rows[row].pieces.at(0);
    return std::string(reinterpret_cast<const char*>(piece.data()), piece.size());
  };
  EXPECT_EQ(text(0), "new");
  EXPECT_EQ(text(1), "-");
  EXPECT_EQ(text(2), "-");
  for (const std::size_t row : {3, 4, 5}) EXPECT_EQ(text(row), "old");
  for (const Engine::Leased& row : rows) {
    if (!row.cell.none()) store.end_lease(row);
  }
}

INSTANTIATE_TEST_SUITE_P(Indexes, LeaseOfEngine, testing::Values(32u, 32u | store::cpu::kBatched), store::cpu::name_of);

}  // namespace
}  // namespace holdfast
