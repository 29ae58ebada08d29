// search.cuh: searches of a table whose buckets have copies in GPU memory, all of them (*resident*) or some: keys are resolved to cells
// there, a thread a key, and host memory is touched once, for the value; and once for a slot that has no copy.
//
// It goes in phases, because host memory answers ten times faster in address order:
//
//   enter     the search joins an epoch, so that no cell that it may read is used again (rule 5)
//   resolve   each row's cell, status and mark; rows without a cell, and those whose value has a copy in GPU memory, are
//             answered, the others counted, range by range of the heap
//   order     the places of the rows that have one, range by range: what matters is which pages follow each other,
//             so the order within a range is as it comes
//   gather    the values, warp by warp through the heap. Of the rows that want one cell, one of a block reads it, the
//             others copy: reads of one line of host memory wait for each other, a microsecond each. The last block leaves
//             the epoch
//
// The host never learns how many rows have a cell. All before the gather is one kernel if the batch is small
// (small_search.cuh). A GPU that cannot do that has small batches unordered, in one kernel, in which a table of the cells
// asked for shows who is first.
#pragma once

#include <type_traits>

#include "core/both.hpp"
#include "gpu/launch.cuh"
#include "gpu/order/bins.cuh"
#include "structures/gphash/cuda/caches/maps.cuh"
#include "structures/gphash/cuda/gather.cuh"
#include "structures/gphash/cuda/kernels/search_workspace.hpp"
#include "structures/gphash/cuda/kit.hpp"
#include "structures/gphash/cuda/search/key_directory.cuh"
#include "structures/gphash/cuda/search/rows.cuh"
#include "structures/gphash/cuda/search/value_hits.cuh"

namespace holdfast::gphash::cuda {

/// One row, by one thread: its item, and the answers that are not values. Of a row whose key is known, `copy` says where that of the value
/// is, and nothing else is wanted.
template <class Shape>
__device__ Wanted look_up(const CopyMemory& memory, BucketHits& hits, const View<Shape>& view,
                          KeyDirectory<Shape>& keys, const FindJob& job, std::uint64_t row, std::uint64_t& copy) {
  Wanted wanted;
  wanted.row = row;
  copy = kNoPosition;
  if (!is_asked(job, row)) return wanted;
  const Asked asked = keys.ask(row);
  if (asked.known) {
    copy = keys.answer(row, asked);
    return wanted;
  }
  const gphash::Found found = find_row(memory, hits, view, job, row);
  if (found.item) keys.learn(row, asked, found.item.word - 1);
  return answer_row(view, job, row, gphash::status_of(found), found.item.word);
}

/// Of the rows that want one cell, the first to put it into the table reads it; the others learn its row. A lane calls for
/// itself. The table has space for twice the rows, and is empty at first.
__device__ inline std::uint64_t leader_of(const Repeats& repeats, const Wanted& wanted) {
  constexpr unsigned kRowBits = 16;
  static_assert(kSmallSearch <= 1u << kRowBits);
  HOLDFAST_ASSERT(wanted.row < 1u << kRowBits);
  const std::uint64_t mine = wanted.word << kRowBits | wanted.row;
  std::uint64_t at = (wanted.word * 0x9e3779b97f4a7c15) >> 20;
  // ends: the table has twice as many places as the batch has rows
  for (;; ++at) {
    auto* const place = reinterpret_cast<unsigned long long*>(&repeats.table[at & repeats.last]);
    const std::uint64_t has = atomicCAS(place, 0ull, static_cast<unsigned long long>(mine));
    if (has == 0) return wanted.row;
    if (has >> kRowBits == wanted.word) return has & ((1u << kRowBits) - 1);
  }
}

/// Of a multiprocessor. Else the compiler now and then makes space for another block, and spills registers in every search, or takes more
/// registers, and gives up a block.
template <class Shape>
inline constexpr unsigned kLookupBlocks = std::is_same_v<Shape, gphash::RuntimeShape> ? 2 : 3;

/// In one kernel: 32 rows a warp, or fewer where warps would stand idle.
template <class Shape, Copies kCopies>
__global__ void __launch_bounds__(kThreads, kLookupBlocks<Shape>)
    lookup_kernel(const __grid_constant__ View<Shape> view, const __grid_constant__ CacheView cache,
                  const __grid_constant__ FindJob job, const __grid_constant__ Repeats repeats, unsigned share) {
  const reclaim::cuda::InEpoch inside(job.state->readers);
  const WarpTile tile;
  const CopyMemory memory(job.state, &cache);
  BucketHits hits(cache.buckets);
  const Gather<Shape> gather(tile, memory, view, job.rows, kCopies == Copies::all ? cache.values.copies : view.heap);
  ValueHits<Shape> value_hits(tile, memory, view, cache.values, job.rows);
  KeyDirectory<Shape> keys(memory, view, cache, job);
  for (std::uint64_t base = first_of_warp() * share; base < job.size; base += all_warps() * share) {
    Wanted wanted;
    std::uint64_t copy = kNoPosition;
    if (tile.lane() < share) wanted = look_up(memory, hits, view, keys, job, base + tile.lane(), copy);
    if constexpr (kCopies == Copies::some) value_hits(wanted, copy);
    if constexpr (kCopies == Copies::all) value_hits.count(wanted.wants_cell());
    if (repeats.table != nullptr && tile.lane() < share && wanted.row < job.size) {
      std::uint64_t leader = wanted.row;
      if (wanted.wants_cell()) leader = leader_of(repeats, wanted);
      repeats.leader[wanted.row] = static_cast<std::uint32_t>(leader);
      if (leader != wanted.row) wanted.word = Wanted::kNothing;
    }
    if (tile.ballot(wanted.word != Wanted::kNothing) != 0) gather(wanted);
  }
  if constexpr (kCopies != Copies::none) value_hits.flush_counts();
  if constexpr (kCopies == Copies::some) keys.flush_counts();
  hits.flush_counts();
  memory.report_retries();
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

/// Likewise.
template <class Shape, bool kValueHits>
inline constexpr unsigned kResolveBlocks = !kValueHits         ? 0
                                           : Shape::kMayBeWide ? 2
                                                               : 3;

/// The cell of each row, and how many rows of its range came before it.
template <class Shape, class Cell, bool kValueHits>
__global__ void __launch_bounds__(kThreads, kResolveBlocks<Shape, kValueHits>)
    resolve_kernel(const __grid_constant__ View<Shape> view, const __grid_constant__ CacheView cache,
                   const __grid_constant__ FindJob job, const __grid_constant__ SearchWorkspace workspace) {
  const WarpTile tile;
  const CopyMemory memory(job.state, &cache);
  BucketHits hits(cache.buckets);
  const Gather<Shape> gather(tile, memory, view, job.rows);
  ValueHits<Shape> value_hits(tile, memory, view, cache.values, job.rows);
  KeyDirectory<Shape> keys(memory, view, cache, job);
  auto* const cells = static_cast<Cell*>(workspace.cells);
  for (std::uint64_t base = first_of_warp() * kWarp; base < job.size; base += all_warps() * kWarp) {
    const std::uint64_t row = base + tile.lane();
    std::uint64_t copy;
    Wanted wanted = look_up(memory, hits, view, keys, job, row, copy);
    if constexpr (kValueHits) value_hits(wanted, copy);
    Cell cell = kNoPlace<Cell>;
    if (wanted.wants_cell()) {
      HOLDFAST_ASSERT(wanted.word - 1 < view.cells);
      cell = static_cast<Cell>(wanted.word - 1);
      count_row(workspace, row, cell);
    }
    if (row < job.size) cells[row] = cell;
    gather.zeros(base, wanted.word == 0);
  }
  if constexpr (kValueHits) value_hits.flush_counts();
  if constexpr (kValueHits) keys.flush_counts();
  hits.flush_counts();
  memory.report_retries();
}

template <class Cell>
__global__ void __launch_bounds__(kThreads)
    place_rows_kernel(const __grid_constant__ SearchWorkspace workspace, std::uint64_t size) {
  place_rows_of<Cell>(workspace, workspace.part.answered(), size);
}

/// Places, at most, that a block takes at once of a heap of which each batch reads little; of others kWindow.
inline constexpr unsigned kSparseWindow = 256;
inline constexpr unsigned kDenseBytes = 2048;  ///< of the heap, for each row, where it reads much

/// How many blocks gather, and how many rows each of them takes at once. Where rows lie far apart in the heap, the
/// translation of addresses limits the link, and does best if little of the heap is being read at a time.
struct GatherGrid {
  unsigned blocks, rows;
};
HOLDFAST_BOTH inline GatherGrid gather_grid(std::uint64_t rows, std::uint64_t heap_bytes, unsigned processors,
                                            unsigned share) {
  const unsigned few = processors < share ? 1 : processors / share;
  constexpr std::uint64_t kFewRows = 1 << 19;
  GatherGrid grid{1, kSparseWindow};
  if (rows == 0) return grid;
  if (heap_bytes / rows < kDenseBytes) grid.rows = kWindow;
  grid.blocks = rows < kFewRows ? few : processors;
  while (grid.rows > kWarp && std::uint64_t{grid.blocks} * grid.rows >= 2 * rows) grid.rows /= 2;
  const std::uint64_t windows = (rows + grid.rows - 1) / grid.rows;
  if (windows < grid.blocks) grid.blocks = static_cast<unsigned>(windows);
  return grid;
}

/// The last block that ends a search leaves its epoch.
__device__ inline void leave_after_all(DeviceState* state, const SearchWorkspace& workspace) {
  if (workspace.is_left_by_others) return;
  __syncthreads();
  if (threadIdx.x != 0) return;
  const ::cuda::atomic_ref<std::uint32_t, ::cuda::thread_scope_device> ended(*workspace.ended);
  const std::uint32_t before = ended.fetch_add(1, ::cuda::memory_order_acq_rel);
  HOLDFAST_ASSERT(before < gridDim.x);
  if (before + 1 != gridDim.x) return;
  ended.store(0, ::cuda::memory_order_relaxed);
  reclaim::cuda::leave_epoch(state->readers, *workspace.epoch);
}

/// Blocks take windows of places, at most kWindow and a multiple of 32, and their warps 32 places at a time. The grid is for all
/// rows of the batch; how many want cells is known here. `kValueHits`: it is not known yet which of them have copies.
template <class Shape, class Cell, bool kValueHits>
__global__ void __launch_bounds__(kThreads)
    gather_kernel(const __grid_constant__ View<Shape> view, const __grid_constant__ ValueView values,
                  const __grid_constant__ FindJob job, const __grid_constant__ SearchWorkspace workspace,
                  unsigned processors) {
  __shared__ Window<Cell> window;
  const WarpTile tile;
  const CudaMemory memory(job.state, nullptr);
  const Gather<Shape> gather(tile, memory, view, job.rows);
  ValueHits<Shape> value_hits(tile, memory, view, values, job.rows);
  const auto* const places = static_cast<const Place<Cell>*>(workspace.places) + workspace.part.answered();
  const std::uint64_t all = workspace.part.is_void() ? 0 : workspace.starts[workspace.bins];
  const GatherGrid grid = gather_grid(all, view.cells * view.cell_bytes, processors, workspace.gather_share);
  HOLDFAST_ASSERT(grid.rows <= kWindow && grid.rows % kWarp == 0);
  const unsigned rows = grid.rows, blocks = min(grid.blocks, gridDim.x);
  std::uint64_t base = blockIdx.x < blocks ? std::uint64_t{blockIdx.x} * rows : all;
  for (; base < all; base += std::uint64_t{blocks} * rows) {
    const auto size = static_cast<unsigned>(min(std::uint64_t{rows}, all - base));
    window.load(places + base, size);
    for (unsigned i = threadIdx.x; i < rows; i += kThreads) {
      Wanted wanted;
      if (i < size && window.leader[i] == i) {
        wanted.row = window.row[i];
        wanted.word = std::uint64_t{window.cell[i]} + 1;
      }
      if constexpr (kValueHits) value_hits(wanted);
      gather(wanted);
    }
    __syncthreads();  // all that the window wants has been read
    for (unsigned i = threadIdx.x; i < rows; i += kThreads) {
      Wanted wanted;
      if (i < size && window.leader[i] != i) {
        wanted.row = window.row[i];
        wanted.word = std::uint64_t{window.row[window.leader[i]]} + 1;
      }
      if (tile.ballot(wanted.word != Wanted::kNothing) != 0) gather.from_rows(wanted);
    }
    __syncthreads();  // its arrays are used again
  }
  if constexpr (kValueHits) value_hits.flush_counts();
  if (!workspace.part.goes_first) leave_after_all(job.state, workspace);
}

}  // namespace holdfast::gphash::cuda
