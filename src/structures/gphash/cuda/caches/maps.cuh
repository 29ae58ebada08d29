// maps.cuh: what kernels do with the maps of a cache (map_view.hpp): look a part up, count its use, retire a position.
#pragma once

#include <cstdint>

#include "core/both.hpp"
#include "gpu/launch.cuh"
#include "structures/gphash/cuda/directory/records.cuh"
#include "structures/gphash/cuda/kit.hpp"
#include "structures/gphash/cuda/map_view.hpp"
#include "structures/gphash/cuda/memory.cuh"
#include "structures/gphash/protocol/cache_map.hpp"

namespace holdfast::gphash::cuda {

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

/// For the thread that fills a position, before a map names it: of which part it has a copy.
__device__ inline void own(const CudaMemory& memory, const MapView& maps, std::uint64_t position, std::uint64_t part) {
  HOLDFAST_ASSERT(position < maps.positions);
  maps.owners[position] = part;
  begin_record(memory, maps.directory, position);
}

/// A position that a map no longer names is retired until no reader can be at it. Called within a changing batch.
__device__ inline void retire(const MapView& maps, std::uint32_t position) {
  HOLDFAST_ASSERT(position < maps.positions);
  end_record(maps.directory, position);
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

/// Adds what the threads of a block have counted, each for itself. All of them call, once for each word.
__device__ inline void add_of_block(std::uint64_t& word, unsigned mine) {
  __shared__ std::uint32_t each[32];
  mine = __reduce_add_sync(kAllLanes, mine);
  __syncthreads();  // no thread reads what was added up before
  if (threadIdx.x % kWarp == 0) each[threadIdx.x / kWarp] = mine;
  __syncthreads();
  if (threadIdx.x != 0) return;
  std::uint64_t all = 0;
  for (unsigned warp = 0; warp < blockDim.x / kWarp; ++warp) all += each[warp];
  if (all != 0) atomicAdd(reinterpret_cast<unsigned long long*>(&word), static_cast<unsigned long long>(all));
}

/// What a thread counts of the copies of buckets that it found items in.
class BucketHits {
 public:
  __device__ explicit BucketHits(const MapView& buckets) : buckets_(buckets) {}

  /// An item was found in a slot; the policy hears of it.
  __device__ void note(const CopyMemory& memory, const gphash::Slot* slot, std::uint64_t row) {
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

}  // namespace holdfast::gphash::cuda
