// table_kernels.cuh: launches the kernels that tables of all keys have, of one configuration.
#pragma once

#include "structures/gphash/cuda/cells/slot_kernels.cuh"
#include "structures/gphash/cuda/change/batch.cuh"
#include "structures/gphash/cuda/change/shared_phases.cuh"
#include "structures/gphash/cuda/kernels/table_kernels.hpp"

namespace holdfast::gphash::cuda {

/// What all tables have, over the workspace and the cells of `Interface`.
template <class Shape, class Interface>
class TableKernelsImpl : public Interface {
 public:
  using typename Interface::Cells, typename Interface::Workspace;

  explicit TableKernelsImpl(const gphash::RuntimeShape& shape) {
    if constexpr (!Shape::kFixed) view_.shape = decltype(view_.shape)(shape);
    static_cast<void>(shape);  // all else is known when a layout is set
  }

  void set_layout(const Layout& layout, const CacheView& cache) override {
    view_ = view_as<Shape>(layout);
    cache_ = cache;
  }

  void drop_copies(bool repair, ScanReport* report, cudaStream_t stream) const override {
    for (unsigned rank = 0; rank < view_.shape.levels(); ++rank) {
      const std::uint64_t slots = view_.buckets(rank) * view_.shape.slots();
      copies_kernel<Shape>
          <<<blocks_for(copies_kernel<Shape>, slots), kThreads, 0, stream>>>(view_, cache_, rank, repair, report);
    }
    check_launch("starting the search for second copies");
  }

  void drain(gphash::Slot* slots, unsigned level, bool recovering, DeviceState* state, ScanReport* report,
             cudaStream_t stream) const override {
    const std::uint64_t size = (std::uint64_t{1} << level) * view_.shape.slots();
    drain_kernel<Shape><<<blocks_for(drain_kernel<Shape>, size), kThreads, 0, stream>>>(view_, cache_, slots, level,
                                                                                        recovering, state, report);
    check_launch("starting to drain a level");
  }

  void carry_tags(const Layout& from, const Layout& to, unsigned level, cudaStream_t stream) const override {
    const unsigned blocks = blocks_for(carry_kernel<Shape>, std::uint64_t{1} << level);
    carry_kernel<Shape><<<blocks, kThreads, 0, stream>>>(view_as<Shape>(from), view_as<Shape>(to), level);
    check_launch("starting to carry tags over");
  }

  void compare_tags(const std::uint64_t* believed, ScanReport* report, cudaStream_t stream) const override {
    const unsigned blocks = blocks_for(compare_kernel<Shape>, view_.tag_words());
    compare_kernel<Shape><<<blocks, kThreads, 0, stream>>>(view_, believed, report);
    check_launch("starting to compare tags");
  }

  void scan(bool repair, std::uint32_t* live, ScanReport* report, cudaStream_t stream) const override {
    auto* const kernel = scan_kernel<Shape, Cells>;
    for (unsigned rank = 0; rank < view_.shape.levels(); ++rank) {
      const unsigned blocks = blocks_for(kernel, view_.buckets(rank) * view_.shape.slots());
      kernel<<<blocks, kThreads, 0, stream>>>(view_, cache_, cells_, rank, repair, live, report);
    }
    if (!view_.has_fingerprints())
      reserved_slot_kernel<Shape><<<1, 1, 0, stream>>>(view_, cache_, repair, live, report);
    check_launch("starting a scan");
  }

  void change(const ChangeJob& job, cudaStream_t stream) const override {
    auto* const kernel = change_kernel<Shape, Cells>;
    const WarpGrid grid = warps_for(kernel, job.again ? job.again_size : job.size);
    kernel<<<grid.blocks, kThreads, 0, stream>>>(view_, cache_, job, cells_, grid.share);
    check_launch("starting a change");
  }

  void commit(const ChangeJob& job, const Workspace& workspace, gphash::Pass pass, cudaStream_t stream) const override {
    auto* const kernel = commit_kernel<Shape, Workspace>;
    const unsigned blocks = blocks_for(kernel, job.size * gphash::kLineSlots);
    kernel<<<blocks, kThreads, 0, stream>>>(view_, cache_, job, workspace, pass);
    check_launch("committing a change");
  }

  void publish(const ChangeJob& job, const Workspace& workspace, cudaStream_t stream) const override {
    publish_kernel<Shape, Workspace, Cells>
        <<<all_blocks(job.size), kThreads, 0, stream>>>(view_, cache_, job, workspace, cells_);
    check_launch("publishing a change");
  }

 protected:
  View<Shape> view_;
  CacheView cache_;
  Cells cells_;  ///< where changes take theirs
};

}  // namespace holdfast::gphash::cuda
