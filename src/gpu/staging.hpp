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

  void settle() const noexcept {
    static_cast<void>(cudaStreamSynchronize(stream_));
    static_cast<void>(cudaStreamSynchronize(copying_));
  }

 private:
  static constexpr std::size_t kAlign = 256;
  Stream stream_, copying_;
  Half halves_[2];
  DeviceBuffer<std::byte> memory_, results_;
  std::size_t used_ = 0;
};

/// As many stages as host threads have needed at once. `Its::settle()` waits for what a batch that ended in an error has left under way.
template <class Its>
class StagesOf {
 public:
  class Lease {
   public:
    Lease(StagesOf& stages, std::unique_ptr<Its> stage) : stages_(stages), stage_(std::move(stage)) {}
    ~Lease() {
      stage_->settle();
      const std::lock_guard lock(stages_.mutex_);
      stages_.idle_.push_back(std::move(stage_));
    }
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    Its& operator*() const { return *stage_; }

   private:
    StagesOf& stages_;
    std::unique_ptr<Its> stage_;
  };

  Lease lend() {
    const std::lock_guard lock(mutex_);
    if (idle_.empty()) return {*this, std::make_unique<Its>()};
    std::unique_ptr<Its> stage = std::move(idle_.back());
    idle_.pop_back();
    return {*this, std::move(stage)};
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<Its>> idle_;
};
using Stages = StagesOf<Stage>;

}  // namespace holdfast::gpu
