// order.cu: what each row of an ordered batch does to its key, folded over the runs; and the rows that a mask takes out.
#include <cub/device/device_scan.cuh>

#include <cuda/std/functional>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

#include <algorithm>

#include "gphash/cuda/change/kernels.hpp"
#include "gphash/cuda/kit.hpp"
#include "gphash/cuda/memory.cuh"
#include "gphash/protocol/phases.hpp"
#include "gpu/launch.cuh"

namespace holdfast::machine::cuda {

namespace {

__global__ void __launch_bounds__(kThreads)
    skip_kernel(const __grid_constant__ index::Rows rows, const std::uint8_t* mask, std::uint64_t size) {
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

/// What the row at a place of the order does to its key.
struct EffectAt {
  ChangeJob job;
  __device__ index::Effect operator()(std::uint64_t at) const {
    if (at >= (job.ordered ? *job.ordered : job.size)) return {};
    const std::uint32_t row = job.order[at];
    return index::effect_of(job.rows, row);
  }
};
/// How often it writes.
struct WritesAt {
  ChangeJob job;
  const index::Effect* effects;
  __device__ index::Writes operator()(std::uint64_t at) const {
    if (at >= (job.ordered ? *job.ordered : job.size)) return {};
    return index::writes_of(job.rows, job.order[at], job.begins[at] == at ? index::Effect{} : effects[at - 1]);
  }
};
struct Combined {
  template <class T>
  __device__ T operator()(const T& first, const T& second) const {
    return index::combined(first, second);
  }
};

/// What the rows of each run are together, up to each of them.
template <class At, class T>
void scan_runs(const ChangeJob& job, const At& of_row, T* to, void* scratch, std::size_t& bytes, std::uint64_t size,
               cudaStream_t stream) {
  const auto each = thrust::make_transform_iterator(thrust::counting_iterator<std::uint64_t>(0), of_row);
  check(cub::DeviceScan::InclusiveScanByKey(scratch, bytes, job.begins, each, to, Combined{}, size,
                                            ::cuda::std::equal_to<>{}, stream),
        "planning a change");
}

}  // namespace

std::size_t fold_scratch_bytes(std::uint64_t rows) {
  std::size_t effects = 0, writes = 0;
  scan_runs({}, EffectAt{}, static_cast<index::Effect*>(nullptr), nullptr, effects, rows, nullptr);
  scan_runs({}, WritesAt{}, static_cast<index::Writes*>(nullptr), nullptr, writes, rows, nullptr);
  return std::max(effects, writes);
}

void fold_effects(const ChangeJob& job, const OrderRoom& room, cudaStream_t stream) {
  std::size_t bytes = room.scratch_bytes;
  scan_runs(job, EffectAt{job}, room.effects, room.scratch, bytes, job.size, stream);
  if (room.writes == nullptr) return;
  bytes = room.scratch_bytes;
  scan_runs(job, WritesAt{job, room.effects}, room.writes, room.scratch, bytes, job.size, stream);
}

void skip_masked(const index::Rows& rows, const std::uint8_t* mask, std::uint64_t size, cudaStream_t stream) {
  skip_kernel<<<blocks_for(skip_kernel, size), kThreads, 0, stream>>>(rows, mask, size);
  check_launch("skipping masked rows");
}

}  // namespace holdfast::machine::cuda
