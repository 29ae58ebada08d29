// state.hpp: a table's volatile words in GPU memory, and the reports that kernels write for the host.
#pragma once

#include <cstddef>
#include <cstdint>

#include "gphash/cuda/caches/value_view.hpp"
#include "gphash/cuda/kit.hpp"
#include "gphash/cuda/paths.hpp"
#include "gphash/protocol/effect.hpp"
#include "gphash/protocol/recover.hpp"
#include "gphash/protocol/run.hpp"
#include "gpu/epochs.hpp"
#include "gpu/order/bins.hpp"
#include "holdfast/status.hpp"

namespace holdfast::machine::cuda {

inline constexpr std::uint64_t kNoCell = ~std::uint64_t{0};

/// The free cells of the heap as a ring of positions in GPU memory (rules 5, 6):
///
///   [head, tail)        free, lowest address first after recovery; whoever changes keys takes from the head
///   [tail, retired_end)   retired: taken out of their slots, but perhaps still being read
///
/// A cell stands in the ring once or not at all, so `capacity` = all cells always has room. Within a batch only `head` and
/// `retired_end` move, each by fetch-and-add. An attempt to take past `tail` leaves `head` beyond it, which takes nothing; the
/// settlement before the next batch sets it right.
struct CellRing {
  std::uint64_t* cells = nullptr;
  std::uint64_t capacity = 0;
  std::uint64_t reserve = 0;  ///< the last cells, which inserts leave to updates
};

/// Cells that kernels take from the ring of their job.
struct JobRing {};

/// One for each table, in GPU memory. Words that many blocks add to stand on lines of their own.
struct DeviceState {
  alignas(128) std::uint64_t head;
  alignas(128) std::uint64_t retired_end;
  alignas(128) std::uint64_t tail;
  std::uint64_t retired_before[4];  ///< by epoch % 4: all that was retired in that epoch or before ends here
  gpu::Epochs readers;              ///< a block of them enters when it begins and leaves when it ends
  PositionState* positions[2];      ///< of the caches of values and of buckets: they rest as cells do
  std::uint64_t generation;         ///< of the arrays that searches read; another one ends the searches in graphs
  // Counts.
  alignas(128) std::int64_t items;
  std::uint64_t moves, claim_misses, retries;
};

/// What a changing launch could not do.
struct ChangeReport {
  std::uint32_t leftovers;   ///< runs that found no slot or no cell
  std::uint32_t needs_slot;  ///< of them
  std::uint32_t needs_cell;
  std::uint32_t changes;    ///< of a batch in phases: planned
  std::uint32_t ahead;      ///< of them, those of its first rows
  std::uint32_t freed;      ///< and cells that it took out of their slots
  std::uint32_t sums;       ///< runs whose value is a sum, or is one on the way
  std::uint32_t long_sums;  ///< of them, those of many rows
};

/// A slot that holds what cannot be.
struct Damage {
  index::SlotState state;
  std::uint32_t level;
  std::uint32_t slot;
  std::uint64_t bucket, key, word;
};

inline constexpr unsigned kDamages = 16;

/// What reading the slots found.
struct ScanReport {
  std::uint64_t items, torn, second_copies, moved, cleared;
  std::uint64_t damages;       ///< in all; the first few are described
  std::uint64_t shared;        ///< slots whose cell another slot names too
  std::uint64_t wrong_tags;    ///< words of tags that do not say what the slots hold
  std::uint64_t held_stripes;  ///< claims that nobody ended
  std::uint64_t wrong_copies;  ///< slots of which the bucket cache holds something else
  std::uint64_t wrong_values;  ///< cells of which the value cache does
  std::uint64_t wrong_cells;   ///< words of bits for cells of slabs that do not say what slots name
  std::uint64_t left;          ///< bytes that variable-length pairs leave of their cells
  std::uint32_t needs_level;
  std::uint32_t aside_damaged, aside_shared;
  Damage damage[kDamages];
  std::uint64_t shared_cell[kDamages];
};

/// A search of `size` rows. All pointers are to memory that the GPU can reach.
struct FindJob {
  index::Rows rows;
  const std::byte* keys = nullptr;             ///< (n, key_bytes), unaligned
  const std::uint64_t* key_offsets = nullptr;  ///< (n + 1,) of keys of any length, where each begins in `keys`
  const std::uint8_t* mask = nullptr;
  std::uint64_t size = 0;
  DeviceState* state = nullptr;
  std::uint64_t generation = 0;  ///< of a search in a graph, which comes when it likes; 0: one that the host waits for
};

/// Which rows of a small search want a cell that another row reads.
struct Repeats {
  std::uint64_t* table = nullptr;   ///< null: each row reads for itself
  std::uint64_t last = 0;           ///< its size less one: a power of two, at least twice the rows
  std::uint32_t* leader = nullptr;  ///< (n,) the row that reads
};

inline constexpr unsigned kClusterBinBits = 12;  ///< of a small search, which counts in shared memory

/// Where an ordered search works, or the first or the second part of one (pipelining.cpp); all in GPU memory.
struct SearchRoom : gpu::Bins {
  unsigned gather_share = kGatherShare;  ///< SearchChoices
  std::uint64_t* epoch = nullptr;
  std::uint32_t* ended = nullptr;        ///< blocks of the last phase; 0 between searches; null: this is the first part
  bool is_left_by_others = false;        ///< something goes on beside the last phase: leave_search comes after both
  std::uint64_t* table = nullptr;        ///< 2 × kSmallSearch words
  std::uint64_t first = 0;               ///< of a search in two parts, the rows that go first
  const std::uint32_t* crowd = nullptr;  ///< how many of them fell to the stretch that most fell to; null: one part
  std::uint32_t crowd_limit = 0;         ///< if more did, all rows go together after all

  /// Known when the crowd has been counted.
  HOLDFAST_BOTH bool apart() const { return crowd != nullptr && *crowd <= crowd_limit; }
  /// The rows that the other part has answered.
  HOLDFAST_BOTH std::uint64_t answered() const { return ended != nullptr && apart() ? first : 0; }
};

/// The rows of a batch that are left for the next phase.
struct RowsLeft {
  std::uint32_t* rows = nullptr;  ///< null: all
  std::uint32_t* size = nullptr;
};

/// A change of rows that are ordered into runs of one key each.
struct ChangeJob {
  index::Rows rows;
  const std::byte* keys = nullptr;
  const std::uint64_t* key_offsets = nullptr;
  const std::uint8_t* mask = nullptr;  ///< only where there is no order: ordered rows are without the masked ones
  const std::uint32_t* order =
      nullptr;  ///< rows, those of one key together and in array order; null: each row is a run
  const std::uint32_t* begins = nullptr;   ///< of the rows in `order`: the place where the run of its key begins
  const std::uint64_t* ordered = nullptr;  ///< how many rows `order` has; null: `size`
  std::uint64_t size = 0;
  const std::uint32_t* again = nullptr;  ///< only the runs that begin here: leftovers of an earlier launch
  std::uint64_t again_size = 0;
  const std::uint32_t* again_count = nullptr;  ///< how many of them there are, where the host does not know
  index::Permits permits;
  bool last_try = false;  ///< nobody waits for leftovers: what does not fit is `no_space`
  std::uint32_t* leftovers = nullptr;
  ChangeReport* report = nullptr;
  DeviceState* state = nullptr;
  CellRing ring;
};

/// What a run of a batch in phases changes (gphash/protocol/phases.hpp).
struct Planned {
  std::uint64_t word;      ///< to be committed
  std::uint64_t old_word;  ///< of an item that is there
  std::uint32_t row;       ///< a row of the key
  index::Held held;        ///< a row whose value it gets, or a sum
  std::uint8_t change, lane;
  std::uint8_t sums;       ///< its run is among the sums
  std::uint8_t counts_on;  ///< where scores are frequencies: from that of the item that is there

  /// The row of its own at which its score is noted: the one whose value it gets, if it is a row's.
  HOLDFAST_BOTH std::uint32_t score_row() const { return held == index::kSum ? row : held; }
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
struct PhaseRoom {
  std::uint32_t* slots[2] = {};            ///< (n,) the numbers of their slots; and sorted by line
  std::uint32_t* order[2] = {};            ///< (n,) which plan each is
  const index::Effect* effects = nullptr;  ///< (n,) of the rows of a run up to each, in the order of the job
  void* scratch = nullptr;
  std::size_t scratch_bytes = 0;
  bool claims = false;  ///< readers may look into the pool, so keys are claimed
};

/// That of keys and values of fixed length.
struct ChangeRoom : PhaseRoom {
  Planned* planned = nullptr;             ///< (n,)
  std::uint32_t* freed[2] = {};           ///< (n,) cells that came out of their slots
  Sum* sums = nullptr;                    ///< (n,) null where no row accumulates
  std::uint32_t* sum_cells[2] = {};       ///< (n,) 1 + the cell of each sum's old value; 0: none
  std::uint32_t* sum_order[2] = {};       ///< (n,) which sum each is
  const index::Writes* writes = nullptr;  ///< (n,) as effects, where scores are frequencies; null: elsewhere
  std::uint64_t* scores = nullptr;        ///< (n,) of changes, at their score_row(); null: all are that of the batch
  std::uint32_t* score_cells[2] = {};     ///< (n,) the cells whose scores go on; all bits set: none
  std::uint32_t* score_order[2] = {};     ///< (n,) which plan's each is
  std::uint32_t* copies = nullptr;        ///< (n,) of rows that read no cell: 1 + the row whose value it is; 0: zeros
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

}  // namespace holdfast::machine::cuda
