// state.hpp: a table's volatile words in GPU memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include "heap/cuda/ring_view.hpp"
#include "heap/slab.hpp"
#include "reclaim/cuda/epochs.hpp"
#include "structures/gphash/cuda/kit.hpp"
#include "structures/gphash/cuda/value_view.hpp"

namespace holdfast::gphash::cuda {

/// Cells that kernels take from the ring of their job.
struct JobRing {};

/// One for each table, in GPU memory. Words that many blocks add to are on separate lines.
struct DeviceState : RingState {
  reclaim::cuda::Epochs readers;  ///< a block of them enters when it begins and leaves when it ends
  PositionState* positions[2];    ///< of the caches of values and of buckets: they retire as cells do
  std::uint64_t generation;       ///< of the arrays that searches read; another one ends the searches in graphs
  // Counts.
  alignas(128) std::int64_t items;
  std::uint64_t moves, claim_misses, retries;
};

}  // namespace holdfast::gphash::cuda
