// lines_test.cpp: what inserts of large batches gain by sharing lines (choose_lane_of_lines), and that tables become as full with it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "structures/gphash/protocol/address.hpp"

namespace holdfast::gphash {
namespace {

constexpr unsigned kTop = 14, kSlots = 8;
constexpr std::size_t kUpper = std::size_t{1} << kTop, kAll = (kUpper + kUpper / 2) * kSlots;

/// A table that knows only which slots are empty, taken, or claimed by the batch.
class Filling {
 public:
  explicit Filling(bool shares) : shares_(shares), empty_(kAll, true), claimed_(kAll, false) {
    view_.top_level = kTop;
    view_.shared_bias = 2;
  }

  bool insert(std::uint64_t key) {
    const Candidates<DefaultShape> candidates(view_, key);
    LaneMask empty = 0, claimed = 0;
    for (unsigned lane = 0; lane < 32; ++lane) {
      empty |= LaneMask{empty_[number(candidates, lane)]} << lane;
      claimed |= LaneMask{claimed_[number(candidates, lane)]} << lane;
    }
    if (empty == 0) return false;
    const std::size_t taken = number(candidates, choose_lane_of_lines(view_, candidates, empty, shares_ ? claimed : 0));
    empty_[taken] = false;
    claimed_[taken] = true;
    return true;
  }

  /// Ends the batch. Returns how many lines it has touched.
  std::size_t publish() {
    std::size_t lines = 0;
    for (std::size_t line = 0; line < kAll / kLineSlots; ++line) {
      bool touched = false;
      for (std::size_t slot = line * kLineSlots; slot < (line + 1) * kLineSlots; ++slot) touched |= claimed_[slot];
      lines += touched;
    }
    claimed_.assign(kAll, false);
    return lines;
  }

 private:
  std::size_t number(const Candidates<DefaultShape>& candidates, unsigned lane) const {
    const SlotPlace at = candidates.place(view_, lane).place;
    return ((at.rank == 0 ? 0 : kUpper) + at.bucket) * kSlots + at.slot;
  }

  const bool shares_;
  View<DefaultShape> view_;
  std::vector<bool> empty_, claimed_;
};

struct Filled {
  std::vector<double> lines;  ///< of each batch, for each of its inserts
  double load = 0;            ///< at which an insert first found no slot
};

/// Batches of a twelfth of the slots, in random order: that of the hash, which a GPU's batches have, makes little difference.
Filled fill(bool shares, unsigned seed) {
  Filling table(shares);
  std::mt19937_64 random(seed);
  Filled outcome;
  std::size_t inserted = 0;
  for (;;) {
    for (std::size_t i = 0; i < kAll / 12; ++i, ++inserted) {
      if (table.insert(random() | 1)) continue;
      outcome.load = static_cast<double>(inserted) / kAll;
      return outcome;
    }
    outcome.lines.push_back(static_cast<double>(table.publish()) / (kAll / 12));
  }
}

TEST(Lines, OfABatchAreFewerAndTheTableAsFull) {
#if defined(HOLDFAST_SANITIZED)
  constexpr unsigned kSeeds = 2;
#else
  constexpr unsigned kSeeds = 5;
#endif
  double even_load = 0, shared_load = 0;
  for (unsigned seed = 0; seed < kSeeds; ++seed) {
    const Filled even = fill(false, seed), shared = fill(true, seed);
    ASSERT_GE(shared.lines.size(), 9u);
    for (std::size_t i = 0; i < std::min(even.lines.size(), shared.lines.size()); ++i)
      EXPECT_LT(shared.lines[i], i < 6 ? 0.8 * even.lines[i] : even.lines[i]) << "batch " << i;
    even_load += even.load / kSeeds;
    shared_load += shared.load / kSeeds;
  }
  EXPECT_GT(shared_load, even_load - 0.015) << even_load;
}

}  // namespace
}  // namespace holdfast::gphash
