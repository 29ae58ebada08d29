// directory_search.cuh: the phase of a search that answers rows whose keys are known (key_directory.cuh), before others aim at slots of the pool
// (miss_search.cuh).
#pragma once

#include <cstdint>

#include "gpu/numbered.cuh"
#include "gpu/order/bins.cuh"
#include "structures/gphash/cuda/kernels/search_workspace.hpp"
#include "structures/gphash/cuda/kit.hpp"
#include "structures/gphash/cuda/search/key_directory.cuh"

namespace holdfast::gphash::cuda {

/// Rows whose keys are known, and those that are not asked for, are left to hit_kernel, or ignored; the others are listed. A kernel of its
/// own, since most rows need no more than these few reads, which overlap best where threads are many.
template <class Shape, class Cell>
__global__ void __launch_bounds__(kThreads)
    directory_search_kernel(const __grid_constant__ View<Shape> view, const __grid_constant__ CacheView cache,
                            const __grid_constant__ FindJob job, const __grid_constant__ SearchWorkspace aim,
                            const __grid_constant__ SearchWorkspace workspace, RowsLeft left) {
  const CopyMemory memory(job.state, &cache);
  KeyDirectory<Shape> keys(memory, view, cache, job);
  for (std::uint64_t base = std::uint64_t{blockIdx.x} * kThreads; base < job.size; base += all_threads()) {
    const std::uint64_t row = base + threadIdx.x;
    Asked asked;
    const bool is_row = is_asked(job, row);
    if (is_row) asked = keys.ask_directory(row);
    const bool goes_on = is_row && !asked.known;
    const std::uint64_t place = numbered(goes_on, left.size);
    if (goes_on) left.rows[place] = static_cast<std::uint32_t>(row);
    if (goes_on || row >= job.size) continue;
    const std::uint64_t position = asked.known ? keys.answer(row, asked) : kNoPosition;
    aim.ranks[row] = static_cast<std::uint32_t>(position + 1);
    static_cast<std::uint32_t*>(aim.cells)[row] = kNoPlace<std::uint32_t>;
    if (workspace.cells != nullptr) static_cast<Cell*>(workspace.cells)[row] = kNoPlace<Cell>;
  }
  keys.flush_counts();
}

}  // namespace holdfast::gphash::cuda
