// runtime.hpp: CUDA's runtime as this machine uses it: errors as exceptions, and owners for what must be given back.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "holdfast/error.hpp"

namespace holdfast::gpu {

/// Throws DeviceError with CUDA's reason if `code` is not success. `doing` completes "CUDA failed while …".
void check(cudaError_t code, const char* doing);
/// True if this error has ended the CUDA context: every later call will fail, and only a new process helps.
bool is_sticky(cudaError_t code);

/// Makes `device` this thread's for a scope, and lets it allocate and wait although some stream is being captured into a CUDA
/// graph, by this thread or another: nothing that the machine waits for is.
class OnDevice {
 public:
  explicit OnDevice(int device);
  ~OnDevice();
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;

 private:
  int before_ = 0;
  bool changed_ = false;
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;  ///< that the thread had, while this lives
};

/// Throws InvalidArgument for a stream of a GPU other than `device`. CUDA does not report the GPU of one that is being captured.
void require_stream(cudaStream_t stream, int device);

/// Plain GPU memory. Throws DeviceError where there is not enough.
void* allocate_device(std::size_t bytes);
void free_device(void* memory) noexcept;

/// Throws DeviceError if a budget of GPU memory is more than is `free`.
void require_free(const char* option, std::uint64_t budget, std::uint64_t free);

template <class T>
class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  explicit DeviceBuffer(std::size_t size) : data_(static_cast<T*>(allocate_device(size * sizeof(T)))), size_(size) {}
  DeviceBuffer(DeviceBuffer&& other) noexcept { swap(other); }
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept {
    DeviceBuffer(std::move(other)).swap(*this);
    return *this;
  }
  ~DeviceBuffer() { free_device(data_); }

  T* data() const { return data_; }
  std::size_t size() const { return size_; }
  /// Allocates `size` elements. The old contents are lost; nothing that still runs may use it.
  T* at_least(std::size_t size) {
    if (size > size_) {
      *this = DeviceBuffer();  // first, so that both need not fit at once
      *this = DeviceBuffer(size);
    }
    return data_;
  }

 private:
  void swap(DeviceBuffer& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
  }
  T* data_ = nullptr;
  std::size_t size_ = 0;
};

/// A stream of the machine's own, which does not wait for the legacy default stream.
class Stream {
 public:
  /// `first`: its blocks get the next multiprocessor that is free, before those of other streams.
  explicit Stream(bool first = false);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  operator cudaStream_t() const { return stream_; }
  void wait(const char* doing) const { check(cudaStreamSynchronize(stream_), doing); }

 private:
  cudaStream_t stream_ = nullptr;
};

/// A moment of a stream, without time.
class Event {
 public:
  /// `sleeps`: the thread that waits for it lets others have its core.
  explicit Event(bool sleeps = false);
  Event(Event&& other) noexcept : event_(std::exchange(other.event_, nullptr)) {}
  Event& operator=(Event&& other) noexcept {
    std::swap(event_, other.event_);
    return *this;
  }
  ~Event();
  void record(cudaStream_t stream) { check(cudaEventRecord(event_, stream), "marking the end of a batch"); }
  /// Later work of `stream` waits for this moment.
  void hold(cudaStream_t stream) const { check(cudaStreamWaitEvent(stream, event_), "ordering batches"); }
  void wait(const char* doing) const { check(cudaEventSynchronize(event_), doing); }
  bool passed() const;

 private:
  cudaEvent_t event_ = nullptr;
};

}  // namespace holdfast::gpu
