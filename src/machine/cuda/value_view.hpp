// value_view.hpp: the value cache as kernels see it: copies in GPU memory of the cells that hot keys' values lie in.
//
// A cell that a slot names does not change until no reader can see it (RULES.md 5), so its copy stays right as long as the
// cell lives. F says where the copy of a cell is, G of which cell a copy is (index/cache_map.hpp). Where the heap fits the
// budget, each cell's copy has the cell's own number (*resident*), and there are no maps.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/both.hpp"
#include "holdfast/cache.hpp"

namespace holdfast::machine::cuda {

/// Positions that are free, as a ring (state.hpp, CellRing): [head, tail) can be taken, [tail, limbo_end) rest. Within a
/// changing batch `head` moves by addition, and may overshoot; the loader, which runs beside batches, swaps and does not.
struct PositionState {
  alignas(128) std::uint64_t head;
  alignas(128) std::uint64_t limbo_end;
  alignas(128) std::uint64_t tail;
  std::uint64_t limbo_before[4];
  alignas(128) std::uint64_t hits;  ///< rows answered from the cache
  std::uint64_t reserve;            ///< positions that loads leave to changes of cached keys
  std::uint32_t starved;            ///< changes that found none since the last load
  std::uint32_t returned;           ///< positions that the last step of a load took in vain
  std::uint32_t now;                ///< loads so far, from 1: the time of LRU
  std::uint32_t from;               ///< cells of this score and above are hot
  std::uint32_t share;              ///< and of those that score one less, so many of 2^16
};

inline constexpr std::uint64_t kNoPosition = ~std::uint64_t{0};
inline constexpr unsigned kSampled = 4;  ///< one of so many rows is counted

/// Trivially copyable: it travels into kernels by value.
struct ValueView {
  std::byte* copies = nullptr;     ///< (positions, cell_bytes); null: no value is cached
  std::uint32_t* map = nullptr;    ///< F, a word a cell; null: the cell's number is its position
  std::uint64_t* cells = nullptr;  ///< G, a cell a position; kNoPosition: none
  std::uint32_t* heat = nullptr;   ///< a word a cell, what the policy goes by
  std::uint32_t* ring = nullptr;   ///< (positions,)
  std::uint32_t* returned = nullptr;
  std::uint64_t positions = 0;
  PositionState* state = nullptr;
  CachePolicy policy = CachePolicy::lfu;

  HOLDFAST_BOTH bool any() const { return copies != nullptr; }
  HOLDFAST_BOTH bool resident() const { return copies != nullptr && map == nullptr; }
};

}  // namespace holdfast::machine::cuda
