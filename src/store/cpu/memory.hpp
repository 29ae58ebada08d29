// memory.hpp: the protocol's memory policy on the CPU.
#pragma once

#include <atomic>

#include "store/protocol/item_memory.hpp"
#include "structures/cpu_memory.hpp"

namespace holdfast::store::cpu {

/// Words of a mapped heap, and the flushes that its domain asks for.
class Memory : public structures::CpuMemory {
 public:
  explicit Memory(const pool::Persist& persist) : CpuMemory(persist), flushes_(persist.flushes()) {}
  bool flushes() const { return flushes_; }
  /// Loads that follow see nothing older than those before.
  void order_loads() const { std::atomic_thread_fence(std::memory_order_acquire); }

 private:
  bool flushes_;
};
static_assert(ItemMemory<Memory>);

}  // namespace holdfast::store::cpu
