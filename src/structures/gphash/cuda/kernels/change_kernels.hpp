// change_kernels.hpp: what changes of keys and values of fixed lengths ask of the code compiled for their configuration, and what of them
// does not depend on it. Calls enqueue work, and return.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "gpu/order/key_order.hpp"
#include "structures/gphash/cuda/jobs.hpp"
#include "structures/gphash/cuda/kernels/change_workspace.hpp"
#include "structures/gphash/cuda/kernels/search_workspace.hpp"
#include "structures/gphash/layout.hpp"
#include "structures/gphash/protocol/phases.hpp"

namespace holdfast::gphash::cuda {

class ChangeKernels {
 public:
  virtual ~ChangeKernels() = default;
  /// The phases of a change where buckets have copies, all or some (phases.cuh); changes are ordered after the first. Rows that read a cell are
  /// noted in `reading` as `resolve` does, for `order_search` and `gather`; none is where `workspace.copies` is null.
  virtual void plan(const ChangeJob& job, const ChangeWorkspace& workspace, const SearchWorkspace& reading,
                    RowRange part, cudaStream_t stream) const = 0;
  virtual void sum(const ChangeJob& job, const ChangeWorkspace& workspace, cudaStream_t stream) const = 0;
  /// Of the plans of `span`. `part`: by a part of the GPU, which does where the values are most of what the batch moves, and
  /// leaves the rest to others.
  virtual void place(const ChangeJob& job, const ChangeWorkspace& workspace, PlanRange span, bool part,
                     cudaStream_t stream) const = 0;
  /// Copies of placed values for the value cache, of all plans.
  virtual void keep_values(const ChangeJob& job, const ChangeWorkspace& workspace, cudaStream_t stream) const = 0;
  virtual void commit(const ChangeJob& job, const ChangeWorkspace& workspace, gphash::Pass pass,
                      cudaStream_t stream) const = 0;
  virtual void publish(const ChangeJob& job, const ChangeWorkspace& workspace, cudaStream_t stream) const = 0;
  /// Where `workspace.claims`.
  virtual void release(const ChangeJob& job, const ChangeWorkspace& workspace, cudaStream_t stream) const = 0;
  /// The values that rows read of the batch's own, and zeros.
  virtual void copy_values(const ChangeJob& job, const ChangeWorkspace& workspace, cudaStream_t stream) const = 0;
};

// What does not depend on the configuration.

/// Puts sums in the order of the cells that they come from, of a heap of `cells`, and gives them cells.
void order_sums(const ChangeJob& job, ChangeWorkspace& workspace, std::uint64_t cells, cudaStream_t stream);
/// Orders the changes that were planned by the lines of their slots, whose numbers are below `slots`.
void order_changes(PhaseWorkspace& workspace, std::uint64_t size, std::uint64_t slots, cudaStream_t stream);
std::size_t change_scratch_bytes(std::uint64_t rows);
/// The last phase: the cells that came free are retired.
void retire_cells(const ChangeJob& job, ChangeWorkspace& workspace, cudaStream_t stream);

/// Where the ordering of a batch works; all in GPU memory.
struct OrderWorkspace : gpu::KeyOrderWorkspace {
  gphash::Effect* effects = nullptr;  ///< (n,) for batches in phases
  gphash::Writes* writes = nullptr;   ///< (n,) for those that set frequencies, too
};
/// Adds the scores of the items that were there to what their runs count, in the order of their cells.
void add_old_scores(const Layout& layout, const ChangeJob& job, ChangeWorkspace& workspace, cudaStream_t stream);
/// The effects of ordered rows, and how often they write, for the first phase of their changes.
void fold_effects(const ChangeJob& job, const OrderWorkspace& workspace, cudaStream_t stream);
std::size_t fold_scratch_bytes(std::uint64_t rows);

}  // namespace holdfast::gphash::cuda
