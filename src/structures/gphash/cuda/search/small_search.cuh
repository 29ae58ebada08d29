// small_search.cuh: the phases before the gather of search.cuh in one kernel, for batches that are too small to be worth many
// launches. One cluster of blocks does it, whose shared memory together counts the rows of each range of the heap.
#pragma once

#include <cooperative_groups.h>

#include <cub/block/block_scan.cuh>

#include "structures/gphash/cuda/search/search.cuh"

/// Older GPUs have no clusters, and their compilation refuses to hear of them; has_clusters keeps the kernel from running there.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
#define HOLDFAST_IN_CLUSTERS
#else
#define HOLDFAST_IN_CLUSTERS __cluster_dims__(holdfast::gphash::cuda::kClusterBlocks)
#endif

namespace holdfast::gphash::cuda {

inline constexpr unsigned kClusterBlocks = 8, kClusterThreads = 512;
static_assert(1u << kClusterBinBits == kClusterBlocks * kClusterThreads, "a thread of the cluster counts one");

/// Enters the epoch, and leaves the places of the rows that have a cell, range by range, as the phases do.
template <class Shape, class Cell, bool kValueHits>
__global__ void HOLDFAST_IN_CLUSTERS __launch_bounds__(kClusterThreads)
    resolve_small_kernel(const __grid_constant__ View<Shape> view, const __grid_constant__ CacheView cache,
                         const __grid_constant__ FindJob job, const __grid_constant__ SearchWorkspace workspace) {
#if __CUDA_ARCH__ >= 900
  using Scan = cub::BlockScan<std::uint32_t, kClusterThreads>;
  __shared__ std::uint32_t counts[kClusterThreads], total;
  __shared__ typename Scan::TempStorage scratch;
  const auto cluster = cooperative_groups::this_cluster();
  const unsigned block = cluster.block_rank();
  const auto count_of = [&](Cell cell) {
    const auto bin = static_cast<unsigned>(cell >> workspace.shift);
    return cluster.map_shared_rank(&counts[bin % kClusterThreads], bin / kClusterThreads);
  };
  counts[threadIdx.x] = 0;
  if (block == 0 && threadIdx.x == 0) *workspace.epoch = reclaim::cuda::enter_epoch(job.state->readers);
  cluster.sync();  // no block looks before the search is in its epoch

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
      cell = static_cast<Cell>(wanted.word - 1);
      workspace.ranks[row] = atomicAdd(count_of(cell), 1u);
    }
    if (row < job.size) cells[row] = cell;
    gather.zeros(base, wanted.word == 0);
  }
  cluster.sync();

  std::uint32_t start = 0, rows = 0;
  Scan(scratch).ExclusiveSum(counts[threadIdx.x], start, rows);
  if (threadIdx.x == 0) total = rows;
  cluster.sync();
  for (unsigned before = 0; before < block; ++before) start += *cluster.map_shared_rank(&total, before);
  counts[threadIdx.x] = start;
  if (block == kClusterBlocks - 1 && threadIdx.x == 0) workspace.starts[workspace.bins] = start + rows;
  cluster.sync();

  auto* const places = static_cast<Place<Cell>*>(workspace.places);
  for (std::uint64_t row = first_of_thread(); row < job.size; row += all_threads()) {
    const Cell cell = cells[row];
    if (cell != kNoPlace<Cell>) places[*count_of(cell) + workspace.ranks[row]] = {cell, static_cast<Cell>(row)};
  }
  cluster.sync();  // no block ends while another looks into its counts
  if constexpr (kValueHits) value_hits.flush_counts();
  if constexpr (kValueHits) keys.flush_counts();
  hits.flush_counts();
  memory.report_retries();
#endif
}

}  // namespace holdfast::gphash::cuda
