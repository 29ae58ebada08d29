// pool_search.cuh: searches of a table whose buckets have no copies in GPU memory. Each lane brings a key; the warp looks up one at a
// time, all 32 lanes at its candidate slots. GPHash §3.2.1.
#pragma once

#include "gpu/launch.cuh"
#include "structures/gphash/cuda/caches/values.cuh"
#include "structures/gphash/cuda/epochs.cuh"
#include "structures/gphash/cuda/kit.hpp"
#include "structures/gphash/cuda/memory.cuh"
#include "structures/gphash/cuda/row_keys.cuh"
#include "structures/gphash/cuda/search/rows.cuh"
#include "structures/gphash/cuda/tile.cuh"
#include "structures/gphash/protocol/find.hpp"

namespace holdfast::gphash::cuda {

/// True: with a copy.
template <class Shape>
__device__ bool answer(const WarpTile& tile, const CudaMemory& memory, const View<Shape>& view,
                       const gphash::Rows& rows, const ValueView& values, std::uint64_t row, const Item& item) {
  if (rows.scores && tile.lane() == 0) rows.scores[row] = item ? score_of_item(view, item.word) : 0;
  std::byte* const to = reads_value(rows.op) ? rows.result(row) : nullptr;
  if (to == nullptr) return false;
  if (!item) return tile.zero(to, rows.value_bytes), false;
  if (view.in_slot()) {
    if (tile.lane() == 0) store_user(to, item.word >> (8 * rows.column), rows.value_bytes);
    return false;
  }
  const std::uint64_t cell = item.word - 1;
  std::uint64_t position = kNoPosition;
  if (values.any()) {
    position = tile.once([&] {
      note_use(values, cell, row);
      return copy_of_cell(memory, values, cell);
    });
  }
  const bool hit = position != kNoPosition;
  const std::byte* const from = hit ? values.copies + position * view.cell_bytes : view.cell(cell);
  tile.read_cell(memory, to, from + rows.column, rows.value_bytes);
  return hit;
}

template <class Shape>
__global__ void __launch_bounds__(kThreads)
    find_kernel(const __grid_constant__ View<Shape> view, const __grid_constant__ ValueView values,
                const __grid_constant__ FindJob job, unsigned share) {
  const reclaim::cuda::InEpoch inside(job.state->readers);
  const WarpTile tile;
  const CudaMemory memory(job.state, nullptr);
  std::uint64_t hits = 0;
  for (std::uint64_t base = first_of_warp() * share; base < job.size; base += all_warps() * share) {
    const std::uint64_t mine = base + tile.lane();
    const bool brings =
        tile.lane() < share && mine < job.size && (job.mask == nullptr || job.mask[mine] != 0) && !outlived(job);
    Status status = Status::not_found;
    const std::uint64_t my_key = brings ? key_of_row(view, job, mine).word : 0;
    for (LaneMask rest = tile.ballot(brings); rest != 0; rest &= rest - 1) {
      const unsigned active = lowest_bit(rest);
      const Candidates<Shape> candidates(view, key_of_row(view, job, base + active, tile.from_lane(my_key, active)));
      const gphash::Found result = gphash::find_settled(tile, memory, view, candidates);
      hits += answer(tile, memory, view, job.rows, values, base + active, result.item);
      if (tile.lane() == active) status = gphash::status_of(result);
    }
    if (!brings) continue;
    if (job.rows.statuses) job.rows.statuses[mine] = status;
    if (job.rows.found) job.rows.found[mine] = status == Status::found;
  }
  if (tile.lane() == 0) memory.flush_counts();
  if (tile.lane() == 0 && hits != 0) memory.add(&values.state->hits, hits);
}

}  // namespace holdfast::gphash::cuda
