// cpu_memory.hpp: the CPU's memory of persistent hash tables: mapped words, flushes as the object's domain asks, spinning locks.
#pragma once

#include <immintrin.h>
#include <sched.h>

#include <cstddef>
#include <cstdint>

#include "pool/medium/persist.hpp"
#include "structures/persistent_memory.hpp"

namespace holdfast::structures {

class CpuMemory {
 public:
  static constexpr unsigned kReadAttempts = 16;
  explicit CpuMemory(const pool::Persist& persist) : persist_(persist) {}

  template <class Step>
  static constexpr bool keeps(Step) {
    return true;
  }
  void prefetch(const void* from) const { __builtin_prefetch(from); }
  std::uint64_t load(const std::uint64_t* from) const { return __atomic_load_n(from, __ATOMIC_ACQUIRE); }
  void store(std::uint64_t* to, std::uint64_t value) const { __atomic_store_n(to, value, __ATOMIC_RELEASE); }
  void flush(const void* from, std::size_t bytes) const { persist_.flush(from, bytes); }
  void fence() const { persist_.fence(); }

  std::uint32_t begin_read(const VersionLock* lock) const {
    for (unsigned spins = 0;; ++spins) {  // ends: the writer that holds it releases it
      const std::uint32_t version = __atomic_load_n(lock, __ATOMIC_ACQUIRE);
      if ((version & 1) == 0) return version;
      wait(spins);
    }
  }
  bool end_read(const VersionLock* lock, std::uint32_t version) const {
    return __atomic_load_n(lock, __ATOMIC_ACQUIRE) == version;
  }
  void lock(VersionLock* lock) const {
    for (unsigned spins = 0;; ++spins) {  // ends: the writer that holds it releases it
      std::uint32_t version = __atomic_load_n(lock, __ATOMIC_RELAXED);
      if ((version & 1) == 0 &&
          __atomic_compare_exchange_n(lock, &version, version | 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
        return;
      }
      wait(spins);
    }
  }
  void unlock(VersionLock* lock) const {
    __atomic_store_n(lock, __atomic_load_n(lock, __ATOMIC_RELAXED) + 1, __ATOMIC_RELEASE);
  }

 private:
  static void wait(unsigned spins) {
    if (spins < 64) {
      _mm_pause();
    } else {
      sched_yield();
    }
  }
  pool::Persist persist_;
};
static_assert(pool::PersistentMemory<CpuMemory> && VersionLocks<CpuMemory>);

}  // namespace holdfast::structures
