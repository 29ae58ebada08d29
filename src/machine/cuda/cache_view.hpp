// cache_view.hpp: the bucket cache as kernels see it: copies of the pool's slots in GPU memory. GPHash §3.3, RULES.md 8, 13.
//
// Keys and words stand in arrays of their own, so that a search reads one or two sectors where a bucket of the pool has four.
// A copy changes only after the pool's words are durable (RULES.md 11): what a reader of the cache sees survives a crash.
// Every word of an addressed level is there (*resident*), or none is.
#pragma once

#include <cstdint>

#include "core/both.hpp"
#include "index/geometry.hpp"
#include "index/slot.hpp"
#include "machine/cuda/value_view.hpp"

namespace holdfast::machine::cuda {

/// The copy of one level, or of the aside slot.
struct CachedSlots {
  const index::Slot* of = nullptr;  ///< in the pool
  std::uint64_t bytes = 0;          ///< of the pool's slots
  std::uint64_t* keys = nullptr;
  std::uint64_t* words = nullptr;
};

/// Trivially copyable: it travels into kernels by value.
struct CacheView {
  unsigned parts = 0;  ///< the levels by rank, then the aside slot; 0: nothing is cached
  CachedSlots part[index::kMaxLevels + 1];
  ValueView values;

  HOLDFAST_BOTH bool resident() const { return parts != 0; }

  /// The copy of a slot's word in the pool; null if it has none.
  HOLDFAST_BOTH std::uint64_t* copy_of(const std::uint64_t* word) const {
    for (unsigned i = 0; i < parts; ++i) {
      const std::uint64_t at = reinterpret_cast<std::uintptr_t>(word) - reinterpret_cast<std::uintptr_t>(part[i].of);
      if (at >= part[i].bytes) continue;
      return (at % sizeof(index::Slot) == 0 ? part[i].keys : part[i].words) + at / sizeof(index::Slot);
    }
    return nullptr;
  }
};

}  // namespace holdfast::machine::cuda
