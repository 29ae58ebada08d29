// cache.hpp: copies of buckets and of hot values in the GPU memory of a table: how many, which, and when they are loaded. GPHash §3.3.
#pragma once

#include <cstdint>
#include <string_view>

namespace holdfast {

/// Which entries a load copies into the cache. Between loads the keys in it stay the same.
enum class CachePolicy : std::uint8_t {
  lfu,    ///< the most frequently searched; older searches count half at each load
  lru,    ///< the most recently searched, counted in loads
  random  ///< arbitrary; searches record nothing
};

const char* name(CachePolicy policy);
/// Returns the policy of that name. Throws InvalidArgument for an unknown name.
CachePolicy cache_policy_from(std::string_view name);

/// For budgets: half of the GPU memory that is free when the table opens.
inline constexpr std::uint64_t kHalfOfFree = ~std::uint64_t{0};

/// Copies in GPU memory, for searches; ignored if the backend is the CPU. Every change is written to the pool first, and then
/// to the copy. If not all entries have a copy, the selection changes only at loads: `Table::load_cache`, and automatic ones.
struct CacheOptions {
  double ratio = 0;  ///< of all values, 0 (none) to 1 (all of them, always: no loads); within `memory`
  std::uint64_t memory =
      kHalfOfFree;  ///< bytes of GPU memory for the copies and the maps of them (8 bytes a cell, 16 a copy)
  CachePolicy policy = CachePolicy::lfu;
  std::uint64_t load_every = 0;  ///< rows searched until a load begins automatically; 0: 64 per copy, at least 4 Mi
  double bucket_ratio = 1;       ///< of all buckets, 0 to 1, within `Gpu::memory`
};

}  // namespace holdfast
