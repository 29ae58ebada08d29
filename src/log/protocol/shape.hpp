// shape.hpp: where the entries of a log lie. GPM §5.2, figures 4 and 5. docs/format.md, "Log".
//
// A hierarchical coalesced log has a place for each thread of a launch. The 4-byte words of an entry are interleaved: word k of the
// entries of a warp's 32 threads lie side by side, in 128 bytes, which the GPU writes at once.
//
//   warp w, entry e:   | word 0 of lanes 0 … 31 | word 1 of lanes 0 … 31 | …
//
// A conventional log has a place for each partition, and there the words of an entry follow each other.
#pragma once

#include <cstdint>

#include "core/both.hpp"

namespace holdfast::log {

inline constexpr std::uint32_t kLanes = 32;
inline constexpr std::uint32_t kMostEntryBytes = 4096;
inline constexpr std::uint32_t kMostEntries = (1u << 24) - 2;  ///< of a place
inline constexpr std::uint32_t kMostThreads = 1024;            ///< of a block

enum class LogKind : std::uint32_t { hierarchical = 0, conventional = 1 };

struct LogShape {
  LogKind kind = LogKind::hierarchical;
  std::uint32_t entry_words = 1;  ///< of 4 bytes, at most
  std::uint32_t capacity = 1;     ///< entries of a place
  std::uint32_t blocks = 1;       ///< of the launch; conventional: partitions
  std::uint32_t threads = 1;      ///< of a block; conventional: 1

  HOLDFAST_BOTH std::uint32_t warps() const { return (threads + kLanes - 1) / kLanes; }
  HOLDFAST_BOTH std::uint64_t places() const {
    return kind == LogKind::conventional ? blocks : std::uint64_t{blocks} * warps() * kLanes;
  }
  HOLDFAST_BOTH std::uint64_t words() const { return places() * capacity * entry_words; }

  /// Of a thread of a launch, which may be smaller than the log's; none() if there is no place for it.
  HOLDFAST_BOTH static constexpr std::uint64_t none() { return ~std::uint64_t{0}; }
  HOLDFAST_BOTH std::uint64_t place(std::uint64_t block, std::uint32_t thread, std::uint32_t block_threads) const {
    if (kind == LogKind::conventional) return (block * block_threads + thread) % blocks;
    return block < blocks && thread < threads ? block * warps() * kLanes + thread : none();
  }

  /// The first word of an entry, and how far it is from one word to the next.
  HOLDFAST_BOTH std::uint64_t first(std::uint64_t place, std::uint32_t entry) const {
    HOLDFAST_ASSERT(place < places() && entry < capacity);
    if (kind == LogKind::conventional) return (place * capacity + entry) * entry_words;
    return ((place / kLanes) * capacity + entry) * entry_words * kLanes + place % kLanes;
  }
  HOLDFAST_BOTH std::uint32_t stride() const { return kind == LogKind::conventional ? 1 : kLanes; }
};

/// A tail is the number of entries and, above it, eight bits by which a damaged one shows.
HOLDFAST_BOTH inline std::uint32_t tail_of(std::uint32_t entries) {
  return entries | ((entries ^ entries >> 8 ^ entries >> 16) & 0xff) << 24;
}
HOLDFAST_BOTH inline std::uint32_t entries_in(std::uint32_t tail) { return tail & 0xff'ffff; }
HOLDFAST_BOTH inline bool is_tail(std::uint32_t tail, const LogShape& shape) {
  return tail == tail_of(entries_in(tail)) && entries_in(tail) <= shape.capacity;
}

}  // namespace holdfast::log
