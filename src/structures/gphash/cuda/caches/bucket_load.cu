// bucket_load.cu: loads of a bucket cache with maps (cache_maps.cu): copying the buckets that are hot, beside whatever runs.
#include "structures/gphash/cuda/caches/bucket_cache.hpp"
#include "structures/gphash/cuda/caches/cache_load.cuh"

namespace holdfast::gphash::cuda {

namespace {

/// Where word `at` of the bucket in a position lies: slot by slot, as in the pool.
__device__ std::uint64_t* word_of_copy(const CacheView& cache, std::uint64_t position, unsigned at) {
  const CachedSlots& copies = cache.part[0];
  const unsigned slot_words = cache.slot_words(), in_slot = at % slot_words;
  const std::uint64_t slot = position * cache.bucket_slots + at / slot_words;
  if (in_slot == 0) return copies.keys + slot;
  return in_slot == 1 ? copies.words + slot : copies.wide + slot * cache.key_words + (in_slot - 2);
}

__device__ const std::uint64_t* words_of_bucket(const CacheView& cache, std::uint64_t bucket, unsigned words) {
  unsigned rank = 0;
  while (rank + 1 < cache.parts && cache.part[rank + 1].mapped && cache.part[rank + 1].first <= bucket) ++rank;
  const CachedSlots& part = cache.part[rank];
  return reinterpret_cast<const std::uint64_t*>(part.of) + (bucket - part.first) * words;
}

/// Copies the bucket of each lane that has a position, several at a time. All lanes of the warp call. What writers released is
/// handed on: their words are read before the fence, and the copies shown after it.
__device__ void copy_buckets(const WarpTile& tile, const CudaMemory& memory, const CacheView& cache,
                             std::uint64_t bucket, std::uint64_t position) {
  constexpr unsigned kGroup = 4;
  const unsigned words = cache.bucket_slots * cache.slot_words();
  const auto from =
      reinterpret_cast<std::uint64_t>(position != kNoPosition ? words_of_bucket(cache, bucket, words) : nullptr);
  unsigned left = tile.ballot(position != kNoPosition);
  while (left != 0) {
    const std::uint64_t* source[kGroup];
    std::uint64_t target[kGroup];
    for (unsigned i = 0; i < kGroup; ++i) {
      const unsigned lane = left != 0 ? lowest_bit(left) : 0;
      source[i] = reinterpret_cast<const std::uint64_t*>(tile.from_lane(from, lane));
      target[i] = tile.from_lane(position, lane);
      if (left == 0) source[i] = nullptr;
      left &= left - 1;
    }
    for (unsigned at = tile.lane(); at < words; at += kWarp) {
      std::uint64_t values[kGroup];
      for (unsigned i = 0; i < kGroup; ++i) values[i] = source[i] != nullptr ? memory.load_value(source[i] + at) : 0;
      for (unsigned i = 0; i < kGroup; ++i) {
        if (source[i] != nullptr) memory.store_value(word_of_copy(cache, target[i], at), values[i]);
      }
    }
  }
  memory.fence();
  __syncwarp();
}

/// The buckets [first, last): the hot ones that have no copy get one.
__global__ void __launch_bounds__(kThreads)
    fill_buckets_kernel(const __grid_constant__ CacheView cache, std::uint64_t first, std::uint64_t last) {
  const WarpTile tile;
  const CudaMemory memory(nullptr, nullptr);
  const MapView& maps = cache.buckets;
  for (std::uint64_t base = first + first_of_warp() * kWarp; base < last; base += all_warps() * kWarp) {
    const std::uint64_t bucket = base + tile.lane();
    const bool wants = bucket < last && wants_copy(memory, maps, bucket);
    if (tile.ballot(wants) == 0) continue;
    const std::uint64_t position = begin_copy(tile, memory, maps, bucket, wants);
    __syncwarp();  // all have said so before any looks
    copy_buckets(tile, memory, cache, bucket, position);
    if (position != kNoPosition) end_copy(memory, maps, bucket, position);
  }
}

}  // namespace

void BucketCache::step(ChangeOrder& order, DeviceState* state, bool paced) {
  if (!maps_.is_loading()) return;
  const CacheMaps::Range buckets = maps_.begin_step(order, state, paced);
  fill_buckets_kernel<<<kLoadBlocks, kThreads, 0, maps_.stream()>>>(view_, buckets.first, buckets.last);
  maps_.end_step(buckets);
}

}  // namespace holdfast::gphash::cuda
