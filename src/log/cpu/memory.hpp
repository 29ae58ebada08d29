// memory.hpp: the CPU's Memory for logs. It reads the tails themselves: a copy would be no faster.
#pragma once

#include <sched.h>

#include <cstddef>
#include <cstdint>

#include "log/protocol/log.hpp"
#include "pool/medium/persist.hpp"

namespace holdfast::log {

class CpuMemory {
 public:
  using Word = std::uint32_t;
  explicit CpuMemory(const pool::Persist& persist) : persist_(persist) {}
  static constexpr bool keeps(Step) { return true; }
  std::uint32_t load(const Word* word) const { return __atomic_load_n(word, __ATOMIC_ACQUIRE); }
  void store(Word* word, std::uint32_t value) const { __atomic_store_n(word, value, __ATOMIC_RELEASE); }
  void flush(const void* address, std::size_t bytes) const { persist_.flush(address, bytes); }
  void flush_strided(const Word* first, std::uint32_t words, std::uint32_t stride) const {
    if (stride == 1) return flush(first, std::size_t{words} * sizeof(Word));
    for (std::uint32_t k = 0; k < words; ++k) flush(first + std::uint64_t{k} * stride, sizeof(Word));
  }
  void fence() const { persist_.fence(); }
  std::uint32_t shown(const std::uint32_t* tail) const { return entries_in(load(tail)); }
  void show(std::uint32_t*, std::uint32_t) const {}
  void take(std::uint32_t* hold) const {
    while (__atomic_exchange_n(hold, 1, __ATOMIC_ACQUIRE) != 0) sched_yield();
  }
  void release(std::uint32_t* hold) const { __atomic_store_n(hold, 0, __ATOMIC_RELEASE); }

 private:
  pool::Persist persist_;
};
static_assert(LogMemory<CpuMemory>);

}  // namespace holdfast::log
