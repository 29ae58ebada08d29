// host_ranges.cpp: memory that is registered with CUDA.
#include "gpu/host_ranges.hpp"

#include <cuda_runtime_api.h>

#include <algorithm>

namespace holdfast::gpu {

HostRanges::~HostRanges() { remove_all(); }

void HostRanges::add(void* address, std::size_t bytes, bool read_only) {
  ranges_.reserve(ranges_.size() + 1);  // what is registered must be known
  unsigned flags = cudaHostRegisterMapped | cudaHostRegisterPortable;
  if (read_only) flags |= cudaHostRegisterReadOnly;
  cudaError_t code = cudaHostRegister(address, bytes, flags);
  if (code == cudaSuccess) {
    ranges_.push_back(address);
    void* seen = nullptr;
    code = cudaHostGetDevicePointer(&seen, address, 0);
    if (code == cudaSuccess && seen != address)
      error_ = "the GPU sees it at another address than the CPU does, which this build cannot use";
  }
  if (code == cudaSuccess) return;
  static_cast<void>(cudaGetLastError());
  error_ = std::string(cudaGetErrorName(code)) + " (" + cudaGetErrorString(code) + ")";
}

void HostRanges::remove(void* address) noexcept {
  const auto found = std::find(ranges_.begin(), ranges_.end(), address);
  if (found == ranges_.end()) return;
  ranges_.erase(found);
  static_cast<void>(cudaHostUnregister(address));
  static_cast<void>(cudaGetLastError());
}

void HostRanges::remove_all() noexcept {
  while (!ranges_.empty()) remove(ranges_.back());
}

}  // namespace holdfast::gpu
