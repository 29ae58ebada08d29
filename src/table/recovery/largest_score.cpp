// largest_score.cpp: one pass over the slots and the scores of their cells.
#include "table/recovery/largest_score.hpp"

#include <algorithm>
#include <cstring>

#include "core/both.hpp"
#include "structures/gphash/slot_walk.hpp"

namespace holdfast::table {

std::uint64_t largest_score(const gphash::TableObject& table) {
  const gphash::TableShape& shape = table.shape();
  HOLDFAST_ASSERT(shape.score != Score::none && shape.key_bytes != kVariableBytes && shape.cell_bytes >= kScoreBytes);
  std::uint64_t largest = 0;
  gphash::each_slot<gphash::RuntimeShape>(table, [&](const gphash::Slot* slot, gphash::SlotState state, std::uint64_t) {
    if (state != gphash::SlotState::occupied) return;
    std::uint64_t score = 0;
    std::memcpy(&score, table.heap() + slot->word * shape.cell_bytes - kScoreBytes, sizeof score);
    largest = std::max(largest, score);
  });
  return largest;
}

}  // namespace holdfast::table
