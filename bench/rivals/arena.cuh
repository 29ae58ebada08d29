// arena.cuh: the host memory of a rival: a file of shared memory, mapped and registered as a pool of Holdfast is.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <string>
#include <thread>
#include <vector>

#include "holdfast/error.hpp"
#include "link/setup.cuh"

namespace holdfast::bench {

__global__ void zero_kernel(ulonglong2* words, std::uint64_t size) {
  for (std::uint64_t i = blockIdx.x * std::uint64_t{blockDim.x} + threadIdx.x; i < size; i += gridDim.x * blockDim.x)
    words[i] = make_ulonglong2(0, 0);
}

class Arena {
 public:
  Arena(const std::string& path, std::size_t bytes) : path_(path), bytes_(bytes) {
    const auto start = Clock::now();
    const int file = open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (file < 0 || ftruncate(file, static_cast<off_t>(bytes)) != 0) throw SystemError("link: cannot make " + path);
    data_ = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (data_ == MAP_FAILED) throw SystemError("link: cannot map " + path);
    touch();
    must(cudaHostRegister(data_, bytes, cudaHostRegisterMapped), "registering a rival's memory");
    say("%.1f GB of shared memory in %.1f s", static_cast<double>(bytes) / 1e9, seconds_since(start));
  }
  ~Arena() {
    cudaHostUnregister(data_);
    munmap(data_, bytes_);
    unlink(path_.c_str());
  }
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  /// These bytes zero, and everything free to take.
  void clear(std::size_t zeroed) {
    zero_kernel<<<kBlocks, kThreads>>>(static_cast<ulonglong2*>(data_), std::min(zeroed, bytes_) / sizeof(ulonglong2));
    must(cudaDeviceSynchronize(), "clearing a rival's memory");
    used_ = 0;
  }
  /// The next bytes, on a boundary of 128. Throws where there are too few.
  template <class T>
  T* take(std::size_t count) {
    const std::size_t first = (used_ + 127) / 128 * 128;
    if (first + count * sizeof(T) > bytes_) throw Error("link: a rival's memory is too small");
    used_ = first + count * sizeof(T);
    return reinterpret_cast<T*>(static_cast<std::byte*>(data_) + first);
  }

 private:
  /// Makes the pages, on all processors.
  void touch() {
    const unsigned threads = std::max(1u, std::thread::hardware_concurrency());
    std::vector<std::thread> all;
    for (unsigned t = 0; t < threads; ++t)
      all.emplace_back([=, this] {
        auto* const bytes = static_cast<volatile std::byte*>(data_);
        for (std::size_t page = t; page * 4096 < bytes_; page += threads) bytes[page * 4096] = std::byte{};
      });
    for (std::thread& thread : all) thread.join();
  }

  std::string path_;
  std::size_t bytes_, used_ = 0;
  void* data_ = nullptr;
};

}  // namespace holdfast::bench
