// devices.cpp: how many GPUs this build can use, and why not.
#include <cuda_runtime_api.h>

#include <string>

#include "holdfast/table.hpp"

namespace holdfast {

int cuda_devices(std::string* why) {
  int devices = 0;
  const cudaError_t code = cudaGetDeviceCount(&devices);
  if (code == cudaSuccess && devices > 0) return devices;
  static_cast<void>(cudaGetLastError());
  if (why) {
    *why = code == cudaSuccess || code == cudaErrorNoDevice || code == cudaErrorInsufficientDriver
               ? "this machine has no NVIDIA GPU, or no driver for it that is new enough"
               : std::string("CUDA does not start: ") + cudaGetErrorName(code) + " (" + cudaGetErrorString(code) + ")";
  }
  return 0;
}

}  // namespace holdfast
