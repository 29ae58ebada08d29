// order.cu: what each row of an ordered batch does to its key, folded over the runs.
#include <cub/device/device_scan.cuh>

#include <cuda/std/functional>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

#include <algorithm>

#include "gpu/launch.cuh"
#include "structures/gphash/cuda/kernels/change_kernels.hpp"
#include "structures/gphash/cuda/kit.hpp"
#include "structures/gphash/protocol/phases.hpp"

namespace holdfast::gphash::cuda {

namespace {

/// What the row at a place of the order does to its key.
struct EffectAt {
  ChangeJob job;
  __device__ gphash::Effect operator()(std::uint64_t at) const {
    if (at >= (job.ordered ? *job.ordered : job.size)) return {};
    const std::uint32_t row = job.order[at];
    return gphash::effect_of(job.rows, row);
  }
};
/// How often it writes.
struct WritesAt {
  ChangeJob job;
  const gphash::Effect* effects;
  __device__ gphash::Writes operator()(std::uint64_t at) const {
    if (at >= (job.ordered ? *job.ordered : job.size)) return {};
    return gphash::writes_of(job.rows, job.order[at], job.begins[at] == at ? gphash::Effect{} : effects[at - 1]);
  }
};
struct Combined {
  template <class T>
  __device__ T operator()(const T& first, const T& second) const {
    return gphash::combined(first, second);
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
  scan_runs({}, EffectAt{}, static_cast<gphash::Effect*>(nullptr), nullptr, effects, rows, nullptr);
  scan_runs({}, WritesAt{}, static_cast<gphash::Writes*>(nullptr), nullptr, writes, rows, nullptr);
  return std::max(effects, writes);
}

void fold_effects(const ChangeJob& job, const OrderWorkspace& workspace, cudaStream_t stream) {
  std::size_t bytes = workspace.scratch_bytes;
  scan_runs(job, EffectAt{job}, workspace.effects, workspace.scratch, bytes, job.size, stream);
  if (workspace.writes == nullptr) return;
  bytes = workspace.scratch_bytes;
  scan_runs(job, WritesAt{job, workspace.effects}, workspace.writes, workspace.scratch, bytes, job.size, stream);
}

}  // namespace holdfast::gphash::cuda
