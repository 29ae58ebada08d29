// search.cu: what an ordered search does between its kernels: it joins an epoch and leaves it, and places rows stretch by
// stretch of the heap.
#include "gphash/cuda/change/kernels.hpp"
#include "gphash/cuda/kit.hpp"
#include "gphash/cuda/search/search.cuh"
#include "gpu/launch.cuh"

namespace holdfast::machine::cuda {

namespace {

__global__ void __launch_bounds__(kThreads)
    enter_search_kernel(DeviceState* state, const __grid_constant__ SearchRoom room) {
  if (first_of_thread() == 0) *room.epoch = enter_epoch(state->readers);
  for (std::uint64_t i = first_of_thread(); i <= room.bins; i += all_threads()) room.counts[i] = 0;
}

__global__ void leave_search_kernel(DeviceState* state, const __grid_constant__ SearchRoom room) {
  leave_epoch(state->readers, *room.epoch);
}

/// How many rows fell to the stretch that most fell to.
__global__ void __launch_bounds__(kThreads)
    crowd_kernel(const std::uint32_t* counts, std::uint32_t stretches, std::uint32_t* crowd) {
  std::uint32_t most = 0;
  for (std::uint64_t i = first_of_thread(); i < stretches; i += all_threads()) most = max(most, counts[i]);
  most = __reduce_max_sync(kAllLanes, most);
  if (threadIdx.x % kWarp == 0) atomicMax(crowd, most);
}

__global__ void __launch_bounds__(kThreads) second_part_kernel(const __grid_constant__ SearchRoom room) {
  if (!room.apart()) return;
  for (std::uint64_t i = first_of_thread(); i <= room.bins; i += all_threads()) room.counts[i] = 0;
}

}  // namespace

void enter_search(DeviceState* state, const SearchRoom& room, cudaStream_t stream) {
  enter_search_kernel<<<blocks_for(enter_search_kernel, room.bins), kThreads, 0, stream>>>(state, room);
  check_launch("starting a search");
}

void leave_search(DeviceState* state, const SearchRoom& room, cudaStream_t stream) {
  leave_search_kernel<<<1, 1, 0, stream>>>(state, room);
  check_launch("ending a search");
}

void count_crowd(const SearchRoom& room, std::uint32_t* crowd, cudaStream_t stream) {
  check(cudaMemsetAsync(crowd, 0, sizeof(*crowd), stream), "starting a search");
  crowd_kernel<<<blocks_for(crowd_kernel, room.bins), kThreads, 0, stream>>>(room.counts, room.bins, crowd);
  check_launch("starting a search");
}

void begin_second_part(const SearchRoom& room, cudaStream_t stream) {
  second_part_kernel<<<blocks_for(second_part_kernel, room.bins), kThreads, 0, stream>>>(room);
  check_launch("starting a search");
}

void order_search(const SearchRoom& room, std::uint64_t size, std::uint64_t cells, cudaStream_t stream) {
  add_up(room, stream);
  const auto launch = [&](auto* kernel) { kernel<<<blocks_for(kernel, size), kThreads, 0, stream>>>(room, size); };
  is_wide(cells) ? launch(place_rows_kernel<std::uint64_t>) : launch(place_rows_kernel<std::uint32_t>);
  check_launch("ordering a search");
}

}  // namespace holdfast::machine::cuda
