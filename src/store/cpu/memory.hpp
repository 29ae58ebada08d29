// memory.hpp: the protocol's memory policy on the CPU.
#pragma once

#include <atomic>

#include "store/cpu/old_lines.hpp"
#include "store/protocol/item_memory.hpp"
#include "structures/cpu_memory.hpp"

namespace holdfast::store::cpu {

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

 private:
  bool flushes_;
  mutable std::atomic<OldLines*> old_ = nullptr;
};
static_assert(ItemMemory<Memory>);

}  // namespace holdfast::store::cpu
