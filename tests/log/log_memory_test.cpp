// log_memory_test.cpp: the contract of a log's memory policy: what it lists suffices for logs and transactions, and all of it is needed.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "log/protocol/transaction.hpp"
#include "support/lacks.hpp"

namespace holdfast::log {
namespace {

/// Has the members that LogMemory lists and no other. One thread works on the log.
struct MinimalMemory {
  using Word = std::uint32_t;
  static bool keeps(Step) { return true; }
  std::uint32_t load(const Word* word) const { return *word; }
  void store(Word* word, std::uint32_t value) const { *word = value; }
  void flush(const void*, std::size_t) const {}
  void flush_strided(const Word*, std::uint32_t, std::uint32_t) const {}
  void fence() const {}
  std::uint32_t shown(const std::uint32_t* copy) const { return *copy; }
  void show(std::uint32_t* copy, std::uint32_t entries) const { *copy = entries; }
  void take(std::uint32_t* hold) const { *hold = 1; }
  void release(std::uint32_t* hold) const { *hold = 0; }
};

template <class M>
inline constexpr bool suffices = LogMemory<M>;
static_assert(HOLDFAST_NEEDS(MinimalMemory, keeps));
static_assert(HOLDFAST_NEEDS(MinimalMemory, load) && HOLDFAST_NEEDS(MinimalMemory, store));
static_assert(HOLDFAST_NEEDS(MinimalMemory, flush) && HOLDFAST_NEEDS(MinimalMemory, flush_strided));
static_assert(HOLDFAST_NEEDS(MinimalMemory, fence));
static_assert(HOLDFAST_NEEDS(MinimalMemory, shown) && HOLDFAST_NEEDS(MinimalMemory, show));
static_assert(HOLDFAST_NEEDS(MinimalMemory, take) && HOLDFAST_NEEDS(MinimalMemory, release));

/// A member of the right name and the wrong type does not do.
struct WideWords : MinimalMemory {
  std::uint64_t load(const Word* word) const { return *word; }
};
static_assert(!LogMemory<WideWords>);
struct OtherWords : MinimalMemory {
  using Word = std::uint64_t;
};
static_assert(!LogMemory<OtherWords>);
/// One policy serves all lanes: its members are const.
struct Changing : MinimalMemory {
  void fence() {}
};
static_assert(!LogMemory<Changing>);

class MinimalLog : public testing::TestWithParam<LogKind> {
 protected:
  MinimalLog() {
    shape_.kind = GetParam();
    shape_.entry_words = 8;
    shape_.capacity = 4;
    shape_.threads = shape_.kind == LogKind::conventional ? 1 : 32;
    tails_.resize(shape_.places());
    shown_.resize(shape_.places());
    holds_.resize(shape_.places());
    entries_.resize(shape_.words());
    view_ = {shape_, &flag_, tails_.data(), entries_.data(), shown_.data(), holds_.data()};
  }

  MinimalMemory memory_;
  LogShape shape_;
  std::uint32_t flag_ = 0;
  std::vector<std::uint32_t> tails_, entries_, shown_, holds_;
  View<MinimalMemory> view_;
};

TEST_P(MinimalLog, KeepsEntriesInOrder) {
  for (std::uint32_t i = 0; i < shape_.capacity; ++i) {
    const std::uint32_t entry[2] = {i, 10 * i};
    ASSERT_EQ(insert(memory_, view_, 0, entry, 2), LogStatus::ok);
  }
  std::uint32_t entry[2] = {};
  EXPECT_EQ(insert(memory_, view_, 0, entry, 2), LogStatus::full);
  EXPECT_EQ(remove(memory_, view_, 0), LogStatus::ok);
  shown_[0] = 0;
  EXPECT_EQ(load_tails(memory_, view_), LogShape::none());
  EXPECT_EQ(count(memory_, view_, 0), shape_.capacity - 1);
  ASSERT_EQ(read(memory_, view_, 0, entry, 2, 1), LogStatus::ok);
  EXPECT_EQ(entry[0], 1u);
  EXPECT_EQ(entry[1], 10u);
  EXPECT_EQ(clear(memory_, view_, 0), LogStatus::ok);
  EXPECT_EQ(read(memory_, view_, 0, entry, 2), LogStatus::empty);
}

TEST_P(MinimalLog, UndoesATransactionThatDidNotEnd) {
  std::uint32_t data[4] = {1, 2, 3, 4}, scratch[8] = {};
  const std::uint32_t seven[2] = {7, 7}, eight = 8;
  begin(memory_, view_);
  ASSERT_EQ(update(memory_, view_, 0, data, 1, seven, 2, scratch), LogStatus::ok);
  ASSERT_EQ(update(memory_, view_, 0, data, 2, &eight, 1, scratch), LogStatus::ok);
  EXPECT_EQ(data[2], 8u);
  EXPECT_EQ(find_false_undo(memory_, view_, 4), LogShape::none());
  EXPECT_TRUE(recover(memory_, view_, data, scratch));
  EXPECT_EQ(data[1], 2u);
  EXPECT_EQ(data[2], 3u);
  begin(memory_, view_);
  ASSERT_EQ(update(memory_, view_, 0, data, 0, &eight, 1, scratch), LogStatus::ok);
  end(memory_, view_);
  EXPECT_FALSE(recover(memory_, view_, data, scratch));
  EXPECT_EQ(data[0], 8u);
}

INSTANTIATE_TEST_SUITE_P(Kinds, MinimalLog, testing::Values(LogKind::hierarchical, LogKind::conventional),
                         [](const auto& info) {
                           return info.param == LogKind::conventional ? "conventional" : "hierarchical";
                         });

}  // namespace
}  // namespace holdfast::log
