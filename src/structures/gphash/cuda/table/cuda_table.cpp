// cuda_table.cpp: how a table begins on a GPU, and what all parts ask of it.
#include "structures/gphash/cuda/table/cuda_table.hpp"

#include "structures/gphash/batch_rows.hpp"
#include "structures/gphash/cuda/kit.hpp"

namespace holdfast::gphash::cuda {

namespace {

std::string name_of(int device) {
  cudaDeviceProp properties{};
  cuda::check(cudaGetDeviceProperties(&properties, device), "asking for the GPU's name");
  if (properties.major < 8) {
    throw DeviceError(std::string("GPU ") + std::to_string(device) + ", " + properties.name +
                      ", has compute capability " + std::to_string(properties.major) + "." +
                      std::to_string(properties.minor) + ", and this build needs 8.0: use device=\"cpu\"");
  }
  return properties.name;
}

}  // namespace

KernelSet::KernelSet(const gphash::RuntimeShape& shape) {
  const auto keep = [this](auto kernels, auto*& as) {
    as = kernels.get();
    all = std::move(kernels);
  };
  shape.variable_ ? keep(make_pair_kernels(shape), pairs) : keep(make_kernels(shape), fixed);
}

CudaTable::CudaTable(gphash::TableObject& of, const MachineOptions& given)
    : pool(of),
      options(given),
      gpu(name_of(given.device)),
      memory(of, given),
      compiled(shape_of(of.shape())),
      pair_kernels(compiled.pairs),
      kernels(compiled.fixed),
      table_kernels(*compiled.all),
      times(given.time_phases) {}

/// A kernel that is given a pointer which the GPU cannot follow would end the process's use of it.
void CudaTable::require_reachable(const void* array, const char* name) const {
  if (array == nullptr) return;
  cudaPointerAttributes attributes{};
  cuda::check(cudaPointerGetAttributes(&attributes, array), "asking where an array is");
  const bool other_gpu = attributes.type == cudaMemoryTypeDevice && attributes.device != options.device;
  if (attributes.type != cudaMemoryTypeUnregistered && !other_gpu) return;
  throw InvalidArgument(std::string(name) + " is not in memory of GPU " + std::to_string(options.device) +
                        (other_gpu ? " but of GPU " + std::to_string(attributes.device) : " but of the host") +
                        ": give arrays of the table's GPU, or arrays of the host and no `device`");
}

void CudaTable::require_reachable(const Batch& batch) const {
  const VariableLength parts = parts_of(batch);
  require_reachable(batch.keys, "keys");
  require_reachable(parts.key_offsets, "key_offsets");
  require_reachable(batch.values, "values");
  require_reachable(parts.value_offsets, "value_offsets");
  require_reachable(batch.out, "out");
  require_reachable(batch.statuses, "statuses");
  require_reachable(batch.found, "found");
  require_reachable(batch.scores, "scores");
  require_reachable(batch.ops, "ops");
  require_reachable(batch.mask, "mask");
}

FindJob CudaTable::find_job(const gphash::Rows& rows, const void* keys, const std::uint8_t* mask,
                            std::uint64_t size) const {
  FindJob job;
  job.rows = rows;
  job.keys = static_cast<const std::byte*>(keys);
  job.mask = mask;
  job.size = size;
  job.state = state.words();
  return job;
}

ChangeJob CudaTable::change_job(const gphash::Rows& rows, OpSet ops, const void* keys, const std::uint8_t* mask,
                                std::uint64_t size) const {
  ChangeJob job;
  job.rows = rows;
  job.ops = ops;
  job.keys = static_cast<const std::byte*>(keys);
  job.mask = mask;
  job.size = size;
  return job;
}

void CudaTable::begin_moves() {
  if (!exports.want_moves()) return;
  order.finish();
  exports.list_rest(memory.layout());
}

}  // namespace holdfast::gphash::cuda
