// maps.cuh: what kernels do with the maps of a cache (map_view.hpp): look a part up, count its use, let a position rest.
#pragma once

#include <cstdint>

#include "gphash/cuda/caches/map_view.hpp"
#include "gphash/cuda/kit.hpp"
#include "gphash/cuda/memory.cuh"
#include "gphash/protocol/cache_map.hpp"
#include "gphash/protocol/key_directory.hpp"
#include "gpu/launch.cuh"

namespace holdfast::machine::cuda {

/// A number for each thread that calls together, from a counter that all share: one addition for all of them.
__device__ inline std::uint64_t ticket(std::uint64_t& counter) {
  const unsigned callers = __activemask();
  const unsigned lane = threadIdx.x % kWarp, first = lowest_bit(callers);
  unsigned long long base = 0;
  if (lane == first)
    base = atomicAdd(reinterpret_cast<unsigned long long*>(&counter), static_cast<unsigned long long>(__popc(callers)));
  base = __shfl_sync(callers, base, static_cast<int>(first));
  return base + count_bits(callers & lanes(lane));
}

/// The word that says what is known of the key whose value is at a position.
__device__ inline std::uint64_t* known_of(const MapView& maps, std::uint64_t position) {
  return maps.known + position * maps.known_words;
}
/// For whoever fills a position, before a map names it.
__device__ inline void begin_known(const CudaMemory& memory, const MapView& maps, std::uint64_t position) {
  if (maps.known != nullptr) memory.poke(known_of(maps, position), std::uint64_t{index::kBlank});
}

/// A position that a map no longer names rests until no reader can be at it. Called within a changing batch.
__device__ inline void rest(const MapView& maps, std::uint32_t position) {
  if (maps.known != nullptr) DeviceWord(*known_of(maps, position)).store(index::kGone, ::cuda::memory_order_release);
  const std::uint64_t at = ticket(maps.state->retired_end);
  maps.ring[at % maps.positions] = position;
}

/// True for the rows of which a policy hears.
__device__ inline bool is_sampled(const MapView& maps, std::uint64_t row) {
  if (maps.heat == nullptr || maps.policy == CachePolicy::random) return false;
  return (static_cast<std::uint64_t>(clock64()) / 64 + row) % kSampled == 0;
}
/// Counts that a part was wanted.
__device__ inline void warm(const MapView& maps, std::uint64_t part) {
  if (maps.policy == CachePolicy::lfu) {
    atomicAdd(maps.heat + part, 1u);
  } else {
    const std::uint32_t now = maps.state->now;
    if (maps.heat[part] != now) maps.heat[part] = now;
  }
}

/// What a thread counts of the copies of buckets that it found items in.
class BucketHits {
 public:
  __device__ explicit BucketHits(const MapView& buckets) : buckets_(buckets) {}

  /// An item was found in a slot; the policy hears of it.
  __device__ void note(const CopyMemory& memory, const index::Slot* slot, std::uint64_t row) {
    if (buckets_.map == nullptr) return;
    hits_ += memory.found_copy();
    if (!is_sampled(buckets_, row)) return;
    const std::uint64_t bucket = memory.cache()->bucket_of(slot);
    if (bucket != kNoPosition) warm(buckets_, bucket);
  }
  /// The same of a row that another answers for, which has looked into this bucket.
  __device__ void note_again(std::uint64_t bucket, std::uint64_t row) {
    if (buckets_.map != nullptr && is_sampled(buckets_, row)) warm(buckets_, bucket);
  }
  /// Adds a warp's hits to the cache's. All lanes call, once.
  __device__ void flush_counts() const {
    if (buckets_.map == nullptr) return;
    const unsigned long long hits = __reduce_add_sync(kAllLanes, hits_);
    if (threadIdx.x % kWarp == 0 && hits != 0)
      atomicAdd(reinterpret_cast<unsigned long long*>(&buckets_.state->hits), hits);
  }

 private:
  const MapView& buckets_;
  unsigned hits_ = 0;
};

}  // namespace holdfast::machine::cuda
