// search_kernels.hpp: what searches for keys and values of fixed lengths ask of the code compiled for their configuration, and what of
// them does not depend on it. Calls enqueue work, and return.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "structures/gphash/cuda/jobs.hpp"
#include "structures/gphash/cuda/kernels/search_workspace.hpp"

namespace holdfast::gphash::cuda {

class SearchKernels {
 public:
  virtual ~SearchKernels() = default;
  /// A search in one kernel, or two where the buckets are resident and `repeats` has a table.
  virtual void find(const FindJob& job, const Repeats& repeats, cudaStream_t stream) const = 0;
  /// Two phases of a search of resident buckets (search.cuh): the cell of each row, and, from ordered places, the values; `hits`:
  /// out of copies where there are any, which `resolve` has done already.
  virtual void resolve(const FindJob& job, const SearchWorkspace& workspace, cudaStream_t stream) const = 0;
  /// All before the gather at once, for a few rows; false on a GPU that cannot.
  virtual bool resolve_small(const FindJob& job, const SearchWorkspace& workspace, cudaStream_t stream) const = 0;
  virtual void gather(const FindJob& job, const SearchWorkspace& workspace, bool hits, cudaStream_t stream) const = 0;
  /// What `resolve` does where some buckets have no copy (miss_search.cuh): before `aim` is ordered, and after. Without cells in `workspace`
  /// no values are wanted that may lie in the heap alone, and the last leaves the epoch that `aim` has entered. Before it, rows whose
  /// keys are known need not take part: `left` gets the others, and `aim` is about those. After `aim`, on any stream: the values that
  /// have copies, of rows that are resolved.
  virtual void answer_from_directory(const FindJob& job, const SearchWorkspace& aim, const SearchWorkspace& workspace,
                                     const RowsLeft& left, cudaStream_t stream) const = 0;
  virtual void aim(const FindJob& job, const SearchWorkspace& aim, const SearchWorkspace& workspace,
                   const RowsLeft& left, cudaStream_t stream) const = 0;
  virtual void answer_hits(const FindJob& job, const SearchWorkspace& aim, cudaStream_t stream) const = 0;
  virtual void resolve_misses(const FindJob& job, const SearchWorkspace& aim, const SearchWorkspace& workspace,
                              cudaStream_t stream) const = 0;
};

/// Other phases of an ordered search of a heap of `cells` cells.
void enter_search(DeviceState* state, const SearchWorkspace& workspace, cudaStream_t stream);
/// Where the last phase does not (SearchWorkspace::is_left_by_others).
void leave_search(DeviceState* state, const SearchWorkspace& workspace, cudaStream_t stream);
/// Puts the rows that have a cell in their places, `size` at most.
void order_search(const SearchWorkspace& workspace, std::uint64_t size, std::uint64_t cells, cudaStream_t stream);
/// Answers the rows that the mask takes out, or all without a mask: `not_run`, not found, zeros.
void skip_masked(const gphash::Rows& rows, const std::uint8_t* mask, std::uint64_t size, cudaStream_t stream);

}  // namespace holdfast::gphash::cuda
