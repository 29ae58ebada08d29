// search.cu: what an ordered search does between its kernels: it joins an epoch and leaves it, and places rows stretch by
// stretch of the heap.
#include <cub/device/device_scan.cuh>

#include <bit>

#include "machine/cuda/kernels.hpp"
#include "machine/cuda/launch.cuh"
#include "machine/cuda/search.cuh"

namespace holdfast::machine::cuda {

namespace {

__global__ void enter_kernel(DeviceState* state, std::uint64_t* epoch) { *epoch = enter_epoch(state); }
__global__ void leave_kernel(DeviceState* state, const std::uint64_t* epoch) { leave_epoch(state, *epoch); }

/// `scratch` null: only says in `bytes` how much it takes.
void add_up(const SearchRoom& room, void* scratch, std::size_t& bytes, cudaStream_t stream) {
  check(cub::DeviceScan::ExclusiveSum(scratch, bytes, room.counts, room.starts, room.stretches + 1, stream),
        "ordering a search");
}

}  // namespace

void enter_search(DeviceState* state, SearchRoom& room, std::uint64_t cells, cudaStream_t stream) {
  const std::uint64_t last = cells - 1;
  const auto bits = static_cast<unsigned>(std::bit_width(last));
  room.shift = bits > kStretchBits ? bits - kStretchBits : 0;
  room.stretches = static_cast<std::uint32_t>(last >> room.shift) + 1;
  enter_kernel<<<1, 1, 0, stream>>>(state, room.epoch);
  check_launch("starting a search");
  check(cudaMemsetAsync(room.counts, 0, 4 * (std::size_t{room.stretches} + 1), stream), "starting a search");
}

void leave_search(DeviceState* state, const SearchRoom& room, cudaStream_t stream) {
  leave_kernel<<<1, 1, 0, stream>>>(state, room.epoch);
  check_launch("ending a search");
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
