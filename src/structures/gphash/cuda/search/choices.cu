// choices.cu: what searches go by on a GPU of which nothing is known, and keys to measure them with.
#include "structures/gphash/cuda/search/choices.hpp"

#include "core/bits.hpp"
#include "core/hash.hpp"
#include "gpu/launch.cuh"
#include "structures/gphash/cuda/kit.hpp"
#include "structures/gphash/cuda/state.hpp"

namespace holdfast::gphash::cuda {

namespace {

__global__ void __launch_bounds__(kThreads)
    sample_kernel(const __grid_constant__ CacheView cache, std::uint64_t slots, std::byte* keys, std::uint64_t n) {
  constexpr unsigned kTries = 16;  // then it stays with an empty slot
  const CachedSlots& part = cache.part[0];
  for (std::uint64_t i = first_of_thread(); i < n; i += all_threads()) {
    std::uint64_t slot = high_product(mix(i + 1), slots);
    for (unsigned tries = 0; tries < kTries && part.keys[slot] == 0; ++tries) slot = slot + 1 < slots ? slot + 1 : 0;
    const std::uint64_t* const from = cache.key_words == 1 ? part.keys + slot : part.wide + slot * cache.key_words;
    auto* const to = reinterpret_cast<std::uint64_t*>(keys) + i * cache.key_words;
    for (unsigned word = 0; word < cache.key_words; ++word) to[word] = from[word];
  }
}

}  // namespace

SearchChoices default_choices() {
  SearchChoices choices;
  (has_clusters() ? choices.cluster_rows : choices.unordered_rows) = kSmallSearch;
  return choices;
}

void sample_keys(const CacheView& cache, std::uint64_t slots, std::byte* keys, std::uint64_t n, cudaStream_t stream) {
  sample_kernel<<<blocks_for(sample_kernel, n), kThreads, 0, stream>>>(cache, slots, keys, n);
  check_launch("choosing keys to measure searches with");
}

}  // namespace holdfast::gphash::cuda
