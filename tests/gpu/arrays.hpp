// arrays.hpp: arrays in GPU memory, filled from and read back to the host.
#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "gpu/runtime.hpp"

namespace holdfast::gpu {

template <class T>
DeviceBuffer<T> on_gpu(const std::vector<T>& host) {
  DeviceBuffer<T> there(host.size());
  check(cudaMemcpy(there.data(), host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice), "filling an array");
  return there;
}

template <class T>
DeviceBuffer<T> zeros(std::size_t size) {
  return on_gpu(std::vector<T>(size));
}

template <class T>
std::vector<T> on_host(const T* there, std::size_t size) {
  std::vector<T> host(size);
  check(cudaMemcpy(host.data(), there, size * sizeof(T), cudaMemcpyDeviceToHost), "reading an array");
  return host;
}

/// Tests that need a GPU.
class OnGpu : public testing::Test {
 protected:
  void SetUp() override {
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) GTEST_SKIP() << "no GPU";
  }
};

}  // namespace holdfast::gpu
