// engine.cpp: chooses the best instructions that this CPU has.
#include <algorithm>
#include <vector>

#include "structures/dramhit/lane.hpp"
#include "threads/instruction_set.hpp"

namespace holdfast::dramhit {

// Intel: a core has 16 buffers for misses of its first-level cache, 48 for those of the second. AMD: only adjacent prefetches are
// translated in parallel.
unsigned lines_together(unsigned depth) {
  const unsigned half = (depth + 1) / 2;
  return __builtin_cpu_is("intel") ? std::min(half, 16u) : half;
}
unsigned again_before() { return __builtin_cpu_is("intel") ? 8 : kMostDepth; }

const Engine& engine_for(const Format& format) {
  if (format.wide()) return wide_engine();
#if defined(HOLDFAST_SANITIZED)  // sanitizers know the accesses of the portable one
  return portable_engine();
#else
  return threads::best_of(portable_engine, avx2_engine, avx512_engine)();
#endif
}

bool Engine::shares_hash(const View& view, std::uint64_t hash, const std::uint64_t* hashes, std::size_t size) const {
  constexpr std::size_t kMost = kMostDistance + 1;
  if (view.key_bytes == 8) return false;  // the hash of such a key is its own
  std::vector<std::byte> keys(kMost * view.key_bytes);
  std::vector<std::uint64_t> all(kMost);
  const std::size_t found = items_of(view, view.geometry.home(hash), hash, keys.data(), nullptr, all.data(), kMost);
  const auto there =
      static_cast<std::size_t>(std::count(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(found), hash));
  return there > static_cast<std::size_t>(std::count(hashes, hashes + size, hash));
}

}  // namespace holdfast::dramhit
