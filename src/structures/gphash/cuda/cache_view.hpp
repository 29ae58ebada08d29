// cache_view.hpp: the bucket cache as kernels see it: copies of the pool's slots in GPU memory. GPHash §3.3, rules 8, 13.
//
// Keys and words are in separate arrays, so that a search reads one or two sectors where a bucket of the pool has four.
// Of wide keys the fingerprints stand where keys do, and the keys themselves in a third array: a search reads one of them.
// A copy changes only after the pool's words are durable (rule 11): what a reader of the cache sees survives a crash.
// Every addressed bucket has its copy (*resident*), or maps say which have (map_view.hpp), if any has; the reserved slot always has one.
#pragma once

#include <cstdint>

#include "core/bits.hpp"
#include "core/both.hpp"
#include "structures/gphash/cuda/map_view.hpp"
#include "structures/gphash/cuda/value_view.hpp"
#include "structures/gphash/protocol/geometry.hpp"
#include "structures/gphash/protocol/slot.hpp"

namespace holdfast::gphash::cuda {

/// The copies of one level, or of the reserved slot.
struct CachedSlots {
  const gphash::Slot* of = nullptr;  ///< in the pool
  std::uint64_t bytes = 0;           ///< of the pool's slots
  std::uint64_t* keys =
      nullptr;  ///< the slots' first words; of a level with maps those of position 0, and of all others
  std::uint64_t* words = nullptr;
  std::uint64_t* wide = nullptr;  ///< (slots, key_words) wide keys
  bool mapped = false;            ///< maps say which of its buckets have a copy, if any has
  std::uint64_t first = 0;        ///< then the number of its first bucket
};

/// Trivially copyable: it travels into kernels by value.
struct CacheView {
  unsigned parts = 0;  ///< the levels by rank, then the reserved slot if it is used; 0: nothing is cached
  unsigned key_words = 1;
  unsigned bucket_slots = 1;
  std::uint64_t per_slot = 0;    ///< of wide slots: 2^64 / their words, rounded up
  std::uint64_t per_bucket = 0;  ///< 2^64 / bucket_slots, rounded up
  CachedSlots part[gphash::kMaxLevels + 1];
  MapView buckets;  ///< numbered rank by rank, in the order of their addresses
  ValueView values;

  HOLDFAST_BOTH bool any() const { return parts != 0; }
  /// Buckets have numbers, and those that have a copy are in maps; without maps none has one.
  HOLDFAST_BOTH bool partial() const { return parts != 0 && part[0].mapped; }
  HOLDFAST_BOTH bool resident() const { return any() && !partial(); }
  HOLDFAST_BOTH unsigned slot_words() const { return gphash::slot_bytes(key_words) / 8; }
  HOLDFAST_BOTH void set_shape(unsigned words_of_key, unsigned slots_of_bucket = 1) {
    key_words = words_of_key;
    bucket_slots = slots_of_bucket;
    per_slot = ~std::uint64_t{0} / slot_words() + 1;
    per_bucket = slots_of_bucket == 1 ? 0 : ~std::uint64_t{0} / slots_of_bucket + 1;
  }

  /// The copy of a slot's word in the pool; null if it has none. The words of a wide key stand together. Of a bucket that may have
  /// a copy, `position_of` says where it is, or kNoPosition.
  template <class PositionOf>
  HOLDFAST_BOTH std::uint64_t* copy_of(const std::uint64_t* word, const PositionOf& position_of) const {
    for (unsigned i = 0; i < parts; ++i) {
      const std::uint64_t at = reinterpret_cast<std::uintptr_t>(word) - reinterpret_cast<std::uintptr_t>(part[i].of);
      if (at >= part[i].bytes) continue;
      std::uint64_t slot = slot_at(at / 8);
      const auto in_slot = static_cast<unsigned>(at / 8 - slot * slot_words());
      if (part[i].mapped) {
        const std::uint64_t bucket = bucket_at(slot);
        const std::uint64_t position = position_of(part[i].first + bucket);
        if (position == kNoPosition) return nullptr;
        slot = position * bucket_slots + (slot - bucket * bucket_slots);
      }
      if (in_slot == 0) return part[i].keys + slot;
      return in_slot == 1 ? part[i].words + slot : part[i].wide + slot * key_words + (in_slot - 2);
    }
    return nullptr;
  }

  /// The number of the bucket that a slot is in; kNoPosition: it is the reserved slot.
  HOLDFAST_BOTH std::uint64_t bucket_of(const gphash::Slot* slot) const {
    for (unsigned i = 0; i < parts; ++i) {
      const std::uint64_t at = reinterpret_cast<std::uintptr_t>(slot) - reinterpret_cast<std::uintptr_t>(part[i].of);
      if (at < part[i].bytes && part[i].mapped) return part[i].first + bucket_at(slot_at(at / 8));
    }
    return kNoPosition;
  }

  /// The number of a slot, bucket by bucket; kNoPosition: it is in none.
  HOLDFAST_BOTH std::uint64_t number_of(const gphash::Slot* slot) const {
    for (unsigned i = 0; i < parts; ++i) {
      const std::uint64_t at = reinterpret_cast<std::uintptr_t>(slot) - reinterpret_cast<std::uintptr_t>(part[i].of);
      if (at < part[i].bytes && part[i].mapped) return part[i].first * bucket_slots + slot_at(at / 8);
    }
    return kNoPosition;
  }

 private:
  // The products are quotients as long as what is divided is below 2^64 / the divisor.
  HOLDFAST_BOTH std::uint64_t slot_at(std::uint64_t word) const {
    return key_words == 1 ? word / 2 : high_product(word, per_slot);
  }
  HOLDFAST_BOTH std::uint64_t bucket_at(std::uint64_t slot) const {
    return bucket_slots == 1 ? slot : high_product(slot, per_bucket);
  }
};

}  // namespace holdfast::gphash::cuda
