// staging.hpp: GPU memory and a stream for the arrays of a batch that lie in host memory.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "gpu/runtime.hpp"

namespace holdfast::gpu {

/// Space for the arrays of one chunk. One batch at a time uses it.
class Stage {
 public:
  const Stream& stream() const { return stream_; }

  /// Begins a chunk whose arrays need `bytes` in all, in `arrays` pieces.
  void begin(std::size_t bytes, unsigned arrays) {
    memory_.at_least(bytes + arrays * kAlign);
    used_ = 0;
  }
  template <class T>
  T* take(std::size_t bytes) {
    T* const at = reinterpret_cast<T*>(memory_.data() + used_);
    used_ += (bytes + kAlign - 1) / kAlign * kAlign;
    return at;
  }
  /// A copy of a host array on the GPU; null for null.
  template <class T>
  const T* upload(const void* from, std::size_t bytes) {
    if (from == nullptr) return nullptr;
    T* const to = take<T>(bytes);
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, stream_), "copying a batch to the GPU");
    return to;
  }
  /// Returns space for `bytes` of results whose size was not known at the beginning. Earlier results are lost.
  std::byte* results(std::size_t bytes) { return results_.at_least(bytes); }
  /// For copies beside the stream's own work, of two pieces alternately.
  const Stream& copying() const { return copying_; }
  struct Half {
    Event gathered, copied;
  };
  Half& half(unsigned i) { return halves_[i]; }
  void download(void* to, const void* from, std::size_t bytes) {
    if (to == nullptr || bytes == 0) return;
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, stream_), "copying results from the GPU");
  }

 private:
  static constexpr std::size_t kAlign = 256;
  Stream stream_, copying_;
  Half halves_[2];
  DeviceBuffer<std::byte> memory_, results_;
  std::size_t used_ = 0;
};

/// As many stages as host threads have needed at once.
class Stages {
 public:
  class Lease {
   public:
    Lease(Stages& stages, std::unique_ptr<Stage> stage) : stages_(stages), stage_(std::move(stage)) {}
    ~Lease();
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    Stage& operator*() const { return *stage_; }

   private:
    Stages& stages_;
    std::unique_ptr<Stage> stage_;
  };

  Lease lend();

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<Stage>> idle_;
};

}  // namespace holdfast::gpu
