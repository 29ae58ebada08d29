// rivals_test.cpp: the indexes that Holdfast is compared with answer as a map does, or a comparison with them says nothing.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <unordered_map>
#include <vector>

#include "../../bench/rivals/level.hpp"
#include "../../bench/rivals/slabs.hpp"

namespace holdfast::bench {
namespace {

constexpr unsigned kValueWords = 16;
using Value = std::vector<std::uint64_t>;

Value value_of(std::uint64_t key, std::uint64_t version) {
  Value value(kValueWords);
  fill_value(reinterpret_cast<std::byte*>(value.data()), 8 * kValueWords, key, version);
  return value;
}

/// Cells in ordinary memory, all free.
struct CellSpace {
  CellSpace(std::uint64_t cells, std::uint64_t cell_bytes) : heap(cells * cell_bytes / 16), free(cells) {
    for (std::uint64_t i = 0; i < cells; ++i) free[i] = static_cast<std::uint32_t>(i);
    taken[0] = 0;
    taken[1] = cells;
    view = {reinterpret_cast<std::byte*>(heap.data()), cell_bytes, cells, free.data(), taken};
  }
  std::vector<Words> heap;
  std::vector<std::uint32_t> free;
  std::uint64_t taken[2] = {};
  Cells view;
};

template <bool kInPlace>
struct LevelTable {
  static constexpr unsigned kBits = 7;  // 1,536 slots
  CellSpace space{2048, kInPlace ? 128 : 144};
  std::vector<Words> slots{Level<kInPlace>::slot_count(kBits)};
  std::vector<std::uint32_t> claimed = std::vector<std::uint32_t>(Level<kInPlace>::slot_count(kBits) / 32);
  Level<kInPlace> view{slots.data(), kBits, claimed.data(), space.view, kValueWords};

  Status insert(std::uint64_t key, const Value& value) {
    const Status status = view.insert(Thread{}, key, value.data());
    std::fill(claimed.begin(), claimed.end(), 0);  // a batch each
    return status;
  }
  Status assign(std::uint64_t key, const Value& value) { return view.assign(Thread{}, key, value.data()); }
  Status erase(std::uint64_t key) { return view.erase(Thread{}, key); }
  Status find(std::uint64_t key, Value& out) { return view.find(Thread{}, key, out.data()); }
};

struct SlabTable {
  CellSpace space{2048, 128};
  std::vector<Slab> slabs{400};
  std::vector<std::uint32_t> locks = std::vector<std::uint32_t>(100);
  std::uint64_t slabs_taken = 0;
  UndoEntry log{};
  Slabs view{slabs.data(), 100, 400, locks.data(), &slabs_taken, &log, space.view, kValueWords};

  template <class Do>
  Status locked(std::uint64_t key, const Do& act) {
    EXPECT_TRUE(view.lock(Thread{}, key));
    EXPECT_FALSE(view.lock(Thread{}, key));
    const Status status = act();
    view.unlock(Thread{}, key);
    return status;
  }
  Status insert(std::uint64_t key, const Value& value) {
    return locked(key, [&] { return view.insert(Thread{}, key, value.data(), &log); });
  }
  Status assign(std::uint64_t key, const Value& value) {
    return locked(key, [&] { return view.assign(Thread{}, key, value.data(), &log); });
  }
  Status erase(std::uint64_t key) {
    return locked(key, [&] { return view.erase(Thread{}, key, &log); });
  }
  Status find(std::uint64_t key, Value& out) { return view.find(Thread{}, key, out.data()); }
};

template <class Table>
class Rivals : public testing::Test {};
using Tables = testing::Types<LevelTable<true>, LevelTable<false>, SlabTable>;
TYPED_TEST_SUITE(Rivals, Tables);

TYPED_TEST(Rivals, AnswerAsAMapDoes) {
  TypeParam table;
  std::unordered_map<std::uint64_t, Value> map;
  Random random(7);
  Value out(kValueWords);
  for (unsigned step = 0; step < 60'000; ++step) {
    const std::uint64_t key = key_of(random.below(1000), 1);
    const Value value = value_of(key, step);
    const bool there = map.contains(key);
    switch (random.below(4)) {
      case 0:
        ASSERT_EQ(table.insert(key, value), there ? Status::exists : Status::inserted);
        map.emplace(key, value);
        break;
      case 1:
        ASSERT_EQ(table.assign(key, value), there ? Status::updated : Status::not_found);
        if (there) map[key] = value;
        break;
      case 2:
        ASSERT_EQ(table.erase(key), there ? Status::erased : Status::not_found);
        map.erase(key);
        break;
      default:
        ASSERT_EQ(table.find(key, out), there ? Status::found : Status::not_found);
        if (there) {
          ASSERT_EQ(out, map[key]);
        }
    }
  }
  EXPECT_GT(map.size(), 200U);
  EXPECT_EQ(table.space.taken[0] + 2048 - table.space.taken[1], map.size());  // no cell is lost
  for (const auto& [key, value] : map) {
    ASSERT_EQ(table.find(key, out), Status::found);
    ASSERT_EQ(out, value);
  }
}

TYPED_TEST(Rivals, SayThatTheyAreFull) {
  TypeParam table;
  std::uint64_t inserted = 0;
  Status status = Status::inserted;
  for (; status == Status::inserted && inserted < 2048; ++inserted)
    status = table.insert(key_of(inserted, 1), value_of(key_of(inserted, 1), 0));
  EXPECT_GT(inserted, 1000U);
  EXPECT_TRUE(status == Status::no_space || inserted == 2048);
}

/// A change of which only one word arrived, before its entry was voided.
TEST(SlabLog, TakesBackATornChange) {
  SlabTable table;
  const std::uint64_t key = key_of(5, 1);
  table.insert(key, value_of(key, 0));
  const std::vector<Slab> before = table.slabs;
  for (const bool first_word : {false, true}) {
    Words* const pair = table.slabs[table.view.bucket(key)].pair;
    const Words old = pair[0];
    const auto offset = static_cast<std::uint64_t>(reinterpret_cast<std::byte*>(pair) -
                                                   reinterpret_cast<std::byte*>(table.slabs.data()));
    table.log = {offset, old.first, old.second, UndoEntry::sealed(offset, old)};
    (first_word ? pair[0].first : pair[0].second) = 0;
    table.view.undo(&table.log);
    EXPECT_EQ(std::memcmp(before.data(), table.slabs.data(), before.size() * sizeof(Slab)), 0);
    EXPECT_EQ(table.log.seal, 0U);
    table.log.first ^= 1;  // an entry that is torn itself
    table.view.undo(&table.log);
    EXPECT_EQ(std::memcmp(before.data(), table.slabs.data(), before.size() * sizeof(Slab)), 0);
  }
}

}  // namespace
}  // namespace holdfast::bench
