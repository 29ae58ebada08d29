// far_search.cuh: searches of many rows where some buckets have no copy. Rows that read a slot of the pool do so in the order of
// addresses, in which host memory answers ten times faster; then values are gathered as in search.cuh.
//
//   aim    each row's tags: rows whose tags point to copies, or nowhere, are resolved at once; the others say which bucket they will
//          read
//   order  stretch by stretch of the buckets, whose numbers go as their addresses
//   far    looks those rows up again, whole, in this order: what was seen before only says where to look
#pragma once

#include "machine/cuda/search.cuh"

namespace holdfast::machine::cuda {

/// The first bucket without a copy that a search will look into; kNoPosition: none.
template <class Shape>
__device__ std::uint64_t bucket_without_copy(const CopyMemory& memory, const View<Shape>& view, const FindJob& job,
                                             std::uint64_t row) {
  if (row >= job.size || (job.mask != nullptr && job.mask[row] == 0) || outlived(job)) return kNoPosition;
  const Candidates<Shape> candidates(view, key_of_row(view, job.keys, row));
  const CacheView& cache = *memory.cache();
  for (LaneMask hits = index::look(ThreadTile{}, memory, view, candidates).hits; hits != 0; hits &= hits - 1) {
    const std::uint64_t bucket = cache.bucket_of(candidates.slot(view, lowest_bit(hits)));
    if (bucket != kNoPosition && !index::mapped(memory, cache.buckets.map + bucket).cached()) return bucket;
  }
  return kNoPosition;
}

/// Resolves rows, wherever they stand: answers those whose value is not in the heap alone, and counts the others.
template <class Shape, class Cell>
class Resolve {
 public:
  __device__ Resolve(const WarpTile& tile, const CopyMemory& memory, const View<Shape>& view, const CacheView& cache,
                     const FindJob& job, const SearchRoom& room)
      : tile_(tile),
        memory_(memory),
        view_(view),
        job_(job),
        room_(room),
        near_values_(cache.values.any()),
        gather_(tile, memory, view, job.rows),
        near_(tile, memory, view, cache.values, job.rows),
        hits_(cache.buckets) {}

  /// A row a lane, or none if `row` is no row of the job. All lanes call.
  __device__ void operator()(std::uint64_t row) {
    Wanted wanted = look_up(memory_, hits_, view_, job_, row);
    if (near_values_) near_(wanted);
    Cell cell = kNoPlace<Cell>;
    if (wanted.wants_cell()) {
      cell = static_cast<Cell>(wanted.word - 1);
      room_.ranks[row] = atomicAdd(&room_.counts[cell >> room_.shift], 1u);
    }
    if (room_.cells != nullptr && row < job_.size) static_cast<Cell*>(room_.cells)[row] = cell;
    Wanted zeros;
    zeros.row = row;
    if (wanted.word == 0) zeros.word = 0;
    if (tile_.ballot(wanted.word == 0) != 0) gather_(zeros);
  }

  /// What was counted. All threads of the block call, once.
  __device__ void tell() const {
    if (near_values_) near_.tell();
    hits_.tell();
    memory_.tell_retries();
  }

 private:
  const WarpTile& tile_;
  const CopyMemory& memory_;
  const View<Shape>& view_;
  const FindJob& job_;
  const SearchRoom& room_;
  const bool near_values_;
  const Gather<Shape> gather_;
  Near<Shape> near_;
  BucketHits hits_;
};

/// `aim`: where rows that read the pool are ordered by bucket; `room`: where others are by cell, if values are wanted that may lie in
/// the heap alone.
template <class Shape, class Cell>
__global__ void __launch_bounds__(kThreads)
    aim_kernel(const __grid_constant__ View<Shape> view, const __grid_constant__ CacheView cache,
               const __grid_constant__ FindJob job, const __grid_constant__ SearchRoom aim,
               const __grid_constant__ SearchRoom room) {
  const WarpTile tile;
  const CopyMemory memory(job.state, &cache);
  Resolve<Shape, Cell> resolve(tile, memory, view, cache, job, room);
  auto* const buckets = static_cast<std::uint32_t*>(aim.cells);
  for (std::uint64_t base = first_of_warp() * kWarp; base < job.size; base += all_warps() * kWarp) {
    const std::uint64_t row = base + tile.lane();
    const std::uint64_t bucket = bucket_without_copy(memory, view, job, row);
    if (bucket != kNoPosition) aim.ranks[row] = atomicAdd(&aim.counts[bucket >> aim.shift], 1u);
    if (row < job.size)
      buckets[row] = bucket != kNoPosition ? static_cast<std::uint32_t>(bucket) : kNoPlace<std::uint32_t>;
    resolve(bucket != kNoPosition ? job.size : row);
  }
  resolve.tell();
}

/// `leaves`: nothing is gathered after it, so its last block leaves the epoch.
template <class Shape, class Cell>
__global__ void __launch_bounds__(kThreads)
    far_kernel(const __grid_constant__ View<Shape> view, const __grid_constant__ CacheView cache,
               const __grid_constant__ FindJob job, const __grid_constant__ SearchRoom aim,
               const __grid_constant__ SearchRoom room, bool leaves) {
  const WarpTile tile;
  const CopyMemory memory(job.state, &cache);
  Resolve<Shape, Cell> resolve(tile, memory, view, cache, job, room);
  const auto* const places = static_cast<const Place<std::uint32_t>*>(aim.places);
  const std::uint64_t all = aim.starts[aim.stretches];
  for (std::uint64_t base = first_of_warp() * kWarp; base < all; base += all_warps() * kWarp) {
    const std::uint64_t at = base + tile.lane();
    resolve(at < all ? places[at].row : job.size);
  }
  resolve.tell();
  if (leaves) leave_after_all(job.state, aim);
}

}  // namespace holdfast::machine::cuda
