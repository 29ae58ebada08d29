// cache_load.cuh: what the loads of all caches share inside their kernels: which parts are hot, and positions for them.
#pragma once

#include <cstdint>

#include "core/both.hpp"
#include "core/hash.hpp"
#include "structures/gphash/cuda/caches/maps.cuh"

namespace holdfast::gphash::cuda {

inline constexpr unsigned kScores = 1024;    ///< that a policy distinguishes
inline constexpr unsigned kLoadBlocks = 8;   ///< 2,048 values in flight
inline constexpr unsigned kSideBlocks = 64;  ///< of what a load does in GPU memory

__device__ inline std::uint32_t score_of(const MapView& maps, std::uint64_t part) {
  const std::uint32_t heat = maps.heat[part];
  if (heat == 0) return 0;
  if (maps.policy == CachePolicy::lfu) return min(heat, kScores - 1);
  if (maps.policy == CachePolicy::lru) return kScores - 1 - min(maps.state->now - heat, kScores - 2);
  return 1 + static_cast<std::uint32_t>(hash_key(part, 1) % (kScores - 1));
}

/// Of parts that score one less than what is hot, a share: the same ones at each load, but for those that no search asked for, which
/// are evicted by chance: those that were spared before would be spared for ever.
__device__ inline bool is_hot(const MapView& maps, std::uint64_t part, std::uint32_t score) {
  HOLDFAST_ASSERT(score < kScores);
  const PositionState& state = *maps.state;
  if (score >= state.from) return true;
  return score + 1 == state.from && (hash_key(part, score == 0 ? 2 + state.now : 2) & 0xffff) < state.share;
}

/// True if a part is hot and has no copy. What was counted is halved.
__device__ inline bool wants_copy(const CudaMemory& memory, const MapView& maps, std::uint64_t part) {
  const std::uint32_t score = score_of(maps, part);
  const bool wants =
      score != 0 && is_hot(maps, part, score) && gphash::mapped(memory, maps.map + part).word == gphash::kNotCached;
  if (maps.policy == CachePolicy::lfu && score != 0) maps.heat[part] /= 2;
  return wants;
}

/// Positions for the lanes that want one, as far as there are. All lanes of the warp call.
__device__ inline std::uint64_t take_to_load(const WarpTile& tile, const MapView& maps, bool wants) {
  const unsigned wanting = tile.ballot(wants);
  std::uint64_t at = 0, size = 0;
  if (tile.lane() == 0) {
    DeviceWord head(maps.state->head);
    std::uint64_t seen = head.load(::cuda::memory_order_relaxed);
    // ends: the swap fails only if another warp has taken positions
    for (;;) {
      const std::uint64_t tail = DeviceWord(maps.state->tail).load(::cuda::memory_order_acquire);
      const std::uint64_t taken = seen + maps.state->reserve;
      size = taken < tail ? min(static_cast<std::uint64_t>(count_bits(wanting)), tail - taken) : 0;
      at = seen;
      if (size == 0 || head.compare_exchange_weak(seen, seen + size, ::cuda::memory_order_relaxed)) break;
    }
  }
  at = tile.from_lane(at, 0);
  size = tile.from_lane(size, 0);
  const unsigned place = count_bits(wanting & lanes(tile.lane()));
  if (!wants || place >= size) return kNoPosition;
  const std::uint32_t position = maps.ring[(at + place) % maps.positions];
  HOLDFAST_ASSERT(position < maps.positions);
  return position;
}

/// A position that was taken in vain: the next step puts it to rest.
__device__ inline void give_position_back(const MapView& maps, std::uint32_t position) {
  HOLDFAST_ASSERT(position < maps.positions);
  maps.returned[atomicAdd(&maps.state->returned, 1u)] = position;
}

/// Takes a position for each lane that wants one and wins its part; kNoPosition for the others. All lanes of the warp call.
__device__ inline std::uint64_t begin_copy(const WarpTile& tile, const CudaMemory& memory, const MapView& maps,
                                           std::uint64_t part, bool wants) {
  const std::uint64_t position = take_to_load(tile, maps, wants);
  const auto number = static_cast<std::uint32_t>(position);
  if (position == kNoPosition || gphash::begin_load(memory, maps.map + part, number)) return position;
  give_position_back(maps, number);
  return kNoPosition;
}
/// The copy is complete: it is shown, unless a change has written there.
__device__ inline void end_copy(const CudaMemory& memory, const MapView& maps, std::uint64_t part,
                                std::uint64_t position) {
  const auto number = static_cast<std::uint32_t>(position);
  own(memory, maps, position, part);
  if (!gphash::end_load(memory, maps.map + part, number)) give_position_back(maps, number);
}

}  // namespace holdfast::gphash::cuda
