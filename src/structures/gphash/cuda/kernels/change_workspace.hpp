// change_workspace.hpp: where a change in phases works.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/both.hpp"
#include "structures/gphash/protocol/effect.hpp"
#include "structures/gphash/protocol/run.hpp"

namespace holdfast::gphash::cuda {

/// What a run of a batch in phases changes (structures/gphash/protocol/phases.hpp).
struct Planned {
  std::uint64_t word;      ///< to be committed
  std::uint64_t old_word;  ///< of an item that is there
  std::uint32_t row;       ///< a row of the key
  gphash::Held held;       ///< a row whose value it gets, or a sum
  std::uint8_t change, lane;
  std::uint8_t sums;       ///< its run is among the sums
  std::uint8_t counts_on;  ///< where scores are frequencies: from that of the item that is there

  /// The row at which its score is noted: the one whose value it gets, if it is a row's.
  HOLDFAST_BOTH std::uint32_t score_row() const { return held == gphash::kSum ? row : held; }
};

/// A run that accumulates, or changes a column of the value.
struct Sum {
  std::uint64_t old_word;  ///< of the value that is there
  std::uint32_t plan;  ///< that gets the sum; kNoPlan: rows read sums on the way, but the run ends with another value
  std::uint32_t at : 30;  ///< where the run begins
  std::uint32_t there : 1;
  std::uint32_t erased : 1;  ///< on the way: of the old value nothing stays outside of the column
};
static_assert(sizeof(Sum) == 16);
inline constexpr std::uint32_t kNoPlan = 0xffff'ffff;

/// Where a change in phases works, whatever its keys and values; all in GPU memory. Its plans are in what it is a part of.
struct PhaseWorkspace {
  std::uint32_t* slots[2] = {};             ///< (n,) the numbers of their slots; and sorted by line
  std::uint32_t* order[2] = {};             ///< (n,) which plan each is
  const gphash::Effect* effects = nullptr;  ///< (n,) of the rows of a run up to each, in the order of the job
  void* scratch = nullptr;
  std::size_t scratch_bytes = 0;
  bool claims = false;  ///< readers may look into the pool, so keys are claimed
};

/// That of keys and values of fixed length.
struct ChangeWorkspace : PhaseWorkspace {
  Planned* planned = nullptr;              ///< (n,)
  std::uint32_t* freed[2] = {};            ///< (n,) cells that came out of their slots
  Sum* sums = nullptr;                     ///< (n,) null where no row accumulates
  std::uint32_t* sum_cells[2] = {};        ///< (n,) 1 + the cell of each sum's old value; 0: none
  std::uint32_t* sum_order[2] = {};        ///< (n,) which sum each is
  const gphash::Writes* writes = nullptr;  ///< (n,) as effects, where scores are frequencies; null: elsewhere
  std::uint64_t* scores = nullptr;         ///< (n,) of changes, at their score_row(); null: all are that of the batch
  std::uint32_t* score_cells[2] = {};      ///< (n,) the cells whose scores continue; all bits set: none
  std::uint32_t* score_order[2] = {};      ///< (n,) which plan's each is
  std::uint32_t* copies = nullptr;         ///< (n,) of rows that read no cell: 1 + the row whose value it is; 0: zeros
};
/// Rows of a batch's order.
struct RowRange {
  std::uint64_t begin, end;
};
/// Plans, from one number to another, both in GPU memory; `begin` null: from the first.
struct PlanRange {
  const std::uint32_t* begin;
  const std::uint32_t* end;
};
inline constexpr std::uint32_t kNoSlot = 0xffff'ffff;
inline constexpr std::uint32_t kNoCopy = 0xffff'ffff;
inline constexpr std::uint32_t kNoScoreCell = 0xffff'ffff;

}  // namespace holdfast::gphash::cuda
