// values.cuh: what readers and writers of the table do with the value cache (value_view.hpp). Rule 15.
#pragma once

#include <cstdint>

#include "gpu/launch.cuh"
#include "structures/gphash/cuda/caches/maps.cuh"
#include "structures/gphash/cuda/kit.hpp"
#include "structures/gphash/cuda/memory.cuh"
#include "structures/gphash/cuda/value_view.hpp"
#include "structures/gphash/protocol/cache_map.hpp"

namespace holdfast::gphash::cuda {

using MappedPosition = gphash::Mapped<std::uint32_t>;

/// Where the copy of a cell is; kNoPosition: in host memory alone.
__device__ inline std::uint64_t copy_of_cell(const CudaMemory& memory, const ValueView& values, std::uint64_t cell) {
  if (values.map == nullptr) return cell;
  const MappedPosition mapped = gphash::mapped(memory, values.map + cell);
  return mapped.cached() ? mapped.position() : kNoPosition;
}

/// Counts, for some rows, that their cell was wanted.
__device__ inline void note_use(const ValueView& values, std::uint64_t cell, std::uint64_t row) {
  if (is_sampled(values, row)) warm(values, cell);
}

/// A cell was written, durably, and is not yet shown; or it came out of its slot. It has no copy from now on. True: it had one.
__device__ inline bool forget_copy(const CudaMemory& memory, const ValueView& values, std::uint64_t cell) {
  if (values.map == nullptr) return false;
  const MappedPosition was = gphash::remap(memory, values.map + cell, MappedPosition{});
  if (was.cached()) retire(values, was.position());
  return was.cached();
}

/// A spare position for a change. kNoPosition: there is none.
__device__ inline std::uint64_t take_position(const ValueView& values) {
  const std::uint64_t at = ticket(values.state->head);
  if (at < values.state->tail) return values.ring[at % values.positions];
  atomicAdd(&values.state->starved, 1u);
  return kNoPosition;
}

}  // namespace holdfast::gphash::cuda
