// pair_search.cuh: the first phase of a search of variable-length pairs: which item each row asks for.
//
//   resolve   each row's item, by the hash of its key: no pair is read. Answers that are not values
//   order     the rows by where their pairs lie, so that those that want one pair stand together (pair_search.cu)
//   lay out   where each value goes: a slot's word says, to seven bytes, how long its pair is
//   gather    the pairs, in that order and each once: their keys are compared, their values copied
//
// Two keys have one hash once in 2^64 pairs of them. If it happens, a key differs from that of the pair that was found, and the
// search begins anew, comparing keys as it goes. All of it belongs to one epoch, so no pair goes away meanwhile (rule 5).
#pragma once

#include "structures/gphash/cuda/caches/maps.cuh"
#include "structures/gphash/cuda/kernels/pair_kernels.hpp"
#include "structures/gphash/cuda/row_keys.cuh"
#include "structures/gphash/cuda/thread_tile.cuh"

namespace holdfast::gphash::cuda {

/// Of a search by hashes.
template <class Base>
class HashMemory : public Base {
 public:
  static constexpr bool kTrustsHashes = true;
  __device__ HashMemory(DeviceState* state, const CacheView* cache, const std::byte*, std::uint64_t)
      : Base(state, cache) {}
};

/// Of one that compares keys. It asks the pool once for what stands before a pair, which does not change while it may be read.
template <class Base>
class ExactMemory : public Base {
 public:
  __device__ ExactMemory(DeviceState* state, const CacheView* cache, const std::byte* heap, std::uint64_t bytes)
      : Base(state, cache), heap_(heap), bytes_(bytes) {}
  __device__ std::uint64_t load(const std::uint64_t* word) const {
    const std::uint64_t at = reinterpret_cast<std::uintptr_t>(word) - reinterpret_cast<std::uintptr_t>(heap_);
    if (at >= bytes_) return Base::load(word);
    if (last_ != word) {
      last_ = word;
      lengths_ = this->load_value(word);
    }
    return lengths_;
  }

 private:
  const std::byte* heap_;
  std::uint64_t bytes_;
  mutable const std::uint64_t* last_ = nullptr;
  mutable std::uint64_t lengths_ = 0;
};
static_assert(gphash::TrustsHashes<HashMemory<CopyMemory>> && !gphash::TrustsHashes<ExactMemory<CopyMemory>>);
static_assert(gphash::SearchTile<ThreadTile, HashMemory<CopyMemory>, gphash::DefaultVariableShape>);
static_assert(gphash::SearchTile<ThreadTile, ExactMemory<CopyMemory>, gphash::DefaultVariableShape>);
static_assert(gphash::SearchTile<WarpTile, HashMemory<CudaMemory>, gphash::DefaultVariableShape>);
static_assert(gphash::SearchTile<WarpTile, ExactMemory<CudaMemory>, gphash::DefaultVariableShape>);

/// Notes the item of a row, and answers all else.
__device__ inline void answer_pair(const FindJob& job, const PairSearchWorkspace& workspace, std::uint64_t row,
                                   const gphash::Found& found) {
  if (job.rows.statuses) job.rows.statuses[row] = gphash::status_of(found);
  if (job.rows.found) job.rows.found[row] = static_cast<bool>(found.item);
  workspace.words[0][row] = found.item.word;
  workspace.rows[0][row] = static_cast<std::uint32_t>(row);
}
__device__ inline bool is_masked(const FindJob& job, const PairSearchWorkspace& workspace, std::uint64_t row) {
  if (job.mask == nullptr || job.mask[row] != 0) return false;
  workspace.words[0][row] = 0;
  workspace.rows[0][row] = static_cast<std::uint32_t>(row);
  return true;
}

/// Of buckets that have copies, all or some: a thread a row.
template <class Shape, class Memory>
__global__ void __launch_bounds__(kThreads)
    resolve_pairs_kernel(const __grid_constant__ View<Shape> view, const __grid_constant__ CacheView cache,
                         const __grid_constant__ FindJob job, const __grid_constant__ PairSearchWorkspace workspace) {
  const Memory memory(job.state, &cache, view.heap, view.cells << view.slab_bits);
  BucketHits hits(cache.buckets);
  for (std::uint64_t row = first_of_thread(); row < job.size; row += all_threads()) {
    if (is_masked(job, workspace, row)) continue;
    const Candidates<Shape> candidates(view, key_of_row(view, job, row));
    memory.begin_look();
    const gphash::Found found = gphash::find_settled(ThreadTile{}, memory, view, candidates);
    if (found.item) hits.note(memory, found.item.slot, row);
    answer_pair(job, workspace, row, found);
  }
  hits.flush_counts();
  memory.report_retries();
}

/// In the pool: a warp a row.
template <class Shape, class Memory>
__global__ void __launch_bounds__(kThreads)
    resolve_pairs_in_pool_kernel(const __grid_constant__ View<Shape> view, const __grid_constant__ FindJob job,
                                 const __grid_constant__ PairSearchWorkspace workspace) {
  const WarpTile tile;
  const Memory memory(job.state, nullptr, view.heap, view.cells << view.slab_bits);
  for (std::uint64_t row = first_of_warp(); row < job.size; row += all_warps()) {
    if (job.mask != nullptr && job.mask[row] == 0) {
      if (tile.lane() == 0) is_masked(job, workspace, row);
      continue;
    }
    const Candidates<Shape> candidates(view, key_of_row(view, job, row));
    const gphash::Found found = gphash::find_settled(tile, memory, view, candidates);
    if (tile.lane() == 0) answer_pair(job, workspace, row, found);
  }
  if (tile.lane() == 0) memory.flush_counts();
}

}  // namespace holdfast::gphash::cuda
