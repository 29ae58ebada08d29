// flushed_lines_test.cpp: how many lines of the pool a CPU's driver writes back for an item, and how many fences it waits for: of a resize,
// and of batches of new keys (docs/internals/growth-and-recovery.md).
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <set>
#include <vector>

#include "core/hash.hpp"
#include "heap/cells.hpp"
#include "pool/medium/persist.hpp"
#include "reclaim/epochs.hpp"
#include "structures/gphash/cpu/driver.hpp"

namespace holdfast::gphash::cpu {
namespace {

/// Counts while it lives.
class FlushCounter final : public pool::FlushObserver {
 public:
  FlushCounter() : before_(pool::observe_flushes(this)) {}
  ~FlushCounter() override { pool::observe_flushes(before_); }
  void flush(const void* address, std::size_t bytes) noexcept override {
    pool::each_line(address, bytes, [this](const char* line) {
      ++lines;
      pending_.insert(line);
    });
  }
  void fence() noexcept override {
    ++fences;
    durable_.insert(pending_.begin(), pending_.end());
    pending_.clear();
  }
  /// True if the line of `address` was flushed, and then a fence came.
  bool is_durable(const void* address) const {
    const auto at = reinterpret_cast<std::uintptr_t>(address);
    return durable_.contains(reinterpret_cast<const char*>(at - at % pool::kLine));
  }
  void restart() {
    lines = fences = 0;
    pending_.clear();
    durable_.clear();
  }
  double lines = 0, fences = 0;

 private:
  pool::FlushObserver* const before_;
  std::set<const char*> pending_, durable_;
};

struct alignas(pool::kLine) Line {
  Slot slots[kLineSlots];
};

/// A table of the default configuration with keys and values of 8 bytes, or values in cells of 16.
class FlushedLines : public testing::TestWithParam<std::uint32_t> {
 protected:
  static constexpr unsigned kTop = 12;  // the levels of 4,096 and 2,048 buckets
  static constexpr std::size_t kBatch = 1 << 16, kCells = 1 << 17;

  FlushedLines()
      : driver_(make_driver({2, 2, 8, 1}, {pool::FlushKind::watched})), cells_(heap::make_cells(false, epochs_)) {
    for (unsigned level = kTop - 1; level <= kTop + 1; ++level)
      levels_[level].resize((std::size_t{8} << level) / kLineSlots);
    heap_.resize(GetParam() > 8 ? kCells * GetParam() / sizeof(Line) : 0);
    layout_ = layout(kTop, tags_);
    driver_->set_layout(layout_);
    cells_->begin(layout_.heap_view());
    cells_->count_free();
    for (std::uint64_t i = 0; i < kBatch; ++i) {
      keys_.push_back(mix(i + 1));
      for (unsigned w = 0; w < GetParam() / 8; ++w) values_.push_back(mix(keys_.back() + w));
    }
    statuses_.resize(kBatch);
  }

  Layout layout(unsigned top, std::vector<std::uint64_t>& tags) {
    Layout made;
    made.shape = {2, 2, 8, 1};
    made.top_level = top;
    made.value_bytes = GetParam();
    made.cell_bytes = GetParam() > 8 ? GetParam() : 0;
    made.may_move = true;
    made.seed = 5;
    made.cells = heap_.empty() ? 0 : kCells;
    for (unsigned rank = 0; rank < 2; ++rank) made.level[rank] = levels_[top - rank].data()->slots;
    made.reserved_slot = reserved_.slots;
    made.heap = reinterpret_cast<std::byte*>(heap_.data());
    tags.assign(made.tag_words(), 0);
    made.tags = tags.data();
    return made;
  }

  /// Inserts rows [begin, end); returns the first that found no slot, or `end`.
  std::size_t insert(std::size_t begin, std::size_t end) {
    Work work;
    work.keys = reinterpret_cast<const std::byte*>(keys_.data());
    work.size = kBatch;
    work.changes = true;
    work.rows.op = Op::insert;
    work.rows.values = reinterpret_cast<const std::byte*>(values_.data());
    work.rows.value_bytes = GetParam();
    work.rows.statuses = statuses_.data();
    heap::ThreadCells cells(*cells_);
    cells.prepare(end - begin);
    return driver_->run(work, begin, end, cells, tally_).next;
  }

  const Slot* slot_of(const Layout& layout, std::uint64_t key) const {
    const Candidates<RuntimeShape> candidates(layout, key);
    for (unsigned lane = 0; lane < candidates.lane_count(layout); ++lane) {
      const Slot* const slot = candidates.slot(layout, lane);
      if (slot->key == key) return slot;
    }
    return nullptr;
  }

  FlushCounter counter_;  // before the driver, which asks for flushes
  reclaim::Epochs epochs_;
  std::vector<Line> levels_[kTop + 2], heap_;
  Line reserved_{};
  std::vector<std::uint64_t> tags_, keys_, values_;
  std::vector<Status> statuses_;
  std::unique_ptr<Driver> driver_;
  std::unique_ptr<heap::CellSet> cells_;
  Layout layout_;
  Tally tally_;
};

TEST_P(FlushedLines, OfAResizeAreOneForTheItemsOfALine) {
  const std::size_t count = insert(0, kBatch);
  ASSERT_GT(count, 0.9 * static_cast<double>(layout_.total_slots()));
  std::vector<std::uint64_t> tags;
  const Layout grown = layout(kTop + 1, tags);
  driver_->carry_tags(layout_, grown, kTop, 0, 1u << kTop);
  driver_->set_layout(grown);
  counter_.restart();
  Drained drained;
  const std::uint64_t slots = std::uint64_t{8} << (kTop - 1);
  driver_->drain({layout_.level[1], kTop - 1}, 0, slots, false, drained);
  ASSERT_FALSE(drained.needs_level);
  const auto items = static_cast<double>(drained.copied);
  ASSERT_GT(items, 0.8 * static_cast<double>(slots));
  std::cout << "a resize: " << counter_.lines / items << " lines and " << counter_.fences / items
            << " fences an item\n";
  RecordProperty("lines", std::to_string(counter_.lines / items));
  EXPECT_LE(counter_.lines, 0.6 * items);
  EXPECT_LE(counter_.fences, items / 32);
  // All of that is durable, and visible.
  for (std::uint64_t i = 0; i < slots; ++i) {
    const std::uint64_t key = layout_.level[1][i].key;
    if (key == 0) continue;
    const Slot* const copy = slot_of(grown, key);
    ASSERT_NE(copy, nullptr);
    EXPECT_EQ(copy->word, layout_.level[1][i].word);
    EXPECT_TRUE(counter_.is_durable(copy)) << i;
  }
  EXPECT_EQ(insert(0, count), count);
  for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(statuses_[i], Status::exists) << i;
}

TEST_P(FlushedLines, OfABatchOfNewKeysAreOneASlotAndThoseOfConsecutiveCells) {
  tags_.clear();
  layout_ = layout(kTop + 1, tags_);
  driver_->set_layout(layout_);
  counter_.restart();
  ASSERT_EQ(insert(0, kBatch), kBatch);
  const double items = kBatch;
  std::cout << "a batch: " << counter_.lines / items << " lines and " << counter_.fences / items << " fences an item\n";
  RecordProperty("lines", std::to_string(counter_.lines / items));
  EXPECT_LE(counter_.lines, (layout_.in_slot() ? 1.0 : 1.3) * items);
  EXPECT_LE(counter_.fences, items / 16);
  for (std::size_t i = 0; i < kBatch; ++i) {
    ASSERT_EQ(statuses_[i], Status::inserted);
    const Slot* const slot = slot_of(layout_, keys_[i]);
    ASSERT_NE(slot, nullptr);
    EXPECT_TRUE(counter_.is_durable(slot)) << i;
    const void* const value = layout_.in_slot() ? &slot->word : static_cast<const void*>(layout_.cell(slot->word - 1));
    EXPECT_TRUE(counter_.is_durable(value)) << i;
    EXPECT_EQ(std::memcmp(value, &values_[i * GetParam() / 8], GetParam()), 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Values, FlushedLines, testing::Values(8, 16),
                         [](const auto& info) { return std::to_string(info.param) + "Bytes"; });

}  // namespace
}  // namespace holdfast::gphash::cpu
