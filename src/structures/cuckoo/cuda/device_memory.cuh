// device_memory.cuh: the protocol's memory policy in GPU memory.
#pragma once

#include "gpu/words.cuh"
#include "structures/cuckoo/memory.hpp"

namespace holdfast::cuckoo::cuda {

/// What may run while a kernel does. Its kernels order their accesses accordingly, which costs fences.
enum class Beside : std::uint8_t {
  nothing,   ///< other kernels that search, where it searches; else none
  searches,  ///< it changes, and searches run
  changes,   ///< it searches, and a change runs
};

/// Replacing, erasing and moving never run side by side: changing batches run one after another, and in a batch the moves come last. So only
/// moves lock.
template <Beside kBeside>
struct DeviceMemory {
  static constexpr unsigned kCells = 8;
  static constexpr bool kSearchBesideChanges = kBeside == Beside::changes, kChangeBesideMoves = false;
  static constexpr bool kOrdered = kBeside != Beside::nothing;
  static constexpr auto kAcquire = kOrdered ? ::cuda::memory_order_acquire : ::cuda::memory_order_relaxed;
  static constexpr auto kRelease = kOrdered ? ::cuda::memory_order_release : ::cuda::memory_order_relaxed;
  static constexpr auto kBoth = kOrdered ? ::cuda::memory_order_acq_rel : ::cuda::memory_order_relaxed;

  std::uint64_t* cells;
  std::uint64_t* groups;

  __device__ static constexpr bool keeps(Step) { return true; }

  __device__ std::uint64_t& cell(BucketNumber bucket, unsigned cell) const {
    return cells[std::uint64_t{bucket} * kCells + cell];
  }
  __device__ std::uint64_t load_cell(BucketNumber bucket, unsigned cell) const {
    return gpu::DeviceWord(this->cell(bucket, cell)).load(kAcquire);
  }
  /// Four loads of 16 bytes, each word of them read at once (PTX: a vector access is one access for each element).
  __device__ BucketCells<kCells> load_bucket(BucketNumber bucket) const {
    BucketCells<kCells> loaded;
    const std::uint64_t* const from = &cell(bucket, 0);
#pragma unroll
    for (unsigned i = 0; i < kCells; i += 2) {
      unsigned long long a = 0, b = 0;
      asm volatile("ld.relaxed.gpu.global.v2.u64 {%0, %1}, [%2];" : "=l"(a), "=l"(b) : "l"(from + i) : "memory");
      loaded.entries[i] = a;
      loaded.entries[i + 1] = b;
    }
    if constexpr (kOrdered) ::cuda::atomic_thread_fence(::cuda::memory_order_acquire, ::cuda::thread_scope_device);
    return loaded;
  }
  __device__ bool fill(BucketNumber bucket, unsigned cell, std::uint64_t entry) const {
    std::uint64_t empty = kEmpty;
    return gpu::DeviceWord(this->cell(bucket, cell))
        .compare_exchange_strong(empty, entry, kBoth, ::cuda::memory_order_relaxed);
  }
  __device__ void store(BucketNumber bucket, unsigned cell, std::uint64_t entry) const {
    gpu::DeviceWord(this->cell(bucket, cell)).store(entry, kRelease);
  }
  __device__ Group load_group(BucketNumber bucket) const {
    return {gpu::DeviceWord(groups[group_of(bucket)]).load(kAcquire)};
  }
  __device__ bool swap_group(BucketNumber bucket, Group seen, Group next) const {
    return gpu::DeviceWord(groups[group_of(bucket)])
        .compare_exchange_strong(seen.word, next.word, kBoth, ::cuda::memory_order_relaxed);
  }
  __device__ static void wait(BucketNumber) { __nanosleep(50); }
  __device__ static void prefetch(BucketNumber) {}
};

/// Moves run beside other moves, so they are ordered in any case.
struct MovingMemory : DeviceMemory<Beside::searches> {};

}  // namespace holdfast::cuckoo::cuda
