// miss_search.cuh: searches of many rows where some buckets have no copy. Rows that read a slot of the pool do so in the order of
// addresses, in which host memory answers ten times faster; then values are gathered as in search.cuh.
//
//   known  rows whose keys are known to have a copy of their value (directory_search.cuh) are answered; the others continue
//   aim    each row's tags: rows whose tags point to copies, or nowhere, are resolved at once; the others say which slot they will
//          read
//   order  range by range of the slots, whose numbers go as their addresses
//   miss   looks those rows up again, whole, in this order: what was seen before only says where to look. Of the rows of one key, one
//          of a window looks, and the others have its answer: reads of one line of host memory wait for each other
//   hits   the values of resolved rows that have copies, beside the gather, which waits for the link
#pragma once

#include "structures/gphash/cuda/kit.hpp"
#include "structures/gphash/cuda/search/search.cuh"

namespace holdfast::gphash::cuda {

inline constexpr unsigned kAimBlocks = 4, kHitBlocks = 4, kMissBlocks = 4;  ///< a multiprocessor

/// The first slot without a copy that a search will look into, by its number; kNoPosition: none.
template <class Shape>
__device__ std::uint64_t slot_without_copy(const CopyMemory& memory, const View<Shape>& view,
                                           const Candidates<Shape>& candidates, LaneMask hits) {
  const CacheView& cache = *memory.cache();
  for (; hits != 0; hits &= hits - 1) {
    const gphash::Slot* const slot = candidates.slot(view, lowest_bit(hits));
    const std::uint64_t bucket = cache.bucket_of(slot);
    if (bucket != kNoPosition && !memory.mapped(bucket).cached()) return cache.number_of(slot);
  }
  return kNoPosition;
}

/// Looks a row up as far as copies go; one whose key is known not even there (look_up). Returns the slot without one that stands in its
/// way, by its number; kNoPosition: it is answered but for its value, which `wanted` says, or is not asked for.
template <class Shape>
__device__ std::uint64_t look_at_copies(const CopyMemory& memory, BucketHits& hits, const View<Shape>& view,
                                        KeyDirectory<Shape>& keys, const FindJob& job, std::uint64_t row,
                                        Wanted& wanted, std::uint64_t& copy) {
  wanted.row = row;
  copy = kNoPosition;
  if (!is_asked(job, row)) return kNoPosition;
  const Asked asked = keys.ask(row);
  if (asked.known) {
    copy = keys.answer(row, asked);
    return kNoPosition;
  }
  const Candidates<Shape> candidates(view, key_of_row(view, job, row));
  memory.begin_look();
  const gphash::Look seen = gphash::look(ThreadTile{}, memory, view, candidates);
  const std::uint64_t missed = slot_without_copy(memory, view, candidates, seen.hits);
  if (missed != kNoPosition) return missed;
  const gphash::Found found = gphash::confirm(ThreadTile{}, memory, view, candidates, seen);
  if (!found.settled) {
    wanted = look_up(memory, hits, view, keys, job, row, copy);
    return kNoPosition;
  }
  if (found.item) {
    hits.note(memory, found.item.slot, row);
    keys.learn(row, asked, found.item.word - 1);
  }
  wanted = answer_row(view, job, row, gphash::status_of(found), found.item.word);
  return kNoPosition;
}

/// Resolves rows, wherever they stand: answers those whose value is not in the heap alone, and counts the others.
template <class Shape, class Cell>
class Resolve {
 public:
  __device__ Resolve(const WarpTile& tile, const CopyMemory& memory, const View<Shape>& view, const CacheView& cache,
                     const FindJob& job, const SearchWorkspace& workspace)
      : job_(job),
        workspace_(workspace),
        values_hit_(cache.values.any()),
        tile_(tile),
        gather_(tile, memory, view, job.rows),
        value_hits_(tile, memory, view, cache.values, job.rows) {}

  /// What the row of each lane wants, or no row of the job. All lanes call.
  __device__ void operator()(Wanted wanted, std::uint64_t copy = kNoPosition) {
    if (values_hit_) value_hits_(wanted, copy);
    count_or_answer(wanted);
  }
  /// The same, but that a value which has a copy is for later: 1 + where that is; 0: not so.
  __device__ std::uint32_t without_hits(Wanted wanted, std::uint64_t copy) {
    const std::uint64_t position = values_hit_ ? value_hits_.position_of(wanted, copy) : kNoPosition;
    count_or_answer(wanted);
    return position == kNoPosition ? 0 : static_cast<std::uint32_t>(position + 1);
  }

  /// What was counted. All threads of the block call, once.
  __device__ void flush_counts() const {
    if (values_hit_) value_hits_.flush_counts();
  }

 private:
  __device__ void count_or_answer(const Wanted& wanted) const {
    Cell cell = kNoPlace<Cell>;
    if (wanted.wants_cell()) {
      cell = static_cast<Cell>(wanted.word - 1);
      count_row(workspace_, wanted.row, cell);
    }
    if (workspace_.cells != nullptr && wanted.row < job_.size) static_cast<Cell*>(workspace_.cells)[wanted.row] = cell;
    Wanted zeros;
    zeros.row = wanted.row;
    if (wanted.word == 0) zeros.word = 0;
    if (tile_.ballot(wanted.word == 0) != 0) gather_(zeros);
  }

  const FindJob& job_;
  const SearchWorkspace& workspace_;
  const bool values_hit_;
  const WarpTile& tile_;
  const Gather<Shape> gather_;
  ValueHits<Shape> value_hits_;
};

/// `aim`: where rows that read the pool are ordered by slot; `workspace`: where others are by cell, if values are wanted that may lie in
/// the heap alone. Then values that have copies are left to hit_kernel, which learns from the ranks of rows that aim at nothing.
template <class Shape, class Cell>
__global__ void __launch_bounds__(kThreads, kAimBlocks)
    aim_kernel(const __grid_constant__ View<Shape> view, const __grid_constant__ CacheView cache,
               const __grid_constant__ FindJob job, const __grid_constant__ SearchWorkspace aim,
               const __grid_constant__ SearchWorkspace workspace, RowsLeft left) {
  const WarpTile tile;
  const CopyMemory memory(job.state, &cache);
  BucketHits hits(cache.buckets);
  Resolve<Shape, Cell> resolve(tile, memory, view, cache, job, workspace);
  KeyDirectory<Shape> keys(memory, view, cache, job);
  auto* const slots = static_cast<std::uint32_t*>(aim.cells);
  const std::uint64_t size = left.rows != nullptr ? *left.size : job.size;
  for (std::uint64_t base = first_of_warp() * kWarp; base < size; base += all_warps() * kWarp) {
    std::uint64_t row = base + tile.lane();
    if (row >= size) {
      row = job.size;
    } else if (left.rows != nullptr) {
      row = left.rows[row];
    }
    Wanted wanted;
    std::uint64_t copy;
    const std::uint64_t slot = look_at_copies(memory, hits, view, keys, job, row, wanted, copy);
    const bool aims = slot != kNoPosition;
    std::uint32_t rank = aims ? atomicAdd(&aim.counts[slot >> aim.shift], 1u) : 0;
    if (workspace.cells != nullptr) {
      const std::uint32_t hit = resolve.without_hits(wanted, copy);
      if (!aims) rank = hit;
    } else {
      resolve(wanted, copy);
    }
    if (row >= job.size) continue;
    aim.ranks[row] = rank;
    slots[row] = aims ? static_cast<std::uint32_t>(slot) : kNoPlace<std::uint32_t>;
  }
  resolve.flush_counts();
  keys.flush_counts();
  hits.flush_counts();
  memory.report_retries();
}

/// The values that have copies, of the rows that aim_kernel has resolved.
template <class Shape>
__global__ void __launch_bounds__(kThreads)
    hit_kernel(const __grid_constant__ View<Shape> view, const __grid_constant__ ValueView values,
               const __grid_constant__ FindJob job, const __grid_constant__ SearchWorkspace aim) {
  const WarpTile tile;
  const CudaMemory memory(job.state, nullptr);
  const Gather<Shape> gather(tile, memory, view, job.rows, values.copies);
  const auto* const slots = static_cast<const std::uint32_t*>(aim.cells);
  for (std::uint64_t base = first_of_warp() * kWarp; base < job.size; base += all_warps() * kWarp) {
    Wanted hit;
    hit.row = base + tile.lane();
    if (hit.row < job.size && slots[hit.row] == kNoPlace<std::uint32_t> && aim.ranks[hit.row] != 0)
      hit.word = aim.ranks[hit.row];
    if (tile.ballot(hit.word != Wanted::kNothing) != 0) gather(hit);
  }
}

/// True if two rows have one key.
template <class Shape>
__device__ bool same_key(const View<Shape>& view, const FindJob& job, std::uint64_t row, std::uint64_t other) {
  const std::uint32_t bytes = view.key_bytes();
  bool same = true;
  for (std::uint32_t at = 0; same && at < bytes; at += 8)
    same = CudaMemory::given_word(job.keys + row * bytes + at) == CudaMemory::given_word(job.keys + other * bytes + at);
  return same;
}

/// What the rows of a window found that look for themselves.
struct Answers {
  std::uint64_t word[kWindow];
  std::uint32_t bucket[kWindow];
  Status status[kWindow];
};

/// Rows that a block takes at once, where all that look into the pool are so many.
__device__ inline unsigned miss_window(std::uint64_t all, unsigned processors) {
  unsigned rows = kWindow;
  while (rows > kWarp && std::uint64_t{processors} * kMissBlocks * rows >= 2 * all) rows /= 2;
  return rows;
}

/// Where there is no `workspace`, nothing is gathered afterwards, so the last block leaves the epoch.
template <class Shape, class Cell>
__global__ void __launch_bounds__(kThreads)
    miss_kernel(const __grid_constant__ View<Shape> view, const __grid_constant__ CacheView cache,
                const __grid_constant__ FindJob job, const __grid_constant__ SearchWorkspace aim,
                const __grid_constant__ SearchWorkspace workspace, unsigned processors) {
  __shared__ Window<std::uint32_t> window;
  __shared__ Answers answers;
  const WarpTile tile;
  const CopyMemory memory(job.state, &cache);
  BucketHits hits(cache.buckets);
  Resolve<Shape, Cell> resolve(tile, memory, view, cache, job, workspace);
  KeyDirectory<Shape> keys(memory, view, cache, job);
  const auto* const places = static_cast<const Place<std::uint32_t>*>(aim.places);
  const std::uint64_t all = aim.starts[aim.bins];
  const unsigned rows = miss_window(all, processors);
  for (std::uint64_t base = std::uint64_t{blockIdx.x} * rows; base < all; base += std::uint64_t{gridDim.x} * rows) {
    const auto size = static_cast<unsigned>(min(std::uint64_t{rows}, all - base));
    window.load(places + base, size);
    for (unsigned i = threadIdx.x; i < size; i += kThreads) {
      const unsigned leader = window.leader[i];
      if (leader != i && same_key(view, job, window.row[i], window.row[leader])) continue;
      window.leader[i] = static_cast<std::uint16_t>(i);
      const Asked asked = keys.ask(window.row[i]);
      const gphash::Found found = find_row(memory, hits, view, job, window.row[i]);
      const Item item = found.item;
      if (item) keys.learn(window.row[i], asked, item.word - 1);
      answers.status[i] = gphash::status_of(found);
      answers.word[i] = item.word;
      answers.bucket[i] = item ? static_cast<std::uint32_t>(cache.bucket_of(item.slot)) : 0;
    }
    __syncthreads();  // all have looked
    for (unsigned i = threadIdx.x; i < rows; i += kThreads) {
      Wanted wanted;
      wanted.row = job.size;
      if (i < size) {
        const unsigned leader = window.leader[i];
        if (leader != i && answers.status[leader] == Status::found)
          hits.note_again(answers.bucket[leader], window.row[i]);
        wanted = answer_row(view, job, window.row[i], answers.status[leader], answers.word[leader]);
      }
      resolve(wanted);
    }
    __syncthreads();  // the window's arrays are used again
  }
  resolve.flush_counts();
  hits.flush_counts();
  memory.report_retries();
  if (workspace.cells == nullptr) leave_after_all(job.state, aim);
}

}  // namespace holdfast::gphash::cuda
