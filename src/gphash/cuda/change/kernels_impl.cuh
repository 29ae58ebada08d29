// kernels_impl.cuh: launches the kernels of one configuration. Included by one file for each.
#pragma once

#include <bit>

#include "gphash/cuda/change/batch.cuh"
#include "gphash/cuda/change/growth.cuh"
#include "gphash/cuda/change/kernels.hpp"
#include "gphash/cuda/change/long_sums.cuh"
#include "gphash/cuda/change/phases.cuh"
#include "gphash/cuda/change/table_kernels.cuh"
#include "gphash/cuda/search/miss_search.cuh"
#include "gphash/cuda/search/search.cuh"
#include "gphash/cuda/search/small_search.cuh"

namespace holdfast::machine::cuda {

template <class Shape>
class KernelsImpl final : public TableKernelsImpl<Shape, Kernels> {
  using Base = TableKernelsImpl<Shape, Kernels>;

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

  void resolve(const FindJob& job, const SearchRoom& room, cudaStream_t stream) const override {
    const auto launch = [&](auto* kernel) {
      kernel<<<blocks_for(kernel, job.size), kThreads, 0, stream>>>(view_, cache_, job, room);
    };
    const auto pick = [&]<class Cell>(Cell) {
      cache_.values.any() ? launch(resolve_kernel<Shape, Cell, true>) : launch(resolve_kernel<Shape, Cell, false>);
    };
    is_wide(view_.cells) ? pick(std::uint64_t{}) : pick(std::uint32_t{});
    check_launch("starting a search");
  }

  bool resolve_small(const FindJob& job, const SearchRoom& room, cudaStream_t stream) const override {
    if (!has_clusters()) return false;
    const auto launch = [&](auto* kernel) {
      kernel<<<kClusterBlocks, kClusterThreads, 0, stream>>>(view_, cache_, job, room);
    };
    const auto pick = [&]<class Cell>(Cell) {
      cache_.values.any() ? launch(resolve_small_kernel<Shape, Cell, true>)
                          : launch(resolve_small_kernel<Shape, Cell, false>);
    };
    is_wide(view_.cells) ? pick(std::uint64_t{}) : pick(std::uint32_t{});
    check_launch("starting a search");
    return true;
  }

  void answer_known(const FindJob& job, const SearchRoom& aim, const SearchRoom& room, const RowsLeft& left,
                    cudaStream_t stream) const override {
    check(cudaMemsetAsync(left.size, 0, sizeof(*left.size), stream), "starting a search");
    const auto launch = [&](auto* kernel) {
      kernel<<<blocks_for(kernel, job.size), kThreads, 0, stream>>>(view_, cache_, job, aim, room, left);
    };
    is_wide(view_.cells) ? launch(known_kernel<Shape, std::uint64_t>) : launch(known_kernel<Shape, std::uint32_t>);
    check_launch("starting a search");
  }

  void aim(const FindJob& job, const SearchRoom& aim, const SearchRoom& room, const RowsLeft& left,
           cudaStream_t stream) const override {
    const auto launch = [&](auto* kernel) {
      kernel<<<blocks_for(kernel, job.size), kThreads, 0, stream>>>(view_, cache_, job, aim, room, left);
    };
    is_wide(view_.cells) ? launch(aim_kernel<Shape, std::uint64_t>) : launch(aim_kernel<Shape, std::uint32_t>);
    check_launch("starting a search");
  }

  /// By half of the GPU's threads at most, which is enough for its memory, and leaves room for what waits for the link.
  void answer_near(const FindJob& job, const SearchRoom& aim, cudaStream_t stream) const override {
    const unsigned most = processors() * kHitBlocks;
    const unsigned blocks = std::min(blocks_for(hit_kernel<Shape>, job.size), most);
    hit_kernel<Shape><<<blocks, kThreads, 0, stream>>>(view_, cache_.values, job, aim);
    check_launch("answering out of copies");
  }

  /// A block for each window of rows, as the GPU has room for them: how many there are is known there.
  void resolve_far(const FindJob& job, const SearchRoom& aim, const SearchRoom& room,
                   cudaStream_t stream) const override {
    const unsigned all = processors();
    const auto launch = [&](auto* kernel) {
      const std::uint64_t windows = (job.size + kWindow - 1) / kWindow;
      const auto blocks = static_cast<unsigned>(std::max<std::uint64_t>(windows, all * kMissBlocks));
      kernel<<<blocks, kThreads, 0, stream>>>(view_, cache_, job, aim, room, all);
    };
    is_wide(view_.cells) ? launch(miss_kernel<Shape, std::uint64_t>) : launch(miss_kernel<Shape, std::uint32_t>);
    check_launch("searching the pool");
  }

  void gather(const FindJob& job, const SearchRoom& room, bool hits, cudaStream_t stream) const override {
    const unsigned all = processors();
    const GatherGrid most = gather_grid(job.size, view_.cells * view_.cell_bytes, all, room.gather_share);
    const auto launch = [&](auto* kernel) {
      kernel<<<most.blocks, kThreads, 0, stream>>>(view_, cache_.values, job, room, all);
    };
    const bool asks = hits && cache_.values.any();
    const auto pick = [&]<class Cell>(Cell) {
      asks ? launch(gather_kernel<Shape, Cell, true>) : launch(gather_kernel<Shape, Cell, false>);
    };
    is_wide(view_.cells) ? pick(std::uint64_t{}) : pick(std::uint32_t{});
    check_launch("gathering values");
  }

  void plan(const ChangeJob& job, const ChangeRoom& room, const SearchRoom& reading, RowRange part,
            cudaStream_t stream) const override {
    const unsigned blocks = all_blocks(part.end - part.begin);
    plan_kernel<Shape><<<blocks, kThreads, 0, stream>>>(view_, cache_, job, room, reading, part);
    check_launch("planning a change");
  }

  void sum(const ChangeJob& job, const ChangeRoom& room, cudaStream_t stream) const override {
    const index::Rows& rows = job.rows;
    const std::uint32_t value_bytes = view_.value_bytes;
    const auto launch = [&](auto* kernel, auto... parts) {
      kernel<<<blocks_for(kernel, job.size), kThreads, 0, stream>>>(view_, cache_.values, job, room, parts...);
    };
    const auto are = [](auto... address) { return ((reinterpret_cast<std::uintptr_t>(address) % 16 == 0) && ...); };
    const bool wide = value_bytes % 16 == 0 && rows.column % 16 == 0 && rows.value_bytes % 16 == 0 &&
                      view_.cell_bytes % 16 == 0 && are(rows.values, rows.out, view_.heap);
    const bool in_words =
        rows.column % 8 == 0 && (rows.value_bytes % 8 == 0 || rows.column + rows.value_bytes == value_bytes);
    if (view_.in_slot()) {
      launch(sum_words_kernel<Shape>);
    } else if (wide) {
      launch(sum_kernel<2, Shape>, SumParts::together(rows, value_bytes, 16));
    } else if (in_words) {
      launch(sum_kernel<1, Shape>, SumParts::together(rows, value_bytes, 8));
    } else {
      launch(sum_kernel<1, Shape>, SumParts::others(value_bytes));
      launch(sum_kernel<1, Shape>, SumParts::alone(rows));
    }
    launch(long_sum_kernel<Shape>);
    check_launch("summing a change");
  }

  /// A quarter of the multiprocessors fills the link. What goes on beside it stands still on those that wait for the link, and goes
  /// on on the others.
  void place(const ChangeJob& job, const ChangeRoom& room, PlanRange span, bool part,
             cudaStream_t stream) const override {
    const unsigned all = blocks_for(place_kernel<Shape>, job.size);
    const unsigned blocks = part ? std::min(all, std::max(1u, processors() / 4)) : all;
    place_kernel<Shape><<<blocks, kThreads, 0, stream>>>(view_, job, room, span);
    check_launch("placing values");
  }

  void keep_values(const ChangeJob& job, const ChangeRoom& room, cudaStream_t stream) const override {
    const unsigned blocks = blocks_for(keep_values_kernel<Shape>, job.size);
    keep_values_kernel<Shape><<<blocks, kThreads, 0, stream>>>(view_, cache_, job, room);
    check_launch("placing values");
  }

  void commit(const ChangeJob& job, const ChangeRoom& room, index::Pass pass, cudaStream_t stream) const override {
    if constexpr (Shape::kMayBeWide) {
      if (view_.wide()) return commit_wide(job, room, stream);
    }
    Base::commit(job, room, pass, stream);
  }

  void release(const ChangeJob& job, const ChangeRoom& room, cudaStream_t stream) const override {
    release_kernel<Shape><<<all_blocks(job.size), kThreads, 0, stream>>>(view_, job, room);
    check_launch("publishing a change");
  }

  void copy_values(const ChangeJob& job, const ChangeRoom& room, cudaStream_t stream) const override {
    copy_kernel<Shape><<<blocks_for(copy_kernel<Shape>, job.size), kThreads, 0, stream>>>(view_, job, room);
    check_launch("answering a change");
  }

 private:
  void commit_wide(const ChangeJob& job, const ChangeRoom& room, cudaStream_t stream) const {
    if (job.rows.ops != nullptr || index::may_place(job.rows.op)) {
      const auto shift = static_cast<unsigned>(std::bit_width(view_.key_words()));  // a lane for each word and one more
      const unsigned blocks = blocks_for(commit_behind_kernel<Shape>, job.size << shift);
      commit_behind_kernel<Shape><<<blocks, kThreads, 0, stream>>>(view_, job, room, shift);
    }
    const unsigned blocks = blocks_for(commit_head_kernel<Shape>, job.size);
    commit_head_kernel<Shape><<<blocks, kThreads, 0, stream>>>(view_, job, room);
    check_launch("committing a change");
  }

  using Base::view_, Base::cache_;
};

}  // namespace holdfast::machine::cuda
