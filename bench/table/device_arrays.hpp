// device_arrays.hpp: a benchmark's arrays in GPU memory, for batches whose keys and results never leave it.
#pragma once

#include <cstddef>
#include <utility>

namespace holdfast::bench {

/// Bytes of GPU memory. Throws DeviceError without CUDA or where the device fails.
class DeviceArray {
 public:
  DeviceArray() = default;
  explicit DeviceArray(std::size_t bytes);
  DeviceArray(DeviceArray&& other) noexcept : data_(std::exchange(other.data_, nullptr)) {}
  DeviceArray& operator=(DeviceArray&& other) noexcept {
    std::swap(data_, other.data_);
    return *this;
  }
  ~DeviceArray();

  void* data() const { return data_; }
  void upload(const void* host, std::size_t bytes);
  void download(void* host, std::size_t bytes) const;
  /// Waits for everything submitted to the device.
  static void synchronize();

 private:
  void* data_ = nullptr;
};

}  // namespace holdfast::bench
