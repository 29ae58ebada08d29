// search_kernels.cuh: launches the kernels of searches, of one configuration.
#pragma once

#include <algorithm>

#include "structures/gphash/cuda/kernels/search_kernels.hpp"
#include "structures/gphash/cuda/search/directory_search.cuh"
#include "structures/gphash/cuda/search/miss_search.cuh"
#include "structures/gphash/cuda/search/pool_search.cuh"
#include "structures/gphash/cuda/search/search.cuh"
#include "structures/gphash/cuda/search/small_search.cuh"

namespace holdfast::gphash::cuda {

/// Over the layout and the caches of `Base`.
template <class Shape, class Base>
class SearchKernelsImpl : public Base {
 public:
  using Base::Base;

  void find(const FindJob& job, const Repeats& repeats, cudaStream_t stream) const override {
    if (cache_.any()) {
      const Copies copies = copies_of(cache_.values);
      auto* const kernel = copies == Copies::all    ? lookup_kernel<Shape, Copies::all>
                           : copies == Copies::some ? lookup_kernel<Shape, Copies::some>
                                                    : lookup_kernel<Shape, Copies::none>;
      const WarpGrid grid = warps_for(kernel, job.size);
      kernel<<<grid.blocks, kThreads, 0, stream>>>(view_, cache_, job, repeats, grid.share);
      if (repeats.table != nullptr)
        follow_kernel<Shape><<<grid.blocks, kThreads, 0, stream>>>(view_, job, repeats.leader, grid.share);
      return check_launch("starting a search");
    }
    const WarpGrid grid = warps_for(find_kernel<Shape>, job.size);
    find_kernel<Shape><<<grid.blocks, kThreads, 0, stream>>>(view_, cache_.values, job, grid.share);
    check_launch("starting a search");
  }

  void resolve(const FindJob& job, const SearchWorkspace& workspace, cudaStream_t stream) const override {
    const auto launch = [&](auto* kernel) {
      kernel<<<blocks_for(kernel, job.size), kThreads, 0, stream>>>(view_, cache_, job, workspace);
    };
    const auto pick = [&]<class Cell>(Cell) {
      cache_.values.any() ? launch(resolve_kernel<Shape, Cell, true>) : launch(resolve_kernel<Shape, Cell, false>);
    };
    is_wide(view_.cells) ? pick(std::uint64_t{}) : pick(std::uint32_t{});
    check_launch("starting a search");
  }

  bool resolve_small(const FindJob& job, const SearchWorkspace& workspace, cudaStream_t stream) const override {
    if (!has_clusters()) return false;
    const auto launch = [&](auto* kernel) {
      kernel<<<kClusterBlocks, kClusterThreads, 0, stream>>>(view_, cache_, job, workspace);
    };
    const auto pick = [&]<class Cell>(Cell) {
      cache_.values.any() ? launch(resolve_small_kernel<Shape, Cell, true>)
                          : launch(resolve_small_kernel<Shape, Cell, false>);
    };
    is_wide(view_.cells) ? pick(std::uint64_t{}) : pick(std::uint32_t{});
    check_launch("starting a search");
    return true;
  }

  void answer_from_directory(const FindJob& job, const SearchWorkspace& aim, const SearchWorkspace& workspace,
                             const RowsLeft& left, cudaStream_t stream) const override {
    check(cudaMemsetAsync(left.size, 0, sizeof(*left.size), stream), "starting a search");
    const auto launch = [&](auto* kernel) {
      kernel<<<blocks_for(kernel, job.size), kThreads, 0, stream>>>(view_, cache_, job, aim, workspace, left);
    };
    is_wide(view_.cells) ? launch(directory_search_kernel<Shape, std::uint64_t>)
                         : launch(directory_search_kernel<Shape, std::uint32_t>);
    check_launch("starting a search");
  }

  void aim(const FindJob& job, const SearchWorkspace& aim, const SearchWorkspace& workspace, const RowsLeft& left,
           cudaStream_t stream) const override {
    const auto launch = [&](auto* kernel) {
      kernel<<<blocks_for(kernel, job.size), kThreads, 0, stream>>>(view_, cache_, job, aim, workspace, left);
    };
    is_wide(view_.cells) ? launch(aim_kernel<Shape, std::uint64_t>) : launch(aim_kernel<Shape, std::uint32_t>);
    check_launch("starting a search");
  }

  /// By half of the GPU's threads at most, which is enough for its memory, and leaves space for what waits for the link.
  void answer_hits(const FindJob& job, const SearchWorkspace& aim, cudaStream_t stream) const override {
    const unsigned most = processors() * kHitBlocks;
    const unsigned blocks = std::min(blocks_for(hit_kernel<Shape>, job.size), most);
    hit_kernel<Shape><<<blocks, kThreads, 0, stream>>>(view_, cache_.values, job, aim);
    check_launch("answering out of copies");
  }

  /// A block for each window of rows, as the GPU has space for them: how many there are is known there.
  void resolve_misses(const FindJob& job, const SearchWorkspace& aim, const SearchWorkspace& workspace,
                      cudaStream_t stream) const override {
    const unsigned all = processors();
    const auto launch = [&](auto* kernel) {
      const std::uint64_t windows = (job.size + kWindow - 1) / kWindow;
      const auto blocks = static_cast<unsigned>(std::max<std::uint64_t>(windows, all * kMissBlocks));
      kernel<<<blocks, kThreads, 0, stream>>>(view_, cache_, job, aim, workspace, all);
    };
    is_wide(view_.cells) ? launch(miss_kernel<Shape, std::uint64_t>) : launch(miss_kernel<Shape, std::uint32_t>);
    check_launch("searching the pool");
  }

  void gather(const FindJob& job, const SearchWorkspace& workspace, bool hits, cudaStream_t stream) const override {
    const unsigned all = processors();
    const GatherGrid most = gather_grid(job.size, view_.cells * view_.cell_bytes, all, workspace.gather_share);
    const auto launch = [&](auto* kernel) {
      kernel<<<most.blocks, kThreads, 0, stream>>>(view_, cache_.values, job, workspace, all);
    };
    const bool asks = hits && cache_.values.any();
    const auto pick = [&]<class Cell>(Cell) {
      asks ? launch(gather_kernel<Shape, Cell, true>) : launch(gather_kernel<Shape, Cell, false>);
    };
    is_wide(view_.cells) ? pick(std::uint64_t{}) : pick(std::uint32_t{});
    check_launch("gathering values");
  }

 protected:
  using Base::view_, Base::cache_;
};

}  // namespace holdfast::gphash::cuda
