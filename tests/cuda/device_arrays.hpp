// device_arrays.hpp: the arrays of a batch in GPU memory, for tests.
#pragma once

#include <cstdint>

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include "fixture.hpp"

namespace holdfast::test {

template <class T>
class OnGpu {
 public:
  explicit OnGpu(std::size_t n) : n_(n) {
    EXPECT_EQ(cudaMalloc(reinterpret_cast<void**>(&data_), n * sizeof(T) + 1), cudaSuccess);
  }
  OnGpu(const T* from, std::size_t n) : OnGpu(n) {
    EXPECT_EQ(cudaMemcpy(data_, from, n * sizeof(T), cudaMemcpyHostToDevice), cudaSuccess);
    // A small copy of pageable memory may end later than the call, and streams that block nothing do not wait for it.
    EXPECT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess);
  }
  explicit OnGpu(const std::vector<T>& from) : OnGpu(from.data(), from.size()) {}
  ~OnGpu() { cudaFree(data_); }
  OnGpu(const OnGpu&) = delete;
  OnGpu& operator=(const OnGpu&) = delete;
  T* get() const { return data_; }
  void copy_to(T* to) const { copy_to(to, n_); }
  /// The first `n`; others may never have been written.
  void copy_to(T* to, std::size_t n) const {
    EXPECT_EQ(cudaMemcpy(to, data_, n * sizeof(T), cudaMemcpyDeviceToHost), cudaSuccess);
  }

 private:
  T* data_ = nullptr;
  std::size_t n_;
};

struct TestStream {
  TestStream() { EXPECT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess); }
  ~TestStream() { cudaStreamDestroy(stream); }
  void wait() const { ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess); }
  cudaStream_t stream = nullptr;
};

/// Rows copied to the GPU, and their answers back.
class GpuRows {
 public:
  GpuRows(const GpuTable& gpu, const Rows& rows)
      : keys_(gpu.keys_of(rows.keys)),
        ops_(rows.ops.data(), rows.ops.size()),
        mask_(rows.mask.data(), rows.mask.size()),
        values_(rows.values.data(), rows.values.size()),
        out_(rows.out.data(), rows.out.size()),
        statuses_(rows.statuses.data(), rows.statuses.size()),
        found_(rows.found.get(), rows.keys.size()),
        size_(rows.keys.size()) {}

  Batch batch(cudaStream_t stream) const {
    Batch batch;
    batch.size = size_;
    batch.keys = keys_.get();
    batch.values = values_.get();
    batch.out = out_.get();
    batch.statuses = statuses_.get();
    batch.found = found_.get();
    batch.mask = mask_.get();
    batch.device = Device{.stream = stream};
    return batch;
  }
  const std::uint8_t* ops() const { return ops_.get(); }

  void copy_back(Rows& rows) const {
    out_.copy_to(rows.out.data());
    statuses_.copy_to(rows.statuses.data());
    found_.copy_to(rows.found.get());
  }

 private:
  OnGpu<std::byte> keys_;
  OnGpu<std::uint8_t> ops_, mask_, values_, out_;
  OnGpu<Status> statuses_;
  OnGpu<bool> found_;
  std::size_t size_;
};

}  // namespace holdfast::test
