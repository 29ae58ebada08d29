// device_arrays.cpp: GPU memory by cudaMalloc where the cuda machine is built in, else a clear error.
#include "table/device_arrays.hpp"

#include <string>

#include "holdfast/error.hpp"

#ifdef HOLDFAST_WITH_CUDA
#include <cuda_runtime_api.h>
#endif

namespace holdfast::bench {

#ifdef HOLDFAST_WITH_CUDA
namespace {
void must(cudaError_t result, const char* what) {
  if (result != cudaSuccess) throw DeviceError(std::string(what) + ": " + cudaGetErrorString(result));
}
}  // namespace

DeviceArray::DeviceArray(std::size_t bytes) { must(cudaMalloc(&data_, bytes), "cudaMalloc for a benchmark's array"); }
DeviceArray::~DeviceArray() {
  if (data_ != nullptr) cudaFree(data_);
}
void DeviceArray::upload(const void* host, std::size_t bytes) {
  must(cudaMemcpy(data_, host, bytes, cudaMemcpyHostToDevice), "copying a benchmark's keys to the GPU");
}
void DeviceArray::download(void* host, std::size_t bytes) const {
  must(cudaMemcpy(host, data_, bytes, cudaMemcpyDeviceToHost), "copying a benchmark's results from the GPU");
}
void DeviceArray::synchronize() { must(cudaDeviceSynchronize(), "waiting for a benchmark's batch"); }
#else
namespace {
[[noreturn]] void without_cuda() {
  throw DeviceError("this build has no CUDA: build with GPU=ON, or leave out --on-device");
}
}  // namespace

DeviceArray::DeviceArray(std::size_t /*bytes*/) { without_cuda(); }
DeviceArray::~DeviceArray() = default;
void DeviceArray::upload(const void* /*host*/, std::size_t /*bytes*/) { without_cuda(); }
void DeviceArray::download(void* /*host*/, std::size_t /*bytes*/) const { without_cuda(); }
void DeviceArray::synchronize() { without_cuda(); }
#endif

}  // namespace holdfast::bench
