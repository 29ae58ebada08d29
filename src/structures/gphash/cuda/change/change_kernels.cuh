// change_kernels.cuh: launches the kernels of changes in phases, of one configuration.
#pragma once

#include <bit>

#include "structures/gphash/cuda/change/keep_values.cuh"
#include "structures/gphash/cuda/change/long_sums.cuh"
#include "structures/gphash/cuda/change/phases.cuh"
#include "structures/gphash/cuda/kernels/change_kernels.hpp"

namespace holdfast::gphash::cuda {

/// Over the layout and the caches of `Base`, and what it does for changes of all keys.
template <class Shape, class Base>
class ChangeKernelsImpl final : public Base {
 public:
  using Base::Base;

  void plan(const ChangeJob& job, const ChangeWorkspace& workspace, const SearchWorkspace& reading, RowRange part,
            cudaStream_t stream) const override {
    const unsigned blocks = all_blocks(part.end - part.begin);
    plan_kernel<Shape><<<blocks, kThreads, 0, stream>>>(view_, cache_, job, workspace, reading, part);
    check_launch("planning a change");
  }

  void sum(const ChangeJob& job, const ChangeWorkspace& workspace, cudaStream_t stream) const override {
    const gphash::Rows& rows = job.rows;
    const std::uint32_t value_bytes = view_.value_bytes;
    const auto launch = [&](auto* kernel, auto... parts) {
      kernel<<<blocks_for(kernel, job.size), kThreads, 0, stream>>>(view_, cache_.values, job, workspace, parts...);
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

  /// A quarter of the multiprocessors fills the link. What runs beside it stands still on those that wait for the link, and goes
  /// on on the others.
  void place(const ChangeJob& job, const ChangeWorkspace& workspace, PlanRange span, bool part,
             cudaStream_t stream) const override {
    const unsigned all = blocks_for(place_kernel<Shape>, job.size);
    const unsigned blocks = part ? std::min(all, std::max(1u, processors() / 4)) : all;
    place_kernel<Shape><<<blocks, kThreads, 0, stream>>>(view_, job, workspace, span);
    check_launch("placing values");
  }

  void keep_values(const ChangeJob& job, const ChangeWorkspace& workspace, cudaStream_t stream) const override {
    const unsigned blocks = blocks_for(keep_values_kernel<Shape>, job.size);
    keep_values_kernel<Shape><<<blocks, kThreads, 0, stream>>>(view_, cache_, job, workspace);
    check_launch("placing values");
  }

  void commit(const ChangeJob& job, const ChangeWorkspace& workspace, gphash::Pass pass,
              cudaStream_t stream) const override {
    if constexpr (Shape::kMayBeWide) {
      if (view_.wide()) return commit_wide(job, workspace, stream);
    }
    Base::commit(job, workspace, pass, stream);
  }

  void release(const ChangeJob& job, const ChangeWorkspace& workspace, cudaStream_t stream) const override {
    release_kernel<Shape><<<all_blocks(job.size), kThreads, 0, stream>>>(view_, job, workspace);
    check_launch("publishing a change");
  }

  void copy_values(const ChangeJob& job, const ChangeWorkspace& workspace, cudaStream_t stream) const override {
    copy_kernel<Shape><<<blocks_for(copy_kernel<Shape>, job.size), kThreads, 0, stream>>>(view_, job, workspace);
    check_launch("answering a change");
  }

 private:
  void commit_wide(const ChangeJob& job, const ChangeWorkspace& workspace, cudaStream_t stream) const {
    if (job.ops.any(gphash::may_place)) {
      const auto shift = static_cast<unsigned>(std::bit_width(view_.key_words()));  // a lane for each word and one more
      const unsigned blocks = blocks_for(commit_behind_kernel<Shape>, job.size << shift);
      commit_behind_kernel<Shape><<<blocks, kThreads, 0, stream>>>(view_, job, workspace, shift);
    }
    const unsigned blocks = blocks_for(commit_head_kernel<Shape>, job.size);
    commit_head_kernel<Shape><<<blocks, kThreads, 0, stream>>>(view_, job, workspace);
    check_launch("committing a change");
  }

  using Base::view_, Base::cache_;
};

}  // namespace holdfast::gphash::cuda
