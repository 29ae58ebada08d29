// search.cuh: searches of a table whose buckets are resident: keys are resolved to cells in GPU memory, a thread a key, and
// host memory is touched once, for the value.
//
// A small batch is one kernel. A large one goes in phases, because host memory answers ten times faster in address order:
//
//   enter     the search joins an epoch, so that no cell that it may read is used again (RULES.md 5)
//   resolve   each row's cell, status and mark
//   order     rows by their cells
//   gather    the values, warp by warp through the heap, each cell once: reads of one line of host memory wait for each
//             other, a microsecond each
//   spread    them to further rows that want the same
//   leave     the epoch
//
// In a small batch a table of the cells asked for so far tells who is first.
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

/// Of the rows that want one cell, the first to put it into the table reads it; the others learn its row. A lane calls for
/// itself. The table has room for twice the rows, and is empty at first.
__device__ inline std::uint64_t leader_of(const Repeats& repeats, const Wanted& wanted) {
  constexpr unsigned kRowBits = 16;
  static_assert(kSmallSearch <= 1u << kRowBits);
  const std::uint64_t mine = wanted.word << kRowBits | wanted.row;
  std::uint64_t at = (wanted.word * 0x9e3779b97f4a7c15) >> 20;
  for (;; ++at) {
    auto* const place = reinterpret_cast<unsigned long long*>(&repeats.table[at & repeats.last]);
    const std::uint64_t has = atomicCAS(place, 0ull, static_cast<unsigned long long>(mine));
    if (has == 0) return wanted.row;
    if (has >> kRowBits == wanted.word) return has & ((1u << kRowBits) - 1);
  }
}

/// In one kernel: 32 rows a warp, or fewer where warps would stand idle.
template <class Shape>
__global__ void __launch_bounds__(kThreads)
    lookup_kernel(const __grid_constant__ View<Shape> view, const __grid_constant__ CacheView cache,
                  const __grid_constant__ FindJob job, const __grid_constant__ Repeats repeats, unsigned share) {
  const InEpoch inside(job.state);
  const WarpTile tile;
  const ResidentMemory memory(job.state, &cache);
  const Gather<Shape> gather(tile, memory, view, job.rows);
  for (std::uint64_t base = first_of_warp() * share; base < job.size; base += all_warps() * share) {
    Wanted wanted;
    if (tile.lane() < share) wanted = look_up(memory, view, job, base + tile.lane());
    if (repeats.table != nullptr && tile.lane() < share && wanted.row < job.size) {
      std::uint64_t leader = wanted.row;
      if (wanted.wants_cell()) leader = leader_of(repeats, wanted);
      repeats.leader[wanted.row] = static_cast<std::uint32_t>(leader);
      if (leader != wanted.row) wanted.word = Wanted::kNothing;
    }
    if (tile.ballot(wanted.word != Wanted::kNothing) != 0) gather(wanted);
  }
  memory.tell_retries();
}

/// Copies the values of leaders to the rows that follow them.
template <class Shape>
__global__ void __launch_bounds__(kThreads)
    follow_kernel(const __grid_constant__ View<Shape> view, const __grid_constant__ FindJob job,
                  const std::uint32_t* leaders, unsigned share) {
  const WarpTile tile;
  const CudaMemory memory(job.state, nullptr);
  const Gather<Shape> gather(tile, memory, view, job.rows);
  for (std::uint64_t base = first_of_warp() * share; base < job.size; base += all_warps() * share) {
    Wanted wanted;
    wanted.row = base + tile.lane();
    if (tile.lane() < share && wanted.row < job.size) {
      const std::uint32_t leader = leaders[wanted.row];
      if (leader != wanted.row) wanted.word = std::uint64_t{leader} + 1;
    }
    if (tile.ballot(wanted.word != Wanted::kNothing) != 0) gather.from_rows(wanted);
  }
}

/// The cell of each row; `none` for those that want no cell, which sort last.
template <class Shape, class Cell>
__global__ void __launch_bounds__(kThreads)
    resolve_kernel(const __grid_constant__ View<Shape> view, const __grid_constant__ CacheView cache,
                   const __grid_constant__ FindJob job, Cell* cells, std::uint32_t* rows) {
  const ResidentMemory memory(job.state, &cache);
  for (std::uint64_t row = first_of_thread(); row < job.size; row += all_threads()) {
    const Wanted wanted = look_up(memory, view, job, row);
    cells[row] = wanted.wants_cell() ? static_cast<Cell>(wanted.word - 1) : ~Cell{0};
    rows[row] = static_cast<std::uint32_t>(row);
  }
  memory.tell_retries();
}

/// 32 places in the order of cells, one a lane.
template <class Cell>
struct Places {
  static constexpr Cell kNone = ~Cell{0};
  bool brings = false;
  bool follows = false;  ///< the place before wants the same cell
  Cell cell = kNone;
  std::uint64_t row = 0;

  __device__ Places(const FindJob& job, const Cell* cells, const std::uint32_t* rows, std::uint64_t base,
                    unsigned lane) {
    const std::uint64_t mine = base + lane;
    brings = mine < job.size;
    if (brings) cell = cells[mine];
    if (brings) row = rows[mine];
    Cell before = __shfl_up_sync(kAllLanes, cell, 1);
    if (lane == 0) before = base == 0 ? kNone : cells[base - 1];
    follows = brings && cell != kNone && cell == before;
  }
};

/// Rows in the order of their cells; each warp takes 32 of them at a time.
template <class Shape, class Cell>
__global__ void __launch_bounds__(kThreads)
    gather_kernel(const __grid_constant__ View<Shape> view, const __grid_constant__ FindJob job, const Cell* cells,
                  const std::uint32_t* rows) {
  const WarpTile tile;
  const CudaMemory memory(job.state, nullptr);
  const Gather<Shape> gather(tile, memory, view, job.rows);
  for (std::uint64_t base = first_of_warp() * kWarp; base < job.size; base += all_warps() * kWarp) {
    const Places<Cell> place(job, cells, rows, base, tile.lane());
    Wanted wanted;
    wanted.row = place.row;
    // Rows that are masked out were answered with zeros, as absent ones are.
    if (place.brings && !place.follows)
      wanted.word = place.cell == Places<Cell>::kNone ? 0 : std::uint64_t{place.cell} + 1;
    gather(wanted);
    const unsigned leaders = tile.ballot(!place.follows) & lanes(tile.lane());
    if (tile.ballot(place.follows) == 0) continue;
    wanted.word = Wanted::kNothing;
    const std::uint64_t source = tile.from_lane(place.row, leaders == 0 ? 0 : 31 - __clz(static_cast<int>(leaders)));
    if (place.follows && leaders != 0) wanted.word = source + 1;
    gather.from_rows(wanted);
  }
}

/// The rows whose cell was read by an earlier warp.
template <class Shape, class Cell>
__global__ void __launch_bounds__(kThreads)
    spread_kernel(const __grid_constant__ View<Shape> view, const __grid_constant__ FindJob job, const Cell* cells,
                  const std::uint32_t* rows) {
  const WarpTile tile;
  const CudaMemory memory(job.state, nullptr);
  const Gather<Shape> gather(tile, memory, view, job.rows);
  for (std::uint64_t base = first_of_warp() * kWarp; base < job.size; base += all_warps() * kWarp) {
    if (base == 0 || cells[base] != cells[base - 1] || cells[base] == Places<Cell>::kNone) continue;
    const Places<Cell> place(job, cells, rows, base, tile.lane());
    std::uint64_t first = 0;  // of all places that want it
    for (std::uint64_t size = base; size != 0;) {
      const std::uint64_t half = size / 2;
      const bool before = cells[first + half] < cells[base];
      first = before ? first + half + 1 : first;
      size = before ? size - half - 1 : half;
    }
    Wanted wanted;
    wanted.row = place.row;
    const unsigned leaders = tile.ballot(!place.follows) & lanes(tile.lane());
    if (place.follows && leaders == 0) wanted.word = std::uint64_t{rows[first]} + 1;
    gather.from_rows(wanted);
  }
}

}  // namespace holdfast::machine::cuda
