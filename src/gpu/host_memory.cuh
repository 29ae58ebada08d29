// host_memory.cuh: how kernels read and change host memory over the link.
//
// Words get plain loads and stores of system scope, never an atomic read-modify-write (rule 13). Posted writes may arrive in any subset
// when the context dies, so two words are ordered only by a fence between them.
#pragma once

#include <vector_types.h>

#include <cstddef>
#include <cstdint>

#include "gpu/words.cuh"
#include "pool/medium/memory_concept.hpp"

namespace holdfast::gpu {

/// The memory policy of durable words in host memory that have no copy in GPU memory.
class HostMemory {
 public:
  __device__ std::uint64_t load(const std::uint64_t* word) const {
    return SystemWord(*const_cast<std::uint64_t*>(word)).load(::cuda::memory_order_acquire);
  }
  __device__ void store(std::uint64_t* word, std::uint64_t value) const {
    SystemWord(*word).store(value, ::cuda::memory_order_release);
  }
  __device__ void flush(const void*, std::size_t) const {}
  /// What was stored before is in host memory before anything that follows.
  __device__ void fence() const { __threadfence_system(); }

  // Values: words of a cell. A cell that no slot names belongs to one warp; one that a slot names does not change until no
  // reader can see it. They pass by the L1 cache, which would keep what a cell held before.
  __device__ std::uint64_t load_value(const std::uint64_t* word) const {
    return SystemWord(*const_cast<std::uint64_t*>(word)).load(::cuda::memory_order_relaxed);
  }
  __device__ void store_value(std::uint64_t* word, std::uint64_t value) const {
    SystemWord(*word).store(value, ::cuda::memory_order_relaxed);
  }
  /// Up to eight bytes of a cell that no slot names. Those next to them stay as they are.
  __device__ void store_part(std::byte* to, std::uint64_t word, std::size_t bytes) const {
    const auto at = reinterpret_cast<std::uintptr_t>(to);
    if (bytes >= 8 && at % 8 == 0) return HostMemory::store_value(reinterpret_cast<std::uint64_t*>(to), word);
    const std::size_t all = bytes < 8 ? bytes : 8;
    if (at % 4 == 0 && all % 4 == 0) {
      for (unsigned i = 0; i < all; i += 4, word >>= 32)
        asm volatile("st.relaxed.sys.u32 [%0], %1;" ::"l"(to + i), "r"(static_cast<std::uint32_t>(word)) : "memory");
    } else {
      for (unsigned i = 0; i < all; ++i, word >>= 8)
        asm volatile("st.relaxed.sys.u8 [%0], %1;" ::"l"(to + i), "r"(static_cast<std::uint32_t>(word)) : "memory");
    }
  }
  __device__ ulonglong2 load_values(const std::uint64_t* two) const {
    ulonglong2 words;
    asm volatile("ld.relaxed.sys.v2.u64 {%0, %1}, [%2];" : "=l"(words.x), "=l"(words.y) : "l"(two) : "memory");
    return words;
  }
  __device__ void store_values(std::uint64_t* two, ulonglong2 words) const {
    asm volatile("st.relaxed.sys.v2.u64 [%0], {%1, %2};" ::"l"(two), "l"(words.x), "l"(words.y) : "memory");
  }
};
static_assert(pool::PersistentMemory<HostMemory>);

}  // namespace holdfast::gpu
