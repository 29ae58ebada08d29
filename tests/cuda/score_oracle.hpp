// score_oracle.hpp: what the scores of a GPU's table must be, by the answers of its operations.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "fixture.hpp"

namespace holdfast::test {

class ScoreOracle {
 public:
  explicit ScoreOracle(Score kind) : kind_(kind) {}

  /// A batch, or a session, whose answers are known to be right. `step`: what the table's was.
  void note(const Rows& rows, std::uint64_t step) {
    for (std::size_t i = 0; i < rows.keys.size(); ++i) {
      const Status status = rows.statuses[i];
      if (status == Status::erased) scores_.erase(rows.keys[i]);
      if (status != Status::inserted && status != Status::updated) continue;
      std::uint64_t& score = scores_[rows.keys[i]];
      score = kind_ == Score::frequency ? score + 1 : step;
    }
  }

  /// The table says so, for keys that are there and one that is not, by batches, exports and selections.
  void verify(GpuTable& gpu) const {
    std::vector<std::uint64_t> keys;
    for (const auto& [key, score] : scores_) keys.push_back(key);
    keys.push_back(1ull << 60);
    std::vector<std::uint64_t> scores(keys.size(), 99);
    const auto found = std::make_unique<bool[]>(keys.size());
    gpu.table->table().scores(gpu.keys_of(keys).data(), scores.data(), keys.size(), found.get());
    for (std::size_t i = 0; i + 1 < keys.size(); ++i) {
      ASSERT_TRUE(found[i]) << "key " << keys[i];
      ASSERT_EQ(scores[i], scores_.at(keys[i])) << "key " << keys[i];
    }
    EXPECT_FALSE(found[keys.size() - 1]);
    EXPECT_EQ(scores.back(), 0u);
    if (scores_.empty()) return;
    Selection selection;
    selection.least_score = selection.greatest_score = scores[0];
    std::uint64_t same = 0;
    for (const auto& [key, score] : scores_) same += score == scores[0];
    EXPECT_EQ(gpu.table->table().size_if(selection), same);
  }

 private:
  const Score kind_;
  std::map<std::uint64_t, std::uint64_t> scores_;
};

}  // namespace holdfast::test
