// search.cuh: searches of a table whose buckets are resident: keys are resolved to cells in GPU memory, a thread a key, and
// host memory is touched once, for the value.
//
// A small batch is one kernel. A large one goes in phases, because host memory answers ten times faster in address order:
//
//   enter     the search joins an epoch, so that no cell that it may read is used again (RULES.md 5)
//   resolve   each row's cell, status and mark
//   order     rows by their cells
//   gather    the values, warp by warp through the heap; a cell that several rows want is read once a warp
//   leave     the epoch
#pragma once

#include "machine/cuda/epochs.cuh"
#include "machine/cuda/gather.cuh"
#include "machine/cuda/launch.cuh"
#include "machine/cuda/thread_tile.cuh"

namespace holdfast::machine::cuda {

/// One row, by one thread: its item, and the answers that are not values.
template <class Shape>
__device__ Wanted look_up(const ResidentMemory& memory, const View<Shape>& view, const FindJob& job,
                          std::uint64_t row) {
  Wanted wanted;
  wanted.row = row;
  if (row >= job.size || (job.mask != nullptr && job.mask[row] == 0)) return wanted;
  const Candidates<Shape> candidates(view, load_user(job.keys + 8 * row, 8));
  index::Found found = index::find(ThreadTile{}, memory, view, candidates);
  while (!found.settled) {
    memory.count_retry();
    found = index::find(ThreadTile{}, memory, view, candidates);
  }
  const bool there = static_cast<bool>(found.item);
  if (job.rows.statuses) job.rows.statuses[row] = there ? Status::found : Status::not_found;
  if (job.rows.found) job.rows.found[row] = there;
  if (job.rows.op == Op::contains || job.rows.out == nullptr) return wanted;
  if (view.in_slot()) {
    store_user(job.rows.result(row), found.item.word, job.rows.value_bytes);  // no item has the word 0
  } else {
    wanted.word = found.item.word;
  }
  return wanted;
}

/// In one kernel: 32 rows a warp, or fewer where warps would stand idle.
template <class Shape>
__global__ void __launch_bounds__(kThreads)
    lookup_kernel(const __grid_constant__ View<Shape> view, const __grid_constant__ CacheView cache,
                  const __grid_constant__ FindJob job, unsigned share) {
  const InEpoch inside(job.state);
  const WarpTile tile;
  const ResidentMemory memory(job.state, &cache);
  const Gather<Shape> gather(tile, memory, view, job.rows);
  for (std::uint64_t base = first_of_warp() * share; base < job.size; base += all_warps() * share) {
    Wanted wanted;
    if (tile.lane() < share) wanted = look_up(memory, view, job, base + tile.lane());
    if (tile.ballot(wanted.word != Wanted::kNothing) != 0) gather(wanted);
  }
  memory.tell_retries();
}

/// The cell of each row; `none` for those that want no cell, which sort last.
template <class Shape, class Cell>
__global__ void __launch_bounds__(kThreads)
    resolve_kernel(const __grid_constant__ View<Shape> view, const __grid_constant__ CacheView cache,
                   const __grid_constant__ FindJob job, Cell* cells, std::uint32_t* rows) {
  const ResidentMemory memory(job.state, &cache);
  for (std::uint64_t row = first_of_thread(); row < job.size; row += all_threads()) {
    const Wanted wanted = look_up(memory, view, job, row);
    const bool wants = wanted.word != 0 && wanted.word != Wanted::kNothing;
    cells[row] = wants ? static_cast<Cell>(wanted.word - 1) : ~Cell{0};
    rows[row] = static_cast<std::uint32_t>(row);
  }
  memory.tell_retries();
}

/// Rows in the order of their cells; each warp takes 32 of them at a time.
template <class Shape, class Cell>
__global__ void __launch_bounds__(kThreads)
    gather_kernel(const __grid_constant__ View<Shape> view, const __grid_constant__ FindJob job, const Cell* cells,
                  const std::uint32_t* rows) {
  const WarpTile tile;
  const CudaMemory memory(job.state, nullptr);
  const Gather<Shape> gather(tile, memory, view, job.rows);
  for (std::uint64_t base = first_of_warp() * kWarp; base < job.size; base += all_warps() * kWarp) {
    const std::uint64_t mine = base + tile.lane();
    const bool brings = mine < job.size;
    const Cell cell = brings ? cells[mine] : ~Cell{0};
    Wanted wanted;
    wanted.row = brings ? rows[mine] : 0;
    const Cell before = __shfl_up_sync(kAllLanes, cell, 1);
    const bool follows = brings && cell != ~Cell{0} && tile.lane() != 0 && cell == before;
    // Rows that are masked out were answered with zeros, as absent ones are.
    if (brings && !follows) wanted.word = cell == ~Cell{0} ? 0 : std::uint64_t{cell} + 1;
    gather(wanted);
    const unsigned followers = tile.ballot(follows);
    for (unsigned left = followers; left != 0; left &= left - 1) {
      const unsigned at = lowest_bit(left);
      const unsigned leader = 31 - __clz(static_cast<int>(~followers & lanes(at)));
      copy_result(job.rows, tile.from_lane(wanted.row, at), tile.from_lane(wanted.row, leader), tile.lane(), kWarp);
    }
  }
}

}  // namespace holdfast::machine::cuda
