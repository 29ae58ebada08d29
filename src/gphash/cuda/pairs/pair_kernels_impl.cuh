// pair_kernels_impl.cuh: launches the kernels of one configuration with variable-length pairs. Included by one file for each.
#pragma once

#include "gphash/cuda/change/table_kernels.cuh"
#include "gphash/cuda/pairs/pair_growth.cuh"
#include "gphash/cuda/pairs/pair_phases.cuh"
#include "gphash/cuda/pairs/pair_search.cuh"

namespace holdfast::machine::cuda {

template <class Shape>
class PairKernelsImpl final : public TableKernelsImpl<Shape, PairKernels> {
 public:
  using TableKernelsImpl<Shape, PairKernels>::TableKernelsImpl;

  void set_slabs(const SlabView& slabs) override { slabs_ = slabs; }

  void resolve(const FindJob& job, const PairSearchRoom& room, bool exact, cudaStream_t stream) const override {
    const auto by_thread = [&](auto* kernel) {
      kernel<<<blocks_for(kernel, job.size), kThreads, 0, stream>>>(view_, cache_, job, room);
    };
    const auto by_warp = [&](auto* kernel) {
      kernel<<<blocks_for(kernel, job.size * kWarp), kThreads, 0, stream>>>(view_, job, room);
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

  void count_demand(const ChangeJob& job, const PairRoom& room, cudaStream_t stream) const override {
    const unsigned blocks = blocks_for(demand_kernel, job.again ? job.again_size : job.size);
    demand_kernel<<<blocks, kThreads, 0, stream>>>(job, room.effects, slabs_);
    check_launch("planning a change");
  }

  void change(const ChangeJob& job, cudaStream_t stream) const override {
    const WarpGrid grid = warps_for(change_pairs_kernel<Shape>, job.again ? job.again_size : job.size);
    change_pairs_kernel<Shape><<<grid.blocks, kThreads, 0, stream>>>(view_, cache_, job, slabs_, grid.share);
    check_launch("starting a change");
  }

  void plan(const ChangeJob& job, const PairRoom& room, cudaStream_t stream) const override {
    plan_pairs_kernel<Shape><<<all_blocks(job.size), kThreads, 0, stream>>>(view_, cache_, job, room, slabs_);
    check_launch("planning a change");
  }

  void assign(const ChangeJob& job, const PairRoom& room, cudaStream_t stream) const override {
    assign_pairs_kernel<Shape><<<all_blocks(job.size), kThreads, 0, stream>>>(view_, job, room, slabs_);
    check_launch("giving cells to a change");
  }

  void place(const ChangeJob& job, const PairRoom& room, cudaStream_t stream) const override {
    place_pairs_kernel<Shape>
        <<<blocks_for(place_pairs_kernel<Shape>, job.size), kThreads, 0, stream>>>(view_, job, room);
    check_launch("placing pairs");
  }

  void commit(const ChangeJob& job, const PairRoom& room, cudaStream_t stream) const override {
    const unsigned blocks = blocks_for(commit_pairs_kernel<Shape>, job.size * index::kLineSlots);
    commit_pairs_kernel<Shape><<<blocks, kThreads, 0, stream>>>(view_, cache_, job, room);
    check_launch("committing a change");
  }

  void publish(const ChangeJob& job, const PairRoom& room, cudaStream_t stream) const override {
    publish_pairs_kernel<Shape><<<all_blocks(job.size), kThreads, 0, stream>>>(view_, cache_, job, room, slabs_);
    check_launch("publishing a change");
  }

  void scan(bool repair, std::uint32_t* live, ScanReport* report, cudaStream_t stream) const override {
    for (unsigned rank = 0; rank < view_.shape.levels(); ++rank) {
      const std::uint64_t slots = view_.buckets(rank) * view_.shape.slots();
      const unsigned blocks = blocks_for(scan_pairs_kernel<Shape>, slots);
      scan_pairs_kernel<Shape><<<blocks, kThreads, 0, stream>>>(view_, cache_, rank, repair, slabs_, live, report);
    }
    check_launch("starting a scan");
  }

 private:
  using TableKernelsImpl<Shape, PairKernels>::view_;
  using TableKernelsImpl<Shape, PairKernels>::cache_;
  SlabView slabs_;
};

}  // namespace holdfast::machine::cuda
