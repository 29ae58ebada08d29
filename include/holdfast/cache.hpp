// cache.hpp: copies of buckets and of hot values in the GPU memory of a table: how many, which, and when they are loaded. GPHash §3.3.
#pragma once

#include <cstdint>
#include <string_view>

namespace holdfast {

/// What a load takes into the cache. Between loads the keys in it stay the same.
enum class CachePolicy : std::uint8_t {
  lfu,    ///< what was searched for most often; older searches count half at each load
  lru,    ///< what was searched for last, counted in loads
  random  ///< anything; searches record nothing
};

const char* name(CachePolicy policy);
/// Throws InvalidArgument for a name that no policy has.
CachePolicy cache_policy_from(std::string_view name);

/// For budgets: half of the GPU memory that is free when the table opens.
inline constexpr std::uint64_t kHalfOfFree = ~std::uint64_t{0};

/// Copies in GPU memory, for searches; ignored where the CPU works on the table. Every change is written to the pool first, and then
/// to the copy. Where not all has a copy, what has one changes at loads alone: `Table::load_cache`, and by itself.
struct CacheOptions {
  double ratio = 0;  ///< of all values, 0 (none) to 1 (all of them, always: no loads); within `memory`
  std::uint64_t memory =
      kHalfOfFree;  ///< bytes of GPU memory for the copies and the maps of them (8 bytes a cell, 16 a copy)
  CachePolicy policy = CachePolicy::lfu;
  std::uint64_t load_every = 0;  ///< rows searched after which a load begins by itself; 0: 64 a copy, at least 4 Mi
  double bucket_ratio = 1;       ///< of all buckets, 0 to 1, within `Gpu::memory`
};

}  // namespace holdfast
