// memory.cuh: the GPU's Memory for logs. Entries and tails are posted to host memory; the copy of the tails is in GPU memory.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "log/protocol/transaction.hpp"

namespace holdfast::log {

class CudaMemory {
 public:
  using Word = std::uint32_t;
  __device__ static constexpr bool keeps(Step) { return true; }
  __device__ std::uint32_t load(const Word* word) const { return *static_cast<const volatile Word*>(word); }
  __device__ void store(Word* word, std::uint32_t value) const { *static_cast<volatile Word*>(word) = value; }
  __device__ void flush(const void*, std::size_t) const {}
  __device__ void flush_strided(const Word*, std::uint32_t, std::uint32_t) const {}
  __device__ void fence() const { __threadfence_system(); }
  __device__ std::uint32_t shown(const std::uint32_t* tail) const { return entries_in(load(tail)); }
  __device__ void show(std::uint32_t* tail, std::uint32_t entries) const { store(tail, tail_of(entries)); }
  // Lanes of one warp may want one partition: it is held around a whole operation, by `try_hold`.
  __device__ void take(std::uint32_t*) const {}
  __device__ void release(std::uint32_t*) const {}
  __device__ static bool try_hold(std::uint32_t* hold) {
    if (atomicCAS(hold, 0u, 1u) != 0u) return false;
    __threadfence();
    return true;
  }
  __device__ static void end_hold(std::uint32_t* hold) {
    __threadfence();
    atomicExch(hold, 0u);
  }
};
static_assert(LogMemory<CudaMemory>);

}  // namespace holdfast::log
