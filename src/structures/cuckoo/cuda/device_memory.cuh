// device_memory.cuh: the protocol's memory policy in GPU memory.
#pragma once

#include "gpu/words.cuh"
#include "structures/cuckoo/memory.hpp"

namespace holdfast::cuckoo::cuda {

/// What may run while a kernel does. Its kernels order their accesses accordingly, which costs fences.
enum class Beside : std::uint8_t {
  readers,   ///< it searches, and only other searches run
  nothing,   ///< it changes, alone
  moves,     ///< it moves entries, and so do its other threads: what a lock protects is ordered by the lock
  searches,  ///< it changes, and searches run
  changes,   ///< it searches, and a change runs
};

/// Two neighbouring cells of a bucket.
struct CellPair {
  std::uint64_t first, second;
};

/// Replacing, erasing and moving never run side by side: changing batches run one after another, and in a batch the moves come last. So only
/// moves lock.
///
/// Cells and control words are read past the L1 cache, which is not coherent. In the L2 cache the cells that a search reads give way first, since
/// they are not read again soon; control words, 1/64 of the cells, stay. A change must not do so: it writes the cells that it has read.
template <Beside kBeside>
struct DeviceMemory {
  static constexpr unsigned kCells = 8;
  static constexpr bool kSearchBesideChanges = kBeside == Beside::changes, kChangeBesideMoves = false;
  static constexpr bool kPrefetches = false;
  static constexpr bool kOrdered = kBeside == Beside::searches || kBeside == Beside::changes;  ///< accesses to cells
  static constexpr bool kOrderedGroups = kOrdered || kBeside == Beside::moves;
  static constexpr bool kOnlyReads = kBeside == Beside::readers || kBeside == Beside::changes;
  static constexpr auto kRelease = kOrdered ? ::cuda::memory_order_release : ::cuda::memory_order_relaxed;
  static constexpr auto kBoth = kOrdered ? ::cuda::memory_order_acq_rel : ::cuda::memory_order_relaxed;
  static constexpr auto kBothGroups = kOrderedGroups ? ::cuda::memory_order_acq_rel : ::cuda::memory_order_relaxed;

  std::uint64_t* cells;
  std::uint64_t* groups;

  __device__ static constexpr bool keeps(Step) { return true; }

  __device__ std::uint64_t& cell(BucketNumber bucket, unsigned cell) const {
    return cells[std::uint64_t{bucket} * kCells + cell];
  }
  __device__ std::uint64_t load_cell(BucketNumber bucket, unsigned cell) const {
    const std::uint64_t entry = gpu::DeviceWord(this->cell(bucket, cell)).load(::cuda::memory_order_relaxed);
    acquire_cells();
    return entry;
  }
  /// Cells 2 i and 2 i + 1 by one load of 16 bytes, each word of which is read at once (PTX: a vector access is one access for each element).
  /// `acquire_cells` must follow.
  __device__ CellPair load_pair(BucketNumber bucket, unsigned i) const {
    unsigned long long first = 0, second = 0, policy = 0;
    const std::uint64_t* const at = &cell(bucket, 2 * i);
    if constexpr (kOnlyReads) {
      asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
      asm volatile("ld.relaxed.gpu.global.L1::no_allocate.L2::cache_hint.v2.u64 {%0, %1}, [%2], %3;"
                   : "=l"(first), "=l"(second)
                   : "l"(at), "l"(policy)
                   : "memory");
    } else {
      asm volatile("ld.relaxed.gpu.global.v2.u64 {%0, %1}, [%2];" : "=l"(first), "=l"(second) : "l"(at) : "memory");
    }
    return {first, second};
  }
  /// No later access happens before earlier loads of cells.
  __device__ static void acquire_cells() {
    if constexpr (kOrdered) fence();
  }
  __device__ BucketCells<kCells> load_bucket(BucketNumber bucket) const {
    BucketCells<kCells> loaded;
#pragma unroll
    for (unsigned i = 0; i < kCells / 2; ++i) {
      const CellPair pair = load_pair(bucket, i);
      loaded.entries[2 * i] = pair.first;
      loaded.entries[2 * i + 1] = pair.second;
    }
    acquire_cells();
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
    unsigned long long word = 0, policy = 0;
    const std::uint64_t* const at = groups + group_of(bucket);
    if constexpr (kOnlyReads) {
      asm("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
      asm volatile("ld.relaxed.gpu.global.L2::cache_hint.u64 %0, [%1], %2;"
                   : "=l"(word)
                   : "l"(at), "l"(policy)
                   : "memory");
    } else {
      asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(word) : "l"(at) : "memory");
    }
    if constexpr (kOrderedGroups) fence();
    return {word};
  }
  __device__ bool swap_group(BucketNumber bucket, Group seen, Group next) const {
    return gpu::DeviceWord(groups[group_of(bucket)])
        .compare_exchange_strong(seen.word, next.word, kBothGroups, ::cuda::memory_order_relaxed);
  }
  __device__ static void wait(BucketNumber) { __nanosleep(50); }
  __device__ static void prefetch(BucketNumber) {}

 private:
  __device__ static void fence() {
    ::cuda::atomic_thread_fence(::cuda::memory_order_acquire, ::cuda::thread_scope_device);
  }
};

}  // namespace holdfast::cuckoo::cuda
