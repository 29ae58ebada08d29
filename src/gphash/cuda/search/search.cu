// search.cu: what an ordered search does between its kernels: it joins an epoch and leaves it, and places rows stretch by
// stretch of the heap.
#include <cub/device/device_scan.cuh>

#include <bit>

#include "gphash/cuda/change/kernels.hpp"
#include "gphash/cuda/kit.hpp"
#include "gphash/cuda/search/search.cuh"
#include "gpu/launch.cuh"

namespace holdfast::machine::cuda {

namespace {

__global__ void __launch_bounds__(kThreads) enter_kernel(DeviceState* state, const __grid_constant__ SearchRoom room) {
  if (first_of_thread() == 0) *room.epoch = enter_epoch(state->readers);
  for (std::uint64_t i = first_of_thread(); i <= room.stretches; i += all_threads()) room.counts[i] = 0;
}

__global__ void leave_kernel(DeviceState* state, const __grid_constant__ SearchRoom room) {
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
  for (std::uint64_t i = first_of_thread(); i <= room.stretches; i += all_threads()) room.counts[i] = 0;
}

/// `scratch` null: only says in `bytes` how much it takes.
void add_up(const SearchRoom& room, void* scratch, std::size_t& bytes, cudaStream_t stream) {
  check(cub::DeviceScan::ExclusiveSum(scratch, bytes, room.counts, room.starts, room.stretches + 1, stream),
        "ordering a search");
}

}  // namespace

void divide_heap(SearchRoom& room, std::uint64_t cells, std::uint32_t cell_bytes, unsigned most_bits) {
  const std::uint64_t last = cells - 1;
  const auto bits = static_cast<unsigned>(std::bit_width(last));
  const auto beyond = [](unsigned all, unsigned part) { return all > part ? all - part : 0; };
  const unsigned page = beyond(kPageBits + 1, static_cast<unsigned>(std::bit_width(cell_bytes)));
  room.shift = std::max(std::min(page, beyond(bits, kFewStretchBits)), beyond(bits, most_bits));
  room.stretches = static_cast<std::uint32_t>(last >> room.shift) + 1;
}

void enter_search(DeviceState* state, const SearchRoom& room, cudaStream_t stream) {
  enter_kernel<<<blocks_for(enter_kernel, room.stretches), kThreads, 0, stream>>>(state, room);
  check_launch("starting a search");
}

void leave_search(DeviceState* state, const SearchRoom& room, cudaStream_t stream) {
  leave_kernel<<<1, 1, 0, stream>>>(state, room);
  check_launch("ending a search");
}

void count_crowd(const SearchRoom& room, std::uint32_t* crowd, cudaStream_t stream) {
  check(cudaMemsetAsync(crowd, 0, sizeof(*crowd), stream), "starting a search");
  crowd_kernel<<<blocks_for(crowd_kernel, room.stretches), kThreads, 0, stream>>>(room.counts, room.stretches, crowd);
  check_launch("starting a search");
}

void begin_second_part(const SearchRoom& room, cudaStream_t stream) {
  second_part_kernel<<<blocks_for(second_part_kernel, room.stretches), kThreads, 0, stream>>>(room);
  check_launch("starting a search");
}

std::size_t search_scratch_bytes() {
  SearchRoom largest;
  largest.stretches = 1u << kStretchBits;
  std::size_t bytes = 0;
  add_up(largest, nullptr, bytes, nullptr);
  return bytes;
}

void order_search(const SearchRoom& room, std::uint64_t size, std::uint64_t cells, cudaStream_t stream) {
  std::size_t bytes = room.scratch_bytes;
  add_up(room, room.scratch, bytes, stream);
  const auto launch = [&](auto* kernel) { kernel<<<blocks_for(kernel, size), kThreads, 0, stream>>>(room, size); };
  is_wide(cells) ? launch(place_rows_kernel<std::uint64_t>) : launch(place_rows_kernel<std::uint32_t>);
  check_launch("ordering a search");
}

}  // namespace holdfast::machine::cuda
