// memory.hpp: the protocol's memory policy on the CPU.
#pragma once

#include <atomic>

#include "store/cpu/old_lines.hpp"
#include "store/protocol/item_memory.hpp"
#include "structures/cpu_memory.hpp"

namespace holdfast::store::cpu {

// ThreadSanitizer sees atomic accesses only.
#if defined(__SSE2__) && !defined(__SANITIZE_THREAD__)
#if !defined(__has_feature)
#define HOLDFAST_STORE_PAIRS 1
#elif !__has_feature(thread_sanitizer)
#define HOLDFAST_STORE_PAIRS 1
#endif
#endif

/// Words of a mapped heap, and the flushes that its domain asks for.
class Memory : public structures::CpuMemory {
 public:
  explicit Memory(const pool::Persist& persist) : CpuMemory(persist), flushes_(persist.flushes()) {}
  bool flushes() const { return flushes_; }
  void store(std::uint64_t* to, std::uint64_t value) const {
    keep(to, 8);
    CpuMemory::store(to, value);
  }
  /// Called before bytes of the heap change in another way than by `store`.
  void keep(const void* from, std::uint64_t bytes) const {
    if (OldLines* const old = old_.load(std::memory_order_relaxed); old != nullptr) [[unlikely]]
      old->keep(from, bytes);
  }
  /// From here on what lines had is kept there, while no change runs; null: nowhere, at any time.
  void keep_in(OldLines* old) const { old_.store(old, std::memory_order_relaxed); }
  /// Loads that follow see nothing older than those before.
  void order_loads() const { std::atomic_thread_fence(std::memory_order_acquire); }
#if defined(HOLDFAST_STORE_PAIRS)
  /// Two words at once, each whole, in the order of loads: half as many instructions as `load`, so the copies of more items overlap.
  static constexpr bool kCopiesPairs = true;
  static void copy_pair(const std::uint64_t* from, std::byte* to) {
    __m128i pair;
    asm volatile("movups %1, %0" : "=x"(pair) : "m"(*reinterpret_cast<const __m128i_u*>(from)) : "memory");
    _mm_storeu_si128(reinterpret_cast<__m128i_u*>(to), pair);
  }
#else
  static constexpr bool kCopiesPairs = false;
  static void copy_pair(const std::uint64_t*, std::byte*) {}
#endif

 private:
  bool flushes_;
  mutable std::atomic<OldLines*> old_ = nullptr;
};
static_assert(ItemMemory<Memory>);

}  // namespace holdfast::store::cpu
