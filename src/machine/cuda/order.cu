// order.cu: puts the rows of a changing batch into runs of one key each, in array order, and in the order of their buckets.
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_select.cuh>

#include <algorithm>

#include "core/hash.hpp"
#include "machine/cuda/kernels.hpp"
#include "machine/cuda/launch.cuh"

namespace holdfast::machine::cuda {

namespace {

/// The hashes of the `*picked` rows that `rows` names; without `picked`, of all, which it then names.
__global__ void __launch_bounds__(kThreads)
    hash_kernel(const std::byte* keys, std::uint64_t size, const std::uint64_t* picked, std::uint64_t seed,
                std::uint64_t* hashes, std::uint32_t* rows) {
  const std::uint64_t end = picked ? *picked : size;
  for (std::uint64_t i = first_of_thread(); i < end; i += all_threads()) {
    const std::uint64_t row = picked ? rows[i] : i;
    if (!picked) rows[i] = static_cast<std::uint32_t>(i);
    hashes[i] = hash_key(load_user(keys + 8 * row, 8), seed);
  }
}

__global__ void __launch_bounds__(kThreads)
    skip_kernel(const __grid_constant__ index::Rows rows, const std::uint8_t* mask, std::uint64_t size) {
  for (std::uint64_t row = first_of_thread(); row < size; row += all_threads()) {
    if (mask[row] != 0) continue;
    if (rows.statuses) rows.statuses[row] = Status::not_run;
    if (rows.found) rows.found[row] = false;
    std::byte* const to = rows.result(row);
    for (std::size_t at = 0; to != nullptr && at < rows.value_bytes; at += 8)
      store_user(to + at, 0, rows.value_bytes - at);
  }
}

struct Unmasked {
  const std::uint8_t* mask;
  __host__ __device__ bool operator()(std::uint32_t row) const { return mask[row] != 0; }
};

constexpr int kHashBits = 64;

cub::DoubleBuffer<std::uint64_t> hashes_of(const OrderRoom& room) { return {room.hashes[0], room.hashes[1]}; }
cub::DoubleBuffer<std::uint32_t> rows_of(const OrderRoom& room) { return {room.rows[0], room.rows[1]}; }

}  // namespace

std::size_t order_scratch_bytes(std::uint64_t rows) {
  std::size_t sort = 0, select = 0;
  OrderRoom none{};
  auto hashes = hashes_of(none);
  auto order = rows_of(none);
  check(cub::DeviceRadixSort::SortPairs(nullptr, sort, hashes, order, rows, 0, kHashBits),
        "planning the order of a batch");
  check(
      cub::DeviceSelect::If(nullptr, select, static_cast<std::uint32_t*>(nullptr), static_cast<std::uint32_t*>(nullptr),
                            static_cast<std::uint64_t*>(nullptr), rows, Unmasked{}),
      "planning the order of a batch");
  return std::max(sort, select);
}

void order_rows(ChangeJob& job, std::uint64_t seed, const OrderRoom& room, cudaStream_t stream) {
  const char* const doing = "ordering a batch";
  const unsigned blocks = blocks_for(hash_kernel, job.size);
  hash_kernel<<<blocks, kThreads, 0, stream>>>(job.keys, job.size, nullptr, seed, room.hashes[0], room.rows[0]);
  check_launch(doing);
  auto hashes = hashes_of(room);
  auto rows = rows_of(room);
  std::size_t bytes = room.scratch_bytes;
  check(cub::DeviceRadixSort::SortPairs(room.scratch, bytes, hashes, rows, job.size, 0, kHashBits, stream), doing);
  job.order = rows.Current();
  job.hashes = hashes.Current();
  job.ordered = nullptr;
  if (job.mask == nullptr) return;
  check(cub::DeviceSelect::If(room.scratch, bytes = room.scratch_bytes, rows.Current(), rows.Alternate(), room.ordered,
                              job.size, Unmasked{job.mask}, stream),
        doing);
  hash_kernel<<<blocks, kThreads, 0, stream>>>(job.keys, job.size, room.ordered, seed, hashes.Alternate(),
                                               rows.Alternate());
  check_launch(doing);
  job.order = rows.Alternate();
  job.hashes = hashes.Alternate();
  job.ordered = room.ordered;
}

void skip_masked(const index::Rows& rows, const std::uint8_t* mask, std::uint64_t size, cudaStream_t stream) {
  skip_kernel<<<blocks_for(skip_kernel, size), kThreads, 0, stream>>>(rows, mask, size);
  check_launch("skipping masked rows");
}

}  // namespace holdfast::machine::cuda
