// choices.hpp: how searches of resident buckets go by the size of their batch, as measured when a pool is opened.
#pragma once

#include <cstdint>

#include "gpu/runtime.hpp"
#include "structures/gphash/cuda/cache_view.hpp"
#include "structures/gphash/cuda/kit.hpp"
#include "structures/gphash/cuda/paths.hpp"

namespace holdfast::gphash::cuda {

struct SearchChoices {
  std::uint64_t unordered_rows = 0;  ///< a search of so many rows, at most, goes in one kernel and in no order
  std::uint64_t cluster_rows = 0;    ///< a larger one of so many, at most, is ordered by one cluster of blocks
  unsigned gather_share =
      kGatherShare;  ///< of the multiprocessors, the part that gathers a larger search: 1 of so many
  double ms = 0;     ///< that measuring took; 0: nothing was measured

  /// The share for a search of so many rows. What is best for many is not for few: 0.75 of the rate was measured.
  unsigned share_of(std::uint64_t rows) const { return rows > kSmallSearch ? gather_share : kGatherShare; }
};

/// Of a GPU on which nothing was measured.
SearchChoices default_choices();

/// Fills `keys`, (n, key_bytes), with keys of the topmost level, and some that are absent. `slots`: how many it has.
void sample_keys(const CacheView& cache, std::uint64_t slots, std::byte* keys, std::uint64_t n, cudaStream_t stream);

}  // namespace holdfast::gphash::cuda
