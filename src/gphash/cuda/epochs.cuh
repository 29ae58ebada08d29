// epochs.cuh: who is still reading? Blocks of searches enter and leave epochs from inside their kernels, so that a freed cell
// rests until each search that ran when it was freed has ended, whoever launched it. RULES.md 5, gphash/cpu/epochs.hpp.
#pragma once

#include <cuda/atomic>

#include <cstdint>

#include "gphash/cuda/memory.cuh"
#include "gphash/cuda/state.hpp"

namespace holdfast::machine::cuda {

/// Joins the present epoch. One thread calls it.
__device__ inline std::uint64_t enter_epoch(DeviceState* state) {
  for (;;) {
    const std::uint64_t epoch = DeviceWord(state->epoch).load(::cuda::memory_order_seq_cst);
    DeviceWord(state->inside[epoch % 3]).fetch_add(1, ::cuda::memory_order_seq_cst);
    if (DeviceWord(state->epoch).load(::cuda::memory_order_seq_cst) == epoch) return epoch;
    DeviceWord(state->inside[epoch % 3]).fetch_sub(1, ::cuda::memory_order_seq_cst);
  }
}

__device__ inline void leave_epoch(DeviceState* state, std::uint64_t epoch) {
  DeviceWord(state->inside[epoch % 3]).fetch_sub(1, ::cuda::memory_order_seq_cst);
}

/// True if a search in a graph comes too late: what it would read is gone. It asks when it has joined an epoch, and whoever
/// takes arrays away changes the generation first, and then waits until nobody is inside.
__device__ inline bool outlived(const FindJob& job) {
  return job.generation != 0 && DeviceWord(job.state->generation).load(::cuda::memory_order_seq_cst) != job.generation;
}

/// Membership of a block for a scope that all its threads begin and end together.
class InEpoch {
 public:
  __device__ explicit InEpoch(DeviceState* state) : state_(state) {
    if (threadIdx.x == 0) epoch_ = enter_epoch(state);
    __syncthreads();
  }
  __device__ ~InEpoch() {
    __syncthreads();
    if (threadIdx.x == 0) leave_epoch(state_, epoch_);
  }
  InEpoch(const InEpoch&) = delete;
  InEpoch& operator=(const InEpoch&) = delete;

 private:
  DeviceState* state_;
  std::uint64_t epoch_ = 0;
};

/// Between two changing batches: begins new epochs as far as readers allow, and frees the cells that nobody reads any more.
/// One thread calls it.
__device__ inline void settle(DeviceState* state) {
  if (state->head > state->tail) state->head = state->tail;
  for (PositionState* const positions : state->positions) {
    if (positions->head > positions->tail) positions->head = positions->tail;
  }
  for (int i = 0; i < 2; ++i) {
    const std::uint64_t epoch = state->epoch;
    if (DeviceWord(state->inside[(epoch + 2) % 3]).load(::cuda::memory_order_seq_cst) != 0) break;  // of epoch - 1
    state->limbo_before[epoch % 4] = state->limbo_end;
    for (PositionState* const positions : state->positions) positions->limbo_before[epoch % 4] = positions->limbo_end;
    DeviceWord(state->epoch).store(epoch + 1, ::cuda::memory_order_seq_cst);
  }
  const std::uint64_t freed = state->limbo_before[(state->epoch - 2) % 4];
  if (freed > state->tail) state->tail = freed;
  for (PositionState* const positions : state->positions) {
    const std::uint64_t rested = positions->limbo_before[(state->epoch - 2) % 4];
    if (rested > positions->tail) DeviceWord(positions->tail).store(rested, ::cuda::memory_order_release);
  }
}

}  // namespace holdfast::machine::cuda
