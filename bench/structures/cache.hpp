// cache.hpp: a simulated last-level cache: which accesses would miss. Set-associative, least recently used line out, no prefetcher, and
// nothing above it that hides accesses. Counts of it are labelled as simulated.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace holdfast::bench::structures {

class SimulatedCache {
 public:
  static constexpr std::size_t kLineBytes = 64;

  /// By default the paper's processor: 15 MB, 20 ways.
  explicit SimulatedCache(std::size_t bytes = std::size_t{15} << 20, unsigned ways = 20)
      : ways_(ways), sets_(bytes / kLineBytes / ways), lines_(sets_ * ways, kNone) {}

  /// Looks a line up and makes it the most recently used of its set. Returns whether it was missing.
  bool access(const void* address) {
    const std::uint64_t line = line_of(address);
    std::uint64_t* const set = set_of(line);
    std::uint64_t* const found = std::find(set, set + ways_, line);
    const bool misses = found == set + ways_;
    std::copy_backward(set, misses ? found - 1 : found, misses ? found : found + 1);
    set[0] = line;
    return misses;
  }
  /// Drops a line, as `clflush` does.
  void flush(const void* address) {
    const std::uint64_t line = line_of(address);
    std::uint64_t* const set = set_of(line);
    std::uint64_t* const found = std::find(set, set + ways_, line);
    if (found == set + ways_) return;
    std::copy(found + 1, set + ways_, found);
    set[ways_ - 1] = kNone;
  }

 private:
  static constexpr std::uint64_t kNone = ~std::uint64_t{0};
  static std::uint64_t line_of(const void* address) { return reinterpret_cast<std::uintptr_t>(address) / kLineBytes; }
  std::uint64_t* set_of(std::uint64_t line) { return lines_.data() + line % sets_ * ways_; }

  const unsigned ways_;
  const std::uint64_t sets_;
  std::vector<std::uint64_t> lines_;  ///< by set, most recently used first
};

}  // namespace holdfast::bench::structures
