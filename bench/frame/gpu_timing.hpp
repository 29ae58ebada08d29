// gpu_timing.hpp: the clock of a GPU, for kernels that take microseconds. timing.py says when it is used.
#pragma once

#include <cuda_runtime_api.h>

#include "gpu/runtime.hpp"

namespace holdfast::bench {

/// The seconds that the GPU takes for what `launch` enqueues on the default stream.
template <class Launch>
double gpu_seconds(const Launch& launch) {
  cudaEvent_t begin = nullptr, end = nullptr;
  gpu::check(cudaEventCreate(&begin), "making an event");
  gpu::check(cudaEventCreate(&end), "making an event");
  gpu::check(cudaEventRecord(begin), "marking a begin");
  launch();
  gpu::check(cudaGetLastError(), "starting a kernel");
  gpu::check(cudaEventRecord(end), "marking an end");
  gpu::check(cudaEventSynchronize(end), "running a kernel");
  float milliseconds = 0;
  gpu::check(cudaEventElapsedTime(&milliseconds, begin, end), "reading a clock");
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
  return milliseconds / 1e3;
}

}  // namespace holdfast::bench
