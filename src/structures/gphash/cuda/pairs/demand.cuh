// demand.cuh: how many cells of each class the rows of a batch may need, which is counted before any are reserved (slab_view.hpp).
#pragma once

#include "heap/cuda/slab_view.hpp"
#include "structures/gphash/cuda/change/batch.cuh"
#include "structures/gphash/cuda/row_keys.cuh"
#include "structures/gphash/protocol/effect.hpp"

namespace holdfast::gphash::cuda {

/// Counts what threads of a block ask of each class. All its threads call each.
class ClassCounts {
 public:
  __device__ explicit ClassCounts(std::uint32_t* of) : of_(of) {
    for (unsigned c = threadIdx.x; c < heap::kClasses; c += kThreads) of_[c] = 0;
    __syncthreads();
  }
  __device__ void add(unsigned size_class) const { atomicAdd(&of_[size_class], 1u); }
  __device__ void report(SlabState* state) const {
    __syncthreads();
    for (unsigned c = threadIdx.x; c < heap::kClasses; c += kThreads) {
      if (of_[c] != 0) atomicAdd(&state->of[c].demand, of_[c]);
    }
  }

 private:
  std::uint32_t* of_;
};

/// The class that the pair of a row needs.
template <class Job>
__device__ unsigned class_of_row(const Job& job, std::uint64_t row) {
  return heap::class_of(gphash::pair_bytes(key_part(job, row).size, job.rows.value_part(row).size));
}

/// What runs may need: a cell for the row whose value a key ends with, which depends on whether it is there.
static __global__ void __launch_bounds__(kThreads)
    demand_kernel(const __grid_constant__ ChangeJob job, const gphash::Effect* effects,
                  const __grid_constant__ SlabView slabs) {
  __shared__ std::uint32_t counts[heap::kClasses];
  const ClassCounts demand(counts);
  const std::uint64_t ordered = job.ordered ? *job.ordered : job.size;
  const std::uint64_t turns = job.again ? job.again_size : ordered;
  for (std::uint64_t turn = first_of_thread(); turn < turns; turn += all_threads()) {
    const std::uint64_t at = job.again ? job.again[turn] : turn;
    if (!job.again && job.begins[at] != at) continue;
    const gphash::Effect whole = effects[at + run_length(job.begins, at, ordered) - 1];
    const gphash::Held absent = whole.if_absent, there = whole.if_there;
    const bool adds = absent < gphash::kSum, replaces = there < gphash::kSum;
    const unsigned of_absent = adds ? class_of_row(job, absent) : 0;
    if (adds) demand.add(of_absent);
    if (!replaces || there == absent) continue;
    const unsigned of_there = class_of_row(job, there);
    if (!adds || of_there != of_absent) demand.add(of_there);
  }
  demand.report(slabs.state);
}

}  // namespace holdfast::gphash::cuda
