// pair_batch.cuh: changes of variable-length pairs, operation by operation: batch.cuh for keys that lie one after another, and
// for values that are gathered when the host knows how long they are (blobs.cu).
#pragma once

#include "gphash/cuda/change/batch.cuh"
#include "gphash/cuda/pairs/pair_memory.cuh"
#include "gphash/cuda/thread_tile.cuh"
#include "gphash/protocol/run.hpp"

namespace holdfast::machine::cuda {

/// The key of a row.
template <class Job>
__device__ index::Part key_part(const Job& job, std::uint64_t row) {
  const std::uint64_t begin = job.key_offsets[row];
  return {job.keys + begin, static_cast<std::uint32_t>(job.key_offsets[row + 1] - begin)};
}
template <class Job, class Shape>
__device__ index::Key pair_key(const View<Shape>& view, const Job& job, std::uint64_t row) {
  const index::Part part = key_part(job, row);
  return {index::hash_of(part, view.seed), part};
}

/// Counts what threads of a block ask of each class. All its threads call each.
class ClassCounts {
 public:
  __device__ explicit ClassCounts(std::uint32_t* of) : of_(of) {
    for (unsigned c = threadIdx.x; c < index::kClasses; c += kThreads) of_[c] = 0;
    __syncthreads();
  }
  __device__ void add(unsigned size_class) const { atomicAdd(&of_[size_class], 1u); }
  __device__ void tell(SlabState* state) const {
    __syncthreads();
    for (unsigned c = threadIdx.x; c < index::kClasses; c += kThreads) {
      if (of_[c] != 0) atomicAdd(&state->of[c].demand, of_[c]);
    }
  }

 private:
  std::uint32_t* of_;
};

/// The class that the pair of a row needs.
template <class Job>
__device__ unsigned class_of_row(const Job& job, std::uint64_t row) {
  return index::class_of(index::pair_bytes(key_part(job, row).size, job.rows.value_part(row).size));
}

/// What runs may need: a cell for the row whose value a key ends with, which depends on whether it is there.
__global__ inline void __launch_bounds__(kThreads)
    demand_kernel(const __grid_constant__ ChangeJob job, const index::Effect* effects,
                  const __grid_constant__ SlabView slabs) {
  __shared__ std::uint32_t counts[index::kClasses];
  const ClassCounts demand(counts);
  const std::uint64_t ordered = job.ordered ? *job.ordered : job.size;
  const std::uint64_t turns = job.again ? job.again_size : ordered;
  for (std::uint64_t turn = first_of_thread(); turn < turns; turn += all_threads()) {
    const std::uint64_t at = job.again ? job.again[turn] : turn;
    if (!job.again && job.begins[at] != at) continue;
    const index::Effect whole = effects[at + run_length(job.begins, at, ordered) - 1];
    const index::Held absent = whole.if_absent, there = whole.if_there;
    const bool adds = absent < index::kSum, replaces = there < index::kSum;
    const unsigned of_absent = adds ? class_of_row(job, absent) : 0;
    if (adds) demand.add(of_absent);
    if (!replaces || there == absent) continue;
    const unsigned of_there = class_of_row(job, there);
    if (!adds || of_there != of_absent) demand.add(of_there);
  }
  demand.tell(slabs.state);
}

template <class Shape>
__global__ void __launch_bounds__(kThreads)
    change_pairs_kernel(const __grid_constant__ View<Shape> view, const __grid_constant__ CacheView cache,
                        const __grid_constant__ ChangeJob job, const __grid_constant__ SlabView slabs, unsigned share) {
  const WarpTile tile;
  const PairMemory memory(job.state, &cache, job.ring, slabs);
  const std::uint64_t ordered = job.ordered ? *job.ordered : job.size;
  const std::uint64_t turns = job.again ? job.again_size : ordered;
  for (std::uint64_t base = first_of_warp() * share; base < turns; base += all_warps() * share) {
    Waiting mine;
    const std::uint64_t brought = base + tile.lane();
    if (tile.lane() < share && brought < turns) {
      mine.at = job.again ? job.again[brought] : brought;
      mine.waits = job.again || job.begins[mine.at] == mine.at;
      if (mine.waits) mine.size = run_length(job.begins, mine.at, ordered);
      if (mine.waits) mine.key = pair_key(view, job, job.order[mine.at]).word;
    }
    unsigned turn = 0;
    for (unsigned waiting; (waiting = tile.ballot(mine.waits)) != 0;) {
      const unsigned active = next_in_line(waiting, turn);
      turn = active + 1;
      const std::uint64_t at = tile.from_lane(mine.at, active);
      const index::Run<std::uint32_t> run{job.order + at, at, tile.from_lane(mine.size, active)};
      const index::Key key(tile.from_lane(mine.key, active), key_part(job, run.row(0)));
      const index::Outcome outcome =
          index::apply_run(tile, memory, view, job.rows, run, Candidates<Shape>(view, key), job.permits);
      if (outcome == index::Outcome::claim_missed) {
        memory.count_claim_miss();
        if ((waiting & (waiting - 1)) == 0) __nanosleep(200);  // the last in line need not hurry
        continue;
      }
      if (tile.lane() != active) continue;
      mine.waits = false;
      if (outcome != index::Outcome::done) leave_over(job, at, outcome);
    }
  }
  if (tile.lane() == 0) memory.tell();
}

}  // namespace holdfast::machine::cuda
