// mapped.cuh: host memory that kernels of the kill test's writers see too.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <stdexcept>
#include <string>

namespace holdfast::proof::kill {

inline void must(cudaError_t code) {
  if (code != cudaSuccess) throw std::runtime_error(std::string("in a writer's kernel: ") + cudaGetErrorString(code));
}

/// An array of `n` in host memory that the GPU sees too.
template <class T>
class Mapped {
 public:
  explicit Mapped(std::size_t n) {
    must(cudaHostAlloc(reinterpret_cast<void**>(&data_), (n + 1) * sizeof(T), cudaHostAllocMapped));
  }
  ~Mapped() { static_cast<void>(cudaFreeHost(data_)); }
  Mapped(const Mapped&) = delete;
  Mapped& operator=(const Mapped&) = delete;
  T* get() const { return data_; }

 private:
  T* data_ = nullptr;
};

}  // namespace holdfast::proof::kill
