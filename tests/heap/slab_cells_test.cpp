// slab_cells_test.cpp: the allocator of variable-length pairs, against a plain set of what is taken.
#include "heap/slab_cells.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "reclaim/epochs.hpp"

namespace holdfast::heap {
namespace {

constexpr unsigned kBits = 14;  // slabs of 16 KiB, so that they change hands often

class PairHeap : public testing::Test {
 protected:
  explicit PairHeap(std::uint64_t slabs = 40) : bytes_((slabs << kBits) / 8, 0) {
    view_.count = slabs;
    view_.slab_bits = kBits;
    view_.base = reinterpret_cast<std::byte*>(bytes_.data());
    cells_.begin(view_);
    cells_.count_free();
  }
  SlabCells::EnterSlab enter() {
    return [this](std::uint64_t slab, unsigned c) { *view_.entry(slab) = c + 1; };
  }
  /// Takes one cell; kNoCell if there is none.
  std::uint64_t take(unsigned c, bool adds_key = false) {
    std::uint64_t begin = kNoCell;
    return cells_.take(c, &begin, 1, adds_key, enter()) == 1 ? begin : kNoCell;
  }
  static std::uint64_t word(std::uint64_t begin, unsigned c) { return CellWord::of(begin, c, class_bytes(c)).word; }
  void free_now(std::uint64_t begin, unsigned c) {
    cells_.retire({word(begin, c)});
    while (cells_.reclaim()) continue;
  }

  std::vector<std::uint64_t> bytes_;
  View view_;
  reclaim::Epochs epochs_;
  SlabCells cells_{epochs_};
};

TEST_F(PairHeap, GivesEachCellOnceAndTakesItBack) {
  std::mt19937_64 random(1);
  std::map<std::uint64_t, unsigned> taken;  // where each begins, and its class
  for (int i = 0; i < 20'000; ++i) {
    if (random() % 2 == 0 && !taken.empty()) {
      const auto any = std::next(taken.begin(), static_cast<long>(random() % taken.size()));
      free_now(any->first, any->second);
      taken.erase(any);
      continue;
    }
    const auto c = static_cast<unsigned>(random() % 30);
    const std::uint64_t begin = take(c);
    if (begin == kNoCell) continue;
    ASSERT_LT(begin + class_bytes(c), (view_.count << kBits) + 1);
    ASSERT_GE(begin, std::uint64_t{1} << kBits) << "the directory";
    const auto next = taken.lower_bound(begin);
    ASSERT_TRUE(next == taken.end() || begin + class_bytes(c) <= next->first);
    ASSERT_TRUE(next == taken.begin() || std::prev(next)->first + class_bytes(std::prev(next)->second) <= begin);
    taken[begin] = c;
  }
  std::uint64_t live = 0;
  for (const auto& [begin, c] : taken) live += class_bytes(c);
  EXPECT_EQ(cells_.use().used_cells, taken.size());
  EXPECT_EQ(cells_.use().used_bytes, live);

  // What recovery would derive from the slots is the same.
  SlabCells again(epochs_);
  again.begin(view_);
  for (const auto& [begin, c] : taken) {
    EXPECT_TRUE(again.mark_live(word(begin, c)));
    EXPECT_FALSE(again.mark_live(word(begin, c))) << "live already";
  }
  again.count_free();
  EXPECT_TRUE(again.use() == cells_.use());
  for (const auto& [begin, c] : taken) free_now(begin, c);
  EXPECT_EQ(cells_.use().used_slabs, 0u);
}

TEST_F(PairHeap, GivesAnEmptySlabToAnotherClass) {
  std::vector<std::uint64_t> small;
  for (std::uint64_t begin; (begin = take(0)) != kNoCell;) small.push_back(begin);
  EXPECT_EQ(take(20), kNoCell);
  for (const std::uint64_t begin : small) free_now(begin, 0);
  EXPECT_NE(take(20), kNoCell);
}

TEST_F(PairHeap, KeepsFreedCellsWhileSomebodyReads) {
  std::vector<std::uint64_t> all;
  for (std::uint64_t begin; (begin = take(5)) != kNoCell;) all.push_back(begin);
  const std::uint64_t epoch = epochs_.enter();
  cells_.retire({word(all[0], 5)});
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(cells_.reclaim());
  EXPECT_EQ(take(5), kNoCell);
  epochs_.leave(epoch);
  while (cells_.reclaim()) continue;
  EXPECT_EQ(take(5), all[0]);
}

TEST_F(PairHeap, KeepsCellsForUpdates) {
  while (take(3, true) != kNoCell) continue;
  EXPECT_FALSE(cells_.has(3, true));
  EXPECT_TRUE(cells_.has(3, false));
  EXPECT_NE(take(3, false), kNoCell) << "an update of the class";
  EXPECT_NE(take(9, false), kNoCell) << "an update that takes another";
}

/// What recovery derives is the same at any time, and no wholly free slab is kept for a class.
TEST_F(PairHeap, AgreesWithRecoveryWhateverWasTaken) {
  std::mt19937_64 random(7);
  std::map<std::uint64_t, unsigned> taken;
  for (int i = 0; i < 3000; ++i) {
    const auto c = static_cast<unsigned>(random() % 12);
    std::uint64_t begins[8];
    const std::size_t n = cells_.take(c, begins, 1 + random() % 8, true, enter());
    for (std::size_t k = 0; k < n; ++k) taken[begins[k]] = c;
    for (unsigned k = 0; k < 4 && !taken.empty(); ++k) {
      const auto any = std::next(taken.begin(), static_cast<long>(random() % taken.size()));
      free_now(any->first, any->second);
      taken.erase(any);
    }
    if (i % 100 != 0) continue;
    SlabCells again(epochs_);
    again.begin(view_);
    for (const auto& [begin, size_class] : taken) again.mark_live(word(begin, size_class));
    again.count_free();
    ASSERT_TRUE(again.use() == cells_.use());
    if (!taken.empty()) continue;
    ASSERT_EQ(cells_.use().used_slabs, 0u);
  }
}

TEST_F(PairHeap, TakesNewSlabs) {
  while (take(8) != kNoCell) continue;
  const std::uint64_t before = cells_.use().slabs;
  bytes_.resize(bytes_.size() + (10u << kBits) / 8, 0);
  view_.base = reinterpret_cast<std::byte*>(bytes_.data());
  view_.count += 10;
  cells_.extend(view_);
  EXPECT_EQ(cells_.use().slabs, before + 10);
  EXPECT_NE(take(8), kNoCell);
}

}  // namespace
}  // namespace holdfast::heap
