// search.cu: what an ordered search does between its kernels: it joins an epoch and leaves it, and places rows range by
// range of the heap; and the rows that a mask takes out.
#include "gpu/launch.cuh"
#include "structures/gphash/cuda/kernels/search_kernels.hpp"
#include "structures/gphash/cuda/kit.hpp"
#include "structures/gphash/cuda/memory.cuh"
#include "structures/gphash/cuda/search/search.cuh"

namespace holdfast::gphash::cuda {

namespace {

__global__ void __launch_bounds__(kThreads)
    enter_search_kernel(DeviceState* state, const __grid_constant__ SearchWorkspace workspace) {
  if (first_of_thread() == 0) *workspace.epoch = reclaim::cuda::enter_epoch(state->readers);
  for (std::uint64_t i = first_of_thread(); i <= workspace.bins; i += all_threads()) workspace.counts[i] = 0;
}

__global__ void leave_search_kernel(DeviceState* state, const __grid_constant__ SearchWorkspace workspace) {
  reclaim::cuda::leave_epoch(state->readers, *workspace.epoch);
}

__global__ void __launch_bounds__(kThreads)
    skip_kernel(const __grid_constant__ gphash::Rows rows, const std::uint8_t* mask, std::uint64_t size) {
  for (std::uint64_t row = first_of_thread(); row < size; row += all_threads()) {
    if (mask != nullptr && mask[row] != 0) continue;
    if (rows.statuses) rows.statuses[row] = Status::not_run;
    if (rows.found) rows.found[row] = false;
    if (rows.scores) rows.scores[row] = 0;
    std::byte* const to = rows.result(row);
    for (std::size_t at = 0; to != nullptr && at < rows.value_bytes; at += 8)
      store_user(to + at, 0, rows.value_bytes - at);
  }
}

}  // namespace

void enter_search(DeviceState* state, const SearchWorkspace& workspace, cudaStream_t stream) {
  enter_search_kernel<<<blocks_for(enter_search_kernel, workspace.bins), kThreads, 0, stream>>>(state, workspace);
  check_launch("starting a search");
}

void leave_search(DeviceState* state, const SearchWorkspace& workspace, cudaStream_t stream) {
  leave_search_kernel<<<1, 1, 0, stream>>>(state, workspace);
  check_launch("ending a search");
}

void order_search(const SearchWorkspace& workspace, std::uint64_t size, std::uint64_t cells, cudaStream_t stream) {
  add_up(workspace, stream);
  const auto launch = [&](auto* kernel) { kernel<<<blocks_for(kernel, size), kThreads, 0, stream>>>(workspace, size); };
  is_wide(cells) ? launch(place_rows_kernel<std::uint64_t>) : launch(place_rows_kernel<std::uint32_t>);
  check_launch("ordering a search");
}

void skip_masked(const gphash::Rows& rows, const std::uint8_t* mask, std::uint64_t size, cudaStream_t stream) {
  skip_kernel<<<blocks_for(skip_kernel, size), kThreads, 0, stream>>>(rows, mask, size);
  check_launch("skipping masked rows");
}

}  // namespace holdfast::gphash::cuda
