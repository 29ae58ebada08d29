// epochs.cuh: what comes free as readers of a table leave their epochs. Rule 5, reclaim/epochs.hpp.
#pragma once

#include <cstdint>

#include "heap/cuda/ring.cuh"
#include "reclaim/cuda/epochs.cuh"
#include "structures/gphash/cuda/jobs.hpp"
#include "structures/gphash/cuda/kit.hpp"
#include "structures/gphash/cuda/state.hpp"

namespace holdfast::gphash::cuda {

/// True if a search in a graph comes too late: what it would read is gone. It asks when it has joined an epoch, and the thread that
/// takes arrays away changes the generation first, and then waits until no search is inside.
__device__ inline bool outlived(const FindJob& job) {
  return job.generation != 0 && DeviceWord(job.state->generation).load(::cuda::memory_order_seq_cst) != job.generation;
}

/// Between two changing batches: begins new epochs as far as readers allow, and frees the cells that have no reader any more.
/// One thread calls it.
__device__ inline void settle(DeviceState* state) {
  end_batch(*state);
  for (PositionState* const positions : state->positions) {
    end_batch(*positions);
  }
  reclaim::cuda::advance_epochs(state->readers, [&](std::uint64_t epoch) {
    end_epoch(*state, epoch);
    for (PositionState* const positions : state->positions) end_epoch(*positions, epoch);
  });
  const std::uint64_t ended = state->readers.epoch - 2;
  free_retired(*state, ended);
  for (PositionState* const positions : state->positions) {
    const std::uint64_t rested = positions->retired_before[ended % 4];
    if (rested > positions->tail) DeviceWord(positions->tail).store(rested, ::cuda::memory_order_release);
  }
}

}  // namespace holdfast::gphash::cuda
