// states.hpp: states of tensors of many sizes, in GPU memory and on the host, for tests of checkpoints.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "../device_arrays.hpp"
#include "holdfast/checkpoint.hpp"

namespace holdfast::test {

/// A tensor of bytes. On a GPU it begins at any address.
struct Tensor {
  std::string name;
  std::vector<std::uint8_t> bytes;
  std::size_t begin;  ///< in what is allocated
  std::unique_ptr<OnGpu<std::uint8_t>> device;

  std::uint8_t* on_device() const { return device->get() + begin; }
  TensorView view(bool gpu) const {
    const void* const data = gpu ? on_device() : static_cast<const void*>(bytes.data());
    return {name, ElementType::u8, {bytes.size()}, bytes.empty() ? nullptr : data, gpu};
  }
};

inline std::uint8_t byte_of(std::size_t tensor, std::size_t i, std::uint64_t step) {
  return static_cast<std::uint8_t>((i * 2654435761u + tensor * 97 + step * 31) >> 3);
}

/// From one byte to several stretches of 64 MiB; empty ones, odd ones, and many small ones.
inline std::vector<std::size_t> sizes_of_all_kinds() {
  std::vector<std::size_t> sizes = {0,
                                    1,
                                    3,
                                    8,
                                    127,
                                    128,
                                    129,
                                    0,
                                    65'536,
                                    65'537,
                                    4'096,
                                    (4 << 20),
                                    (4 << 20) - 1,
                                    262'147,
                                    16,
                                    (9 << 20) + 5,
                                    70'000,
                                    70 << 20,
                                    1,
                                    (20 << 20) + 64};
  for (std::size_t i = 0; i < 400; ++i) sizes.push_back(i % 7 == 0 ? 16'384 : i * 37 % 40'000);
  sizes.push_back(0);
  return sizes;
}

class State {
 public:
  explicit State(const std::vector<std::size_t>& sizes) {
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      const std::size_t begin = i % 5 == 4 ? i % 16 : 0;
      tensors.push_back({"tensor " + std::to_string(i), std::vector<std::uint8_t>(sizes[i]), begin,
                         std::make_unique<OnGpu<std::uint8_t>>(sizes[i] + begin)});
    }
  }
  /// The tensors of a step, on the host and, when `stream` gets there, on the GPU.
  void fill(std::uint64_t step, cudaStream_t stream = nullptr) {
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      Tensor& tensor = tensors[i];
      for (std::size_t k = 0; k < tensor.bytes.size(); ++k) tensor.bytes[k] = byte_of(i, k, step);
      if (tensor.bytes.empty()) continue;
      ASSERT_EQ(
          cudaMemcpyAsync(tensor.on_device(), tensor.bytes.data(), tensor.bytes.size(), cudaMemcpyHostToDevice, stream),
          cudaSuccess);
    }
  }
  void overwrite_on_gpu(cudaStream_t stream) const {
    for (const Tensor& tensor : tensors) {
      if (tensor.bytes.empty()) continue;
      ASSERT_EQ(cudaMemsetAsync(tensor.on_device(), 0xee, tensor.bytes.size(), stream), cudaSuccess);
    }
  }
  /// `on_gpu(i)` says which tensors are given in GPU memory.
  template <class OnGpuMemory>
  std::vector<TensorView> views(const OnGpuMemory& on_gpu) const {
    std::vector<TensorView> all;
    for (std::size_t i = 0; i < tensors.size(); ++i) all.push_back(tensors[i].view(on_gpu(i)));
    return all;
  }
  /// The first tensor on the GPU that has not the bytes of a step; empty: none.
  std::string flaw_on_gpu(std::uint64_t step) const {
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      std::vector<std::uint8_t> found(tensors[i].bytes.size());
      if (found.empty()) continue;
      if (cudaMemcpy(found.data(), tensors[i].on_device(), found.size(), cudaMemcpyDeviceToHost) != cudaSuccess)
        return "CUDA";
      for (std::size_t k = 0; k < found.size(); ++k) {
        if (found[k] != byte_of(i, k, step)) return tensors[i].name + ", byte " + std::to_string(k);
      }
    }
    return {};
  }
  std::vector<Tensor> tensors;
};

}  // namespace holdfast::test
