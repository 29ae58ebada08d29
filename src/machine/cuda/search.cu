// search.cu: what an ordered search does between its kernels: it joins an epoch and leaves it, and orders rows by their cells.
#include <cub/device/device_radix_sort.cuh>

#include <algorithm>
#include <bit>
#include <utility>

#include "machine/cuda/epochs.cuh"
#include "machine/cuda/kernels.hpp"
#include "machine/cuda/launch.cuh"

namespace holdfast::machine::cuda {

namespace {

__global__ void enter_kernel(DeviceState* state, std::uint64_t* epoch) { *epoch = enter_epoch(state); }
__global__ void leave_kernel(DeviceState* state, const std::uint64_t* epoch) { leave_epoch(state, *epoch); }

template <class Cell>
cub::DoubleBuffer<Cell> cells_of(const SearchRoom& room) {
  return {static_cast<Cell*>(room.cells[0]), static_cast<Cell*>(room.cells[1])};
}

/// `scratch` null: only says in `bytes` how much it takes.
template <class Cell>
void sort(SearchRoom& room, void* scratch, std::size_t& bytes, std::uint64_t size, int bits, cudaStream_t stream) {
  cub::DoubleBuffer<Cell> cells = cells_of<Cell>(room);
  cub::DoubleBuffer<std::uint32_t> rows(room.rows[0], room.rows[1]);
  check(cub::DeviceRadixSort::SortPairs(scratch, bytes, cells, rows, size, 0, bits, stream), "ordering a search");
  if (scratch == nullptr) return;
  if (cells.Current() != room.cells[0]) std::swap(room.cells[0], room.cells[1]);
  if (rows.Current() != room.rows[0]) std::swap(room.rows[0], room.rows[1]);
}

}  // namespace

void enter_search(DeviceState* state, const SearchRoom& room, cudaStream_t stream) {
  enter_kernel<<<1, 1, 0, stream>>>(state, room.epoch);
  check_launch("starting a search");
}

void leave_search(DeviceState* state, const SearchRoom& room, cudaStream_t stream) {
  leave_kernel<<<1, 1, 0, stream>>>(state, room.epoch);
  check_launch("ending a search");
}

std::size_t search_scratch_bytes(std::uint64_t rows, bool wide) {
  SearchRoom none;
  std::size_t bytes = 0;
  if (wide) {
    sort<std::uint64_t>(none, nullptr, bytes, rows, 64, nullptr);
  } else {
    sort<std::uint32_t>(none, nullptr, bytes, rows, 32, nullptr);
  }
  return bytes;
}

void order_search(SearchRoom& room, std::uint64_t size, std::uint64_t cells, cudaStream_t stream) {
  // Rows without a cell have all bits set, so one bit pattern must be left for them.
  const int bits = static_cast<int>(std::bit_width(cells));
  std::size_t bytes = room.scratch_bytes;
  if (is_wide(cells)) {
    sort<std::uint64_t>(room, room.scratch, bytes, size, bits, stream);
  } else {
    sort<std::uint32_t>(room, room.scratch, bytes, size, bits, stream);
  }
}

}  // namespace holdfast::machine::cuda
