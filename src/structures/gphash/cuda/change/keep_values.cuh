// keep_values.cuh: what a change in phases does with the value cache. Rule 15.
#pragma once

#include <cstdint>

#include "gpu/launch.cuh"
#include "structures/gphash/cuda/caches/values.cuh"
#include "structures/gphash/cuda/gather.cuh"
#include "structures/gphash/cuda/jobs.hpp"
#include "structures/gphash/cuda/kernels/change_workspace.hpp"
#include "structures/gphash/cuda/kit.hpp"
#include "structures/gphash/cuda/memory.cuh"

namespace holdfast::gphash::cuda {

/// Between `place` and `publish` of a change in phases: new values of cached keys go to spare positions, and all cells that
/// were written learn where their copy is. What is a sum comes out of its cell; a resident cache has it already (sums.cuh).
template <class Shape>
__global__ void __launch_bounds__(kThreads)
    keep_values_kernel(const __grid_constant__ View<Shape> view, const __grid_constant__ CacheView cache,
                       const __grid_constant__ ChangeJob job, const __grid_constant__ ChangeWorkspace workspace) {
  const WarpTile tile;
  const CudaMemory memory(job.state, &cache);
  const ValueView& values = cache.values;
  const bool resident = values.resident();
  gphash::Rows copies;
  copies.out = values.copies;
  copies.value_bytes = view.cell_bytes;
  const Gather<Shape> from_rows(tile, memory, view, job.rows, values.copies), from_cells(tile, memory, view, copies);
  const std::uint64_t changes = job.report->changes;
  for (std::uint64_t base = first_of_warp() * kWarp; base < changes; base += all_warps() * kWarp) {
    std::uint64_t cell = kNoPosition, position = kNoPosition;
    Wanted row, sum;
    if (base + tile.lane() < changes) {
      const Planned& planned = workspace.planned[base + tile.lane()];
      if (planned.word != 0) {
        cell = planned.word - 1;
        const std::uint64_t old = planned.old_word != 0 ? planned.old_word - 1 : kNoPosition;
        if (resident) {
          position = cell;
        } else {
          if (old != kNoPosition && copy_of_cell(memory, values, old) != kNoPosition) position = take_position(values);
          values.heat[cell] = old != kNoPosition ? values.heat[old] : 0;  // the key's, not the cell's
        }
        row.row = sum.row = position;
        if (planned.held == gphash::kSum) {
          if (!resident && position != kNoPosition) sum.word = planned.word;
        } else if (position != kNoPosition) {
          row.word = std::uint64_t{planned.held} + 1;
        }
      }
    }
    if (tile.ballot(row.word != Wanted::kNothing) != 0) from_rows.to_cells(row, workspace.scores);
    if (tile.ballot(sum.word != Wanted::kNothing) != 0) from_cells(sum);
    if (resident || cell == kNoPosition) continue;
    const bool kept = position != kNoPosition;
    if (kept) own(memory, values, position, cell);
    const MappedPosition now = kept ? MappedPosition::at(static_cast<std::uint32_t>(position)) : MappedPosition{};
    const MappedPosition was = gphash::remap(memory, values.map + cell, now);
    if (was.cached() && was.word != now.word) retire(values, was.position());
  }
}

}  // namespace holdfast::gphash::cuda
