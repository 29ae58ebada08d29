// cuda.cpp: what the array plumbing needs of CUDA: ordering one stream after another, and finding a pointer's
// device; and the kernel of an optimizer.
#include "holdfast/error.hpp"
#include "native.hpp"

#ifdef HOLDFAST_WITH_CUDA
#include <cuda_runtime_api.h>

#include "gpu/adagrad.hpp"
#endif

namespace nb = nanobind;
using namespace nb::literals;

namespace holdfast::python {
namespace {

#ifdef HOLDFAST_WITH_CUDA

void require(cudaError_t result, const char* what) {
  if (result == cudaSuccess) return;
  cudaGetLastError();  // so that the caller's next call does not meet this error again
  throw DeviceError(std::string(what) + " failed: " + cudaGetErrorString(result) +
                    ". Check that the arrays and the stream belong to the table's device.");
}

// Makes `device` current in this thread, and the former one again at the end.
class OnDevice {
 public:
  explicit OnDevice(int device) {
    require(cudaGetDevice(&former_), "asking for the current CUDA device");
    require(cudaSetDevice(device), "choosing the CUDA device");
  }
  ~OnDevice() { cudaSetDevice(former_); }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;

 private:
  int former_ = 0;
};

void order_streams(std::uintptr_t before, std::uintptr_t after, int device) {
  Unlocked released;
  OnDevice chosen(device);
  cudaEvent_t event = nullptr;
  require(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "creating a CUDA event");
  cudaError_t result = cudaEventRecord(event, reinterpret_cast<cudaStream_t>(before));
  if (result == cudaSuccess) result = cudaStreamWaitEvent(reinterpret_cast<cudaStream_t>(after), event, 0);
  cudaEventDestroy(event);
  require(result, "ordering two CUDA streams");
}

int pointer_device(std::uintptr_t pointer) {
  cudaPointerAttributes attributes{};
  require(cudaPointerGetAttributes(&attributes, reinterpret_cast<const void*>(pointer)),
          "asking for an array's device");
  return attributes.type == cudaMemoryTypeDevice || attributes.type == cudaMemoryTypeManaged ? attributes.device : -1;
}

void step_adagrad(std::uintptr_t rows, std::uintptr_t gradients, std::uintptr_t means, std::uint64_t size,
                  std::uint32_t columns, float lr, float eps, int device, std::uintptr_t stream) {
  const OnDevice chosen(device);
  gpu::step_adagrad({at<float>(rows), at<const float>(gradients), at<const float>(means), size, columns, lr, eps},
                    at<CUstream_st>(stream));
}

#else

[[noreturn]] void no_cuda() {
  throw DeviceError(
      "This build of Holdfast has no CUDA, so it takes no arrays in GPU memory. Copy them to the host, or "
      "install a build with CUDA (make build GPU=ON).");
}

void order_streams(std::uintptr_t, std::uintptr_t, int) { no_cuda(); }
int pointer_device(std::uintptr_t) { no_cuda(); }
void step_adagrad(std::uintptr_t, std::uintptr_t, std::uintptr_t, std::uint64_t, std::uint32_t, float, float, int,
                  std::uintptr_t) {
  no_cuda();
}

#endif

}  // namespace

void bind_cuda(nb::module_& module) {
  module.def("order_streams", &order_streams, "before"_a, "after"_a, "device"_a,
             "What is submitted to stream `after` from now on waits for what stream `before` has now.");
  module.def("pointer_device", &pointer_device, "pointer"_a,
             "The number of the GPU that the address belongs to, or -1.");
  module.def("step_adagrad", &step_adagrad, "rows"_a, "gradients"_a, "means"_a, "size"_a, "columns"_a, "lr"_a, "eps"_a,
             "device"_a, "stream"_a, "A step of row-wise Adagrad over rows of floats with their state behind them.");
}

}  // namespace holdfast::python
