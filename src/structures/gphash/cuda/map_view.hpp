// map_view.hpp: the maps of a cache as kernels see them: which parts of the pool have a copy in GPU memory, and where. GPHash §3.3.
//
// A part is a cell of the heap (value_view.hpp) or a bucket (cache_view.hpp). F says where the copy of a part is, G of which part a
// copy is; gphash/protocol/cache_map.hpp is how their loader, writers and readers agree.
#pragma once

#include <cstdint>

#include "heap/cuda/ring_view.hpp"
#include "holdfast/cache.hpp"
#include "structures/gphash/cuda/directory_view.hpp"

namespace holdfast::gphash::cuda {

/// Positions that are free, as a ring. Within a changing batch `head` moves by addition, and may overshoot; the loader, which runs
/// at the same time as batches, swaps and does not.
struct PositionState : heap::cuda::RingState {
  alignas(128) std::uint64_t hits;  ///< rows answered from the cache, but for these:
  std::uint64_t directory_hits;     ///< rows answered by the key directory
  std::uint64_t reserve;            ///< positions that loads leave to changes of cached keys
  std::uint32_t starved;            ///< changes that found none since the last load
  std::uint32_t returned;           ///< positions that the last step of a load took in vain
  std::uint32_t now;                ///< loads so far, from 1: the time of LRU
  std::uint32_t from;               ///< parts of this score and above are hot
  std::uint32_t share;              ///< and of those that score one less, so many of 2^16
};

inline constexpr std::uint64_t kNoPosition = ~std::uint64_t{0};
inline constexpr std::uint64_t kMostPositions = 0x7fff'fffe;  ///< that F has numbers for
inline constexpr unsigned kSampled = 4;                       ///< one of so many rows is counted

/// Trivially copyable: it travels into kernels by value.
struct MapView {
  std::uint32_t* map = nullptr;     ///< F, a word a part; null: there are no maps
  std::uint64_t* owners = nullptr;  ///< G, a part a position; kNoPosition: none
  std::uint32_t* heat = nullptr;    ///< a word a part, what the policy goes by
  std::uint32_t* ring = nullptr;    ///< (positions,)
  std::uint32_t* returned = nullptr;
  std::uint64_t positions = 0;
  PositionState* state = nullptr;
  CachePolicy policy = CachePolicy::lfu;
  DirectoryView directory;
};

}  // namespace holdfast::gphash::cuda
