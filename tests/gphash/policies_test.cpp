// policies_test.cpp: the contracts of GPHash's policies: what the concepts list suffices for the protocol, and all of it is needed.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <vector>

#include "minimal_policies.hpp"
#include "structures/gphash/protocol/phases.hpp"
#include "structures/gphash/protocol/recover.hpp"
#include "structures/gphash/protocol/rehash.hpp"
#include "structures/gphash/protocol/run.hpp"
#include "support/lacks.hpp"

namespace holdfast::gphash {
namespace {

template <class M>
inline constexpr bool suffices = OperationMemory<M, DefaultVariableShape>;
static_assert(HOLDFAST_NEEDS(MinimalMemory, keeps) && HOLDFAST_NEEDS(MinimalMemory, kReadersFlush));
static_assert(HOLDFAST_NEEDS(MinimalMemory, load) && HOLDFAST_NEEDS(MinimalMemory, store));
static_assert(HOLDFAST_NEEDS(MinimalMemory, flush) && HOLDFAST_NEEDS(MinimalMemory, fence));
static_assert(HOLDFAST_NEEDS(MinimalMemory, order) && HOLDFAST_NEEDS(MinimalMemory, store_pair));
static_assert(HOLDFAST_NEEDS(MinimalMemory, store_words) && HOLDFAST_NEEDS(MinimalMemory, given_word));
static_assert(HOLDFAST_NEEDS(MinimalMemory, load_still) && HOLDFAST_NEEDS(MinimalMemory, same_words));
static_assert(HOLDFAST_NEEDS(MinimalMemory, same_bytes) && HOLDFAST_NEEDS(MinimalMemory, show));
static_assert(HOLDFAST_NEEDS(MinimalMemory, show_word) && HOLDFAST_NEEDS(MinimalMemory, show_words));
static_assert(HOLDFAST_NEEDS(MinimalMemory, hide) && HOLDFAST_NEEDS(MinimalMemory, peek));
static_assert(HOLDFAST_NEEDS(MinimalMemory, poke) && HOLDFAST_NEEDS(MinimalMemory, swap));
static_assert(HOLDFAST_NEEDS(MinimalMemory, put_byte) && HOLDFAST_NEEDS(MinimalMemory, load_value));
static_assert(HOLDFAST_NEEDS(MinimalMemory, store_value) && HOLDFAST_NEEDS(MinimalMemory, take_cell));
static_assert(HOLDFAST_NEEDS(MinimalMemory, return_cell) && HOLDFAST_NEEDS(MinimalMemory, retire_cell));
static_assert(HOLDFAST_NEEDS(MinimalMemory, take_pair) && HOLDFAST_NEEDS(MinimalMemory, return_pair));
static_assert(HOLDFAST_NEEDS(MinimalMemory, retire_pair) && HOLDFAST_NEEDS(MinimalMemory, take_bytes));
static_assert(HOLDFAST_NEEDS(MinimalMemory, kNotesReads) && HOLDFAST_NEEDS(MinimalMemory, kColumns));
static_assert(HOLDFAST_NEEDS(MinimalMemory, count_items) && HOLDFAST_NEEDS(MinimalMemory, note_move));
static_assert(HOLDFAST_NEEDS(MinimalMemory, count_retry));

static_assert(PhasedMemory<MinimalPhases> && !PhasedMemory<MinimalMemory>);
static_assert(!SeesChanges<MinimalMemory> && !SeesAttempts<MinimalMemory> && !TrustsHashes<MinimalMemory>);

struct NoPairs : MinimalMemory {
  void take_pair() const {}
};
static_assert(OperationMemory<NoPairs, DefaultShape>, "cells of one size need none");
static_assert(!OperationMemory<NoPairs, DefaultVariableShape>);
struct NotingReads : MinimalMemory {
  static constexpr bool kNotesReads = true;
  void take_bytes() const {}
};
static_assert(OperationMemory<NotingReads, DefaultVariableShape>, "it copies no bytes");

/// The same of tiles.
struct Tiles {
  template <class T>
  static constexpr bool suffices = OperationTile<T, MinimalMemory, DefaultShape>;
  static_assert(HOLDFAST_NEEDS(MinimalTile, once) && HOLDFAST_NEEDS(MinimalTile, peek));
  static_assert(HOLDFAST_NEEDS(MinimalTile, load_tags) && HOLDFAST_NEEDS(MinimalTile, match));
  static_assert(HOLDFAST_NEEDS(MinimalTile, first_item) && HOLDFAST_NEEDS(MinimalTile, flush_slots));
  static_assert(HOLDFAST_NEEDS(MinimalTile, stands) && HOLDFAST_NEEDS(MinimalTile, write_cell));
  static_assert(HOLDFAST_NEEDS(MinimalTile, read_cell) && HOLDFAST_NEEDS(MinimalTile, copy_cell));
  static_assert(HOLDFAST_NEEDS(MinimalTile, combine_cell) && HOLDFAST_NEEDS(MinimalTile, write_pair));
  static_assert(HOLDFAST_NEEDS(MinimalTile, zero_cell) && HOLDFAST_NEEDS(MinimalTile, write_column));
  static_assert(HOLDFAST_NEEDS(MinimalTile, combine_column) && HOLDFAST_NEEDS(MinimalTile, copy));
  static_assert(HOLDFAST_NEEDS(MinimalTile, zero));
};
static_assert(!OperationTile<MinimalTile, NoPairs, DefaultVariableShape>, "a tile does only for a memory that does");

struct TwoKinds : DefaultShape {
  static constexpr bool kMayBeWide = true, kVariable = true;
};
static_assert(!LevelShape<TwoKinds> && !LevelShape<MinimalTile>);

constexpr std::uint32_t kValueBytes = 16;
using Value = std::array<std::uint64_t, 2>;

/// A table of a few buckets that only these policies know.
template <class Shape>
class SmallTable {
 public:
  explicit SmallTable(unsigned top_level) {
    view_.top_level = top_level;
    view_.seed = 5;
    view_.value_bytes = kValueBytes;
    view_.cell_bytes = kValueBytes;
    view_.may_move = true;
    for (unsigned rank = 0; rank < view_.shape.levels(); ++rank) {
      slots_[rank].assign(view_.buckets(rank) * view_.shape.slots() * view_.slot_bytes() / 8, 0);
      view_.level[rank] = reinterpret_cast<Slot*>(slots_[rank].data());
    }
    tags_.assign(view_.tag_words(), 0);
    heap_.assign(Shape::kVariable ? 2 * heap::kSlabBytes / 8 : 1 << 12, 0);
    view_.reserved_slot = &reserved_;
    view_.tags = tags_.data();
    view_.heap = reinterpret_cast<std::byte*>(heap_.data());
    view_.cells = Shape::kVariable ? 2 : heap_.size() * 8 / kValueBytes;
  }

  struct Answer {
    Outcome outcome;
    Status status;
    bool found;
    Value value;
  };
  Answer run(Op op, std::uint64_t number, Value value = {}) {
    Answer answer{};
    std::uint64_t offsets[2] = {0, kValueBytes};
    Blob blob;
    Arena arena;
    Rows rows;
    rows.values = reinterpret_cast<const std::byte*>(value.data());
    rows.statuses = &answer.status;
    rows.found = &answer.found;
    rows.op = op;
    rows.value_bytes = kValueBytes;
    if (Shape::kVariable) {
      rows.value_offsets = offsets;
      rows.blobs = &blob;
      rows.arena = &arena;
    } else {
      rows.out = reinterpret_cast<std::byte*>(answer.value.data());
    }
    with_key(number, [&](const Key& key) {
      answer.outcome =
          apply_run(MinimalTile{}, memory, view_, rows, Run<std::uint32_t>{}, Candidates<Shape>(view_, key), Permits{});
    });
    if (blob.size == kValueBytes) std::memcpy(answer.value.data(), blob.data, kValueBytes);
    return answer;
  }
  Found find(std::uint64_t number) {
    Found found;
    with_key(number, [&](const Key& key) {
      found = find_settled(MinimalTile{}, memory, view_, Candidates<Shape>(view_, key));
    });
    return found;
  }
  template <class Use>
  void with_key(std::uint64_t number, const Use& use) {
    const std::uint64_t words[2] = {number, ~number};
    const auto* const bytes = reinterpret_cast<const std::byte*>(words);
    if constexpr (Shape::kVariable) {
      const Part part{bytes, sizeof words};
      use(Key(hash_of(part, view_.seed), part));
    } else {
      use(given_key<MinimalMemory>(view_, bytes));
    }
  }
  const View<Shape>& view() const { return view_; }

  MinimalMemory memory;

 private:
  View<Shape> view_;
  std::vector<std::uint64_t> slots_[2], tags_, heap_;
  Slot reserved_{};
};

template <class Shape>
class MinimalPolicies : public testing::Test {};
using Shapes = testing::Types<DefaultShape, DefaultWideShape, DefaultVariableShape>;
TYPED_TEST_SUITE(MinimalPolicies, Shapes);

TYPED_TEST(MinimalPolicies, SufficeForEveryOperation) {
  SmallTable<TypeParam> table(3);
  for (std::uint64_t k = 0; k < 50; ++k) {
    ASSERT_EQ(table.run(Op::insert, k, {k, 1}).status, Status::inserted) << k;
    EXPECT_EQ(table.run(Op::insert, k, {k, 2}).status, Status::exists);
  }
  EXPECT_EQ(table.memory.items, 50);
  for (std::uint64_t k = 0; k < 50; k += 2)
    EXPECT_EQ(table.run(Op::insert_or_assign, k, {k, 3}).status, Status::updated);
  for (std::uint64_t k = 0; k < 50; k += 5) EXPECT_EQ(table.run(Op::erase, k).status, Status::erased);
  EXPECT_EQ(table.memory.retired, 35u) << "cells of 25 updates and 10 erases";
  for (std::uint64_t k = 0; k < 50; ++k) {
    const auto found = table.run(Op::find, k);
    EXPECT_EQ(found.found, k % 5 != 0) << k;
    if (found.found) {
      EXPECT_EQ(found.value, (Value{k, k % 2 == 0 ? 3u : 1u}));
    }
    EXPECT_EQ(static_cast<bool>(table.find(k).item), found.found);
  }
}

TYPED_TEST(MinimalPolicies, SufficeForMovesAndGrowth) {
  using Shape = TypeParam;
  SmallTable<Shape> table(5);
  std::uint64_t keys = 0;
  while (table.run(Op::insert, keys, {keys, 1}).outcome == Outcome::done) ++keys;
  EXPECT_GT(table.memory.moves, 0u);
  EXPECT_GT(keys, 288u) << "of 384 slots";
  SmallTable<Shape> grown(6);
  const View<Shape> before = table.view();
  View<Shape> view = grown.view();
  view.level[1] = before.level[0];
  view.heap = before.heap;
  *view.reserved_slot = *before.reserved_slot;
  for (std::uint64_t bucket = 0; bucket < 32; ++bucket) carry_tags(table.memory, before, view, 5, bucket);
  CopiedGroup<Shape> group;
  for (std::uint64_t i = 0; i < before.buckets(1) * before.shape.slots(); ++i) {
    Copied copied;
    const Rehashed result = copy_up(MinimalTile{}, table.memory, view, {before.level[1], 4}, i, copied);
    EXPECT_TRUE(result == Rehashed::copied || result == Rehashed::empty);
    if (result == Rehashed::copied) group.add(table.memory, view, copied);
  }
  group.settle(table.memory, view);
  for (std::uint64_t k = Shape::kVariable || Shape::kMayBeWide ? 0 : 1; k < keys; ++k) {
    table.with_key(k, [&](const Key& key) {
      EXPECT_TRUE(find_settled(MinimalTile{}, table.memory, view, Candidates<Shape>(view, key)).item) << k;
    });
  }
}

TYPED_TEST(MinimalPolicies, SufficeForRecovery) {
  using Shape = TypeParam;
  SmallTable<Shape> table(3);
  for (std::uint64_t k = 1; k < 40; ++k) ASSERT_EQ(table.run(Op::insert, k, {k, 1}).status, Status::inserted);
  const View<Shape>& view = table.view();
  View<Shape> seen = view;
  if (Shape::kVariable) seen.cells = 0;  // there is no slab directory, so no word names a cell
  const auto inspect = [&](std::uint64_t i, std::uint8_t& tag) {
    std::uint64_t key = 0, word = 0;
    return inspect_slot(table.memory, seen, 0, i / 8, view.slot(0, i / 8, i % 8), key, word, tag);
  };
  std::uint64_t occupied = 0;
  for (std::uint64_t i = 0; i < 64; ++i) {
    std::uint8_t tag = 0;
    const SlotState state = inspect(i, tag);
    if (state == SlotState::empty) continue;
    ++occupied;
    EXPECT_EQ(state, Shape::kVariable ? SlotState::no_cell : SlotState::occupied);
    if (state == SlotState::occupied) {
      EXPECT_EQ(tag, tag_at(view.tags[view.tag_index(0, i / 8)], i % 8));
    }
  }
  EXPECT_GT(occupied, 10u);
  Slot torn{5, 0};
  clear_torn(table.memory, &torn);
  EXPECT_EQ(torn.key, 0u);
  table.with_key(7, [&](const Key& key) {
    const Candidates<Shape> candidates(view, key);
    const Found found = table.find(7);
    const LaneMask hits = match_lanes(table.memory, view, candidates, candidates.distinct(view));
    EXPECT_TRUE(holds_copy(table.memory, view, candidates, hits));
    const auto at = candidates.place(view, found.item.lane);
    drop_second_copy(table.memory, view, candidates, at.place, at.j);
    EXPECT_FALSE(table.find(7).item);
  });
}

TYPED_TEST(MinimalPolicies, SufficeForABatchInPhases) {
  using Shape = TypeParam;
  SmallTable<Shape> table(3);
  const View<Shape>& view = table.view();
  const MinimalPhases memory;
  const std::uint64_t words[2] = {9, ~std::uint64_t{9}};
  table.with_key(9, [&](const Key& key) {
    const Candidates<Shape> candidates(view, key);
    Plan plan;
    Effect whole = make_effect(0, 0, false);
    ASSERT_EQ(plan_run(MinimalTile{}, memory, view, whole, candidates, Item{}, plan), Outcome::done);
    ASSERT_EQ(plan.change, Change::add);
    claim_plan(memory, view, candidates);
    std::uint64_t word = 77;
    if constexpr (Shape::kVariable) {
      word = memory.take_pair(view, pair_bytes(sizeof words, 0), true);
      const Part part{reinterpret_cast<const std::byte*>(words), sizeof words};
      MinimalTile{}.write_pair(memory, view.heap + heap::CellWord{word}.begin(), header_of(part, {part.data, 0}), part,
                               {part.data, 0});
    }
    Slot* const slot = candidates.slot(view, plan.lane);
    if (view.wide()) {
      for (unsigned i = 0; i <= view.key_words(); ++i)
        commit_behind(memory, slot, i, word, reinterpret_cast<const std::byte*>(words));
      commit_head(memory, view, candidates, plan, word);
    } else {
      struct One {
        std::uint64_t at;
        Slot slot;
        std::uint64_t size() const { return 1; }
        std::uint64_t number(std::uint64_t) const { return at; }
        Slot after(std::uint64_t) const { return slot; }
      };
      const std::uint64_t number = slot_number(view, candidates, plan.lane);
      const One change{number, slot_after(view, candidates, plan, word, Pass::whole)};
      const std::uint64_t first = line_of(number) * kLineSlots;
      for (std::uint64_t n = first; n < first + kLineSlots; ++n)
        commit_slot(memory, slot_at(view, n), after_pass(memory, slot_at(view, n), n, change, 0));
    }
    publish_plan(memory, view, candidates, plan, word);
    release_plan(memory, view, candidates);
    EXPECT_EQ(table.find(9).item.word, word);
    plan.change = Change::remove;
    publish_plan(memory, view, candidates, plan, 0);
    EXPECT_FALSE(table.find(9).item);
  });
}

}  // namespace
}  // namespace holdfast::gphash
