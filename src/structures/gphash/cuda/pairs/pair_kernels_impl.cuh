// pair_kernels_impl.cuh: launches the kernels of one configuration with variable-length pairs. Included by one file for each.
#pragma once

#include "structures/gphash/cuda/configurations/table_kernels.cuh"
#include "structures/gphash/cuda/pairs/pair_phases.cuh"
#include "structures/gphash/cuda/pairs/pair_search.cuh"

namespace holdfast::gphash::cuda {

template <class Shape>
class PairKernelsImpl final : public TableKernelsImpl<Shape, PairKernels> {
  using Base = TableKernelsImpl<Shape, PairKernels>;

 public:
  using Base::Base;

  void set_slabs(const SlabView& slabs) override { cells_ = slabs; }

  void resolve(const FindJob& job, const PairSearchWorkspace& workspace, bool exact,
               cudaStream_t stream) const override {
    const auto by_thread = [&](auto* kernel) {
      kernel<<<blocks_for(kernel, job.size), kThreads, 0, stream>>>(view_, cache_, job, workspace);
    };
    const auto by_warp = [&](auto* kernel) {
      kernel<<<blocks_for(kernel, job.size * kWarp), kThreads, 0, stream>>>(view_, job, workspace);
    };
    if (cache_.any()) {
      exact ? by_thread(resolve_pairs_kernel<Shape, ExactMemory<CopyMemory>>)
            : by_thread(resolve_pairs_kernel<Shape, HashMemory<CopyMemory>>);
    } else {
      exact ? by_warp(resolve_pairs_in_pool_kernel<Shape, ExactMemory<CudaMemory>>)
            : by_warp(resolve_pairs_in_pool_kernel<Shape, HashMemory<CudaMemory>>);
    }
    check_launch("starting a search");
  }

  void count_demand(const ChangeJob& job, const gphash::Effect* effects, cudaStream_t stream) const override {
    const unsigned blocks = blocks_for(demand_kernel, job.again ? job.again_size : job.size);
    demand_kernel<<<blocks, kThreads, 0, stream>>>(job, effects, cells_);
    check_launch("planning a change");
  }

  void plan(const ChangeJob& job, const PairWorkspace& workspace, cudaStream_t stream) const override {
    plan_pairs_kernel<Shape><<<all_blocks(job.size), kThreads, 0, stream>>>(view_, cache_, job, workspace, cells_);
    check_launch("planning a change");
  }

  void assign(const ChangeJob& job, const PairWorkspace& workspace, cudaStream_t stream) const override {
    assign_pairs_kernel<Shape><<<all_blocks(job.size), kThreads, 0, stream>>>(view_, job, workspace, cells_);
    check_launch("giving cells to a change");
  }

  void place(const ChangeJob& job, const PairWorkspace& workspace, cudaStream_t stream) const override {
    place_pairs_kernel<Shape>
        <<<blocks_for(place_pairs_kernel<Shape>, job.size), kThreads, 0, stream>>>(view_, job, workspace);
    check_launch("placing pairs");
  }

 private:
  using Base::view_, Base::cache_, Base::cells_;
};

}  // namespace holdfast::gphash::cuda
