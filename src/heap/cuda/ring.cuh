// ring.cuh: what kernels do with a ring of free cells: take one, retire one, and free retired ones between batches. Rules 5, 6.
#pragma once

#include <cstdint>

#include "gpu/words.cuh"
#include "heap/cuda/ring_view.hpp"
#include "heap/slab.hpp"

namespace holdfast::heap::cuda {

/// Retires a cell: one that its slot no longer names, or that no slot ever named.
__device__ inline void retire_cell(RingState& state, const CellRing& ring, std::uint64_t cell) {
  const std::uint64_t at = gpu::DeviceWord(state.retired_end).fetch_add(1, ::cuda::memory_order_relaxed);
  ring.cells[at % ring.capacity] = cell;
}

/// Returns a free cell, or kNoCell. Inserts leave the reserve to updates; one that took from it in a race retires its cell.
__device__ inline std::uint64_t take_cell(RingState& state, const CellRing& ring, bool adds_key) {
  const std::uint64_t end = state.tail;
  const std::uint64_t limit = !adds_key ? end : end > ring.reserve ? end - ring.reserve : 0;
  // The look ahead keeps `head` within a warp's cell each of the end.
  if (gpu::DeviceWord(state.head).load(::cuda::memory_order_relaxed) >= limit) return kNoCell;
  const std::uint64_t at = gpu::DeviceWord(state.head).fetch_add(1, ::cuda::memory_order_relaxed);
  if (at >= end) return kNoCell;
  const std::uint64_t cell = ring.cells[at % ring.capacity];
  if (at < limit) return cell;
  retire_cell(state, ring, cell);
  return kNoCell;
}

// Between two batches, by one thread:

/// The first `free` places of the ring have free cells, and no cell is retired.
__device__ inline void begin_ring(RingState& state, std::uint64_t free) {
  state.head = 0;
  state.tail = free;
  state.retired_end = free;
  for (std::uint64_t& before : state.retired_before) before = free;
}
/// Sets right a `head` that attempts to take have moved past the end.
__device__ inline void end_batch(RingState& state) {
  if (state.head > state.tail) state.head = state.tail;
}
/// An epoch ends: remembers what was retired in it.
__device__ inline void end_epoch(RingState& state, std::uint64_t epoch) {
  state.retired_before[epoch % 4] = state.retired_end;
}
/// All readers of epoch `ended` have left: what was retired in it is free.
__device__ inline void free_retired(RingState& state, std::uint64_t ended) {
  const std::uint64_t freed = state.retired_before[ended % 4];
  if (freed > state.tail) state.tail = freed;
}

}  // namespace holdfast::heap::cuda
