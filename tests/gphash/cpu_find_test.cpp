// cpu_find_test.cpp: a search of a CPU's driver ends, whatever others do, as the protocol's does (find_test.cpp).
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "cleared_tags.hpp"
#include "structures/gphash/cpu/groups.hpp"

namespace holdfast::gphash::cpu {
namespace {

using Shape = gphash::DefaultShape;

struct ClearedTile : PortableTile, gphash::ClearedTags {
  using ClearedTags::first_item, ClearedTags::load_tags, ClearedTags::match, ClearedTags::peek;
};

using Searches = Groups<ClearedTile, Shape, false>;

class CpuSettling : public testing::Test {
 protected:
  CpuSettling() {
    view_.top_level = 4;
    view_.value_bytes = 8;
    tags_.resize(view_.tag_words());
    view_.tags = tags_.data();
  }
  Status find_among(std::uint64_t clearings) {
    ClearedTile::looks = 0;
    ClearedTile::cleared_for = clearings;
    Status status = Status::no_space;
    gphash::Rows rows;
    rows.statuses = &status;
    rows.found = &found_;
    rows.out = reinterpret_cast<std::byte*>(&value_);
    rows.value_bytes = 8;
    reclaim::Epochs epochs;
    heap::Cells all(epochs);
    heap::ThreadCells cells(all);
    const pool::Persist persist;
    const Searches::Memory memory(persist, cells, tally_);
    Searches::Flight flight(0, view_, gphash::Key(5));
    Searches::find(view_, memory, rows, &flight, 1, false, tally_);
    return status;
  }

  View<Shape> view_{};
  std::vector<std::uint64_t> tags_;
  std::uint64_t value_ = 99;
  bool found_ = false;
  Tally tally_;
};

TEST_F(CpuSettling, GoesOnUntilNothingIsClearedMeanwhile) {
  EXPECT_EQ(find_among(1000), Status::found);
  EXPECT_TRUE(found_);
  EXPECT_EQ(value_, 7u);
  EXPECT_EQ(tally_.retries, 999 / gphash::kLooks);
}

TEST_F(CpuSettling, GivesUpAndSaysThatItDidNotRun) {
  found_ = true;
  EXPECT_EQ(find_among(~std::uint64_t{0}), Status::not_run);
  EXPECT_FALSE(found_);
  EXPECT_EQ(value_, 0u) << "what it saw last does not stand";
  EXPECT_EQ(tally_.retries, gphash::kMostRounds - 1);
}

}  // namespace
}  // namespace holdfast::gphash::cpu
