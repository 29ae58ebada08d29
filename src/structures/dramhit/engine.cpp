// engine.cpp: chooses the best instructions that this CPU has.
#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "structures/dramhit/lane.hpp"

namespace holdfast::dramhit {

const Engine& engine_for(const Format& format) {
  if (format.wide()) return wide_engine();
#if !defined(HOLDFAST_SANITIZED)  // sanitizers know the accesses of the portable one
  const char* const asked = std::getenv("HOLDFAST_TILE");
  const std::string_view limit = asked ? asked : "avx512";
  __builtin_cpu_init();
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2");
  const bool avx512 = avx2 && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
  if (avx512 && limit == "avx512") return avx512_engine();
  if (avx2 && limit != "portable") return avx2_engine();
#endif
  return portable_engine();
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
