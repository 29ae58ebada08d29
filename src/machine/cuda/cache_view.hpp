// cache_view.hpp: the bucket cache as kernels see it: copies of the pool's slots in GPU memory. GPHash §3.3, RULES.md 8, 13.
//
// Keys and words stand in arrays of their own, so that a search reads one or two sectors where a bucket of the pool has four.
// Of wide keys the fingerprints stand where keys do, and the keys themselves in a third array: a search reads one of them.
// A copy changes only after the pool's words are durable (RULES.md 11): what a reader of the cache sees survives a crash.
// Every word of an addressed level is there (*resident*), or none is.
#pragma once

#include <cstdint>

#include "core/bits.hpp"
#include "core/both.hpp"
#include "index/geometry.hpp"
#include "index/slot.hpp"
#include "machine/cuda/value_view.hpp"

namespace holdfast::machine::cuda {

/// The copy of one level, or of the aside slot.
struct CachedSlots {
  const index::Slot* of = nullptr;  ///< in the pool
  std::uint64_t bytes = 0;          ///< of the pool's slots
  std::uint64_t* keys = nullptr;    ///< the slots' first words
  std::uint64_t* words = nullptr;
  std::uint64_t* wide = nullptr;  ///< (slots, key_words) wide keys
};

/// Trivially copyable: it travels into kernels by value.
struct CacheView {
  unsigned parts = 0;  ///< the levels by rank, then the aside slot if it is used; 0: nothing is cached
  unsigned key_words = 1;
  std::uint64_t per_slot = 0;  ///< of wide slots: 2^64 / their words, rounded up
  CachedSlots part[index::kMaxLevels + 1];
  ValueView values;

  HOLDFAST_BOTH bool resident() const { return parts != 0; }
  HOLDFAST_BOTH unsigned slot_words() const { return index::slot_bytes(key_words) / 8; }
  HOLDFAST_BOTH void set_key_words(unsigned count) {
    key_words = count;
    per_slot = ~std::uint64_t{0} / slot_words() + 1;
  }

  /// The copy of a slot's word in the pool; null if it has none. The words of a wide key stand together.
  HOLDFAST_BOTH std::uint64_t* copy_of(const std::uint64_t* word) const {
    for (unsigned i = 0; i < parts; ++i) {
      const std::uint64_t at = reinterpret_cast<std::uintptr_t>(word) - reinterpret_cast<std::uintptr_t>(part[i].of);
      if (at >= part[i].bytes) continue;
      if (key_words != 1) return copy_of_wide(part[i], at / 8);
      return (at % sizeof(index::Slot) == 0 ? part[i].keys : part[i].words) + at / sizeof(index::Slot);
    }
    return nullptr;
  }

 private:
  /// Word `at` of a part. The product is at / slot_words() as long as `at` is below 2^64 / slot_words().
  HOLDFAST_BOTH std::uint64_t* copy_of_wide(const CachedSlots& slots, std::uint64_t at) const {
    const std::uint64_t slot = high_product(at, per_slot);
    const auto in_slot = static_cast<unsigned>(at - slot * slot_words());
    if (in_slot == 0) return slots.keys + slot;
    return in_slot == 1 ? slots.words + slot : slots.wide + slot * key_words + (in_slot - 2);
  }
};

}  // namespace holdfast::machine::cuda
