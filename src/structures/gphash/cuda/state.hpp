// state.hpp: a table's volatile words in GPU memory, and the ring of its free cells.
#pragma once

#include <cstddef>
#include <cstdint>

#include "heap/slab.hpp"
#include "reclaim/cuda/epochs.hpp"
#include "structures/gphash/cuda/kit.hpp"
#include "structures/gphash/cuda/value_view.hpp"

namespace holdfast::machine::cuda {

/// The free cells of the heap as a ring of positions in GPU memory (rules 5, 6):
///
///   [head, tail)        free, lowest address first after recovery; a change takes from the head
///   [tail, retired_end)   retired: taken out of their slots, but perhaps still being read
///
/// A cell stands in the ring once or not at all, so `capacity` = all cells always has space. Within a batch only `head` and
/// `retired_end` move, each by fetch-and-add. An attempt to take past `tail` leaves `head` beyond it, which takes nothing; the
/// settlement before the next batch sets it right.
struct CellRing {
  std::uint64_t* cells = nullptr;
  std::uint64_t capacity = 0;
  std::uint64_t reserve = 0;  ///< the last cells, which inserts leave to updates
};

/// Cells that kernels take from the ring of their job.
struct JobRing {};

/// One for each table, in GPU memory. Words that many blocks add to are on separate lines.
struct DeviceState {
  alignas(128) std::uint64_t head;
  alignas(128) std::uint64_t retired_end;
  alignas(128) std::uint64_t tail;
  std::uint64_t retired_before[4];  ///< by epoch % 4: all that was retired in that epoch or before ends here
  reclaim::cuda::Epochs readers;    ///< a block of them enters when it begins and leaves when it ends
  PositionState* positions[2];      ///< of the caches of values and of buckets: they retire as cells do
  std::uint64_t generation;         ///< of the arrays that searches read; another one ends the searches in graphs
  // Counts.
  alignas(128) std::int64_t items;
  std::uint64_t moves, claim_misses, retries;
};

}  // namespace holdfast::machine::cuda
