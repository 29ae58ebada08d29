// order_changes.cu: puts what a batch in phases changes into the order of its addresses: slots, and cells that are read, written and freed.
#include <cub/device/device_radix_sort.cuh>

#include <algorithm>
#include <bit>
#include <utility>

#include "core/both.hpp"
#include "gpu/launch.cuh"
#include "gpu/numbered.cuh"
#include "structures/gphash/cuda/kernels/change_kernels.hpp"
#include "structures/gphash/cuda/kit.hpp"
#include "structures/gphash/cuda/memory.cuh"
#include "structures/gphash/protocol/phases.hpp"

namespace holdfast::gphash::cuda {

namespace {

/// By the bits of their slots' numbers, less those of the place in a line: a line's changes need only stand together.
void sort_changes(PhaseWorkspace& workspace, void* scratch, std::size_t& bytes, std::uint64_t size, int bits,
                  cudaStream_t stream) {
  constexpr int kPlaceBits = std::countr_zero(gphash::kLineSlots);
  cub::DoubleBuffer<std::uint32_t> slots(workspace.slots[0], workspace.slots[1]),
      order(workspace.order[0], workspace.order[1]);
  check(cub::DeviceRadixSort::SortPairs(scratch, bytes, slots, order, size, kPlaceBits, bits, stream),
        "ordering a change");
  if (scratch == nullptr) return;
  if (slots.Current() != workspace.slots[0]) std::swap(workspace.slots[0], workspace.slots[1]);
  if (order.Current() != workspace.order[0]) std::swap(workspace.order[0], workspace.order[1]);
}

/// Places without a cell have all bits set.
void sort_cells(ChangeWorkspace& workspace, void* scratch, std::size_t& bytes, std::uint64_t size,
                cudaStream_t stream) {
  cub::DoubleBuffer<std::uint32_t> cells(workspace.freed[0], workspace.freed[1]);
  check(cub::DeviceRadixSort::SortKeys(scratch, bytes, cells, size, 0, 32, stream), "freeing cells");
  if (scratch != nullptr && cells.Current() != workspace.freed[0]) std::swap(workspace.freed[0], workspace.freed[1]);
}

/// By the ranges that their cells lie in. Sums without an old value have 0, places without a cell all bits set, and come last
/// because the sort is stable.
void sort_by_cell(std::uint32_t* (&cells)[2], std::uint32_t* (&order)[2], void* scratch, std::size_t& bytes,
                  std::uint64_t size, std::uint64_t all_cells, cudaStream_t stream) {
  const int bits = static_cast<int>(std::bit_width(all_cells)), kept = static_cast<int>(kBinBits);
  cub::DoubleBuffer<std::uint32_t> keys(cells[0], cells[1]), which(order[0], order[1]);
  check(cub::DeviceRadixSort::SortPairs(scratch, bytes, keys, which, size, std::max(bits - kept, 0), bits, stream),
        "ordering a change by cells");
  if (scratch == nullptr) return;
  if (keys.Current() != cells[0]) std::swap(cells[0], cells[1]);
  if (which.Current() != order[0]) std::swap(order[0], order[1]);
}

/// Gives cells to sums, in the order of the cells that they come from.
__global__ void __launch_bounds__(kThreads)
    assign_kernel(const __grid_constant__ ChangeJob job, const __grid_constant__ ChangeWorkspace workspace) {
  const std::uint64_t at = first_of_thread();
  const std::uint32_t plan = at < job.report->sums ? workspace.sums[workspace.sum_order[0][at]].plan : kNoPlan;
  const bool takes = plan != kNoPlan;
  const std::uint64_t cell_at = numbered(takes, reinterpret_cast<unsigned long long*>(&job.state->head));
  if (takes) workspace.planned[plan].word = job.ring.cells[cell_at % job.ring.capacity] + 1;
}

__global__ void __launch_bounds__(kThreads)
    add_scores_kernel(const __grid_constant__ View<gphash::RuntimeShape> view, const __grid_constant__ ChangeJob job,
                      const __grid_constant__ ChangeWorkspace workspace) {
  const CudaMemory memory(job.state, nullptr);
  for (std::uint64_t at = first_of_thread(); at < job.size; at += all_threads()) {
    const std::uint32_t cell = workspace.score_cells[0][at];
    if (cell == kNoScoreCell) continue;
    std::uint64_t& score = workspace.scores[workspace.planned[workspace.score_order[0][at]].score_row()];
    score = gphash::more_frequent(memory.load_value(view.score_of(cell)), score);
  }
}

/// Puts the cells that the batch took out of their slots into retirement: the thread that takes one out, and no other, frees it (rule
/// 5). They are in address order, so that the batch that takes them next writes in that order too.
__global__ void __launch_bounds__(kThreads)
    retire_kernel(const __grid_constant__ ChangeJob job, const __grid_constant__ ChangeWorkspace workspace) {
  const std::uint64_t end = job.state->retired_end;
  for (std::uint64_t i = first_of_thread(); i < job.report->freed; i += all_threads()) {
    HOLDFAST_ASSERT(workspace.freed[0][i] < job.ring.capacity);
    job.ring.cells[(end + i) % job.ring.capacity] = workspace.freed[0][i];
  }
}
__global__ void retired_kernel(const __grid_constant__ ChangeJob job) { job.state->retired_end += job.report->freed; }

}  // namespace

void add_old_scores(const Layout& layout, const ChangeJob& job, ChangeWorkspace& workspace, cudaStream_t stream) {
  std::size_t bytes = workspace.scratch_bytes;
  sort_by_cell(workspace.score_cells, workspace.score_order, workspace.scratch, bytes, job.size, layout.cells, stream);
  add_scores_kernel<<<blocks_for(add_scores_kernel, job.size), kThreads, 0, stream>>>(layout, job, workspace);
  check_launch("counting changes");
}

void order_sums(const ChangeJob& job, ChangeWorkspace& workspace, std::uint64_t cells, cudaStream_t stream) {
  std::size_t bytes = workspace.scratch_bytes;
  sort_by_cell(workspace.sum_cells, workspace.sum_order, workspace.scratch, bytes, job.size, cells, stream);
  const auto blocks = static_cast<unsigned>((job.size + kThreads - 1) / kThreads);
  assign_kernel<<<blocks, kThreads, 0, stream>>>(job, workspace);
  check_launch("ordering sums");
}

void order_changes(PhaseWorkspace& workspace, std::uint64_t size, std::uint64_t slots, cudaStream_t stream) {
  // Places without a change have all bits set, so one line must be left for them.
  std::size_t bytes = workspace.scratch_bytes;
  sort_changes(workspace, workspace.scratch, bytes, size, static_cast<int>(std::bit_width(slots + gphash::kLineSlots)),
               stream);
}

void retire_cells(const ChangeJob& job, ChangeWorkspace& workspace, cudaStream_t stream) {
  std::size_t bytes = workspace.scratch_bytes;
  sort_cells(workspace, workspace.scratch, bytes, job.size, stream);
  retire_kernel<<<blocks_for(retire_kernel, job.size), kThreads, 0, stream>>>(job, workspace);
  retired_kernel<<<1, 1, 0, stream>>>(job);
  check_launch("freeing cells");
}

std::size_t change_scratch_bytes(std::uint64_t rows) {
  ChangeWorkspace none;
  std::size_t bytes = 0;
  sort_changes(none, nullptr, bytes, rows, 32, nullptr);
  std::size_t cells = 0;
  sort_cells(none, nullptr, cells, rows, nullptr);
  std::size_t sums = 0;
  sort_by_cell(none.sum_cells, none.sum_order, nullptr, sums, rows, 0xffff'ffff, nullptr);
  return std::max({bytes, cells, sums});
}

}  // namespace holdfast::gphash::cuda
