// random.hpp: a small seeded generator for tests. Of the tests' own, so that they share nothing with what they test.
#pragma once

#include <cstdint>

namespace holdfast::proof {

/// Mixes a word so that similar inputs give unrelated outputs.
constexpr std::uint64_t mix(std::uint64_t x) {
  x += 0x9e37'79b9'7f4a'7c15;
  x = (x ^ (x >> 30)) * 0xbf58'476d'1ce4'e5b9;
  x = (x ^ (x >> 27)) * 0x94d0'49bb'1331'11eb;
  return x ^ (x >> 31);
}

constexpr std::uint64_t mix(std::uint64_t a, std::uint64_t b) { return mix(mix(a) ^ (b * 0xd6e8'feb8'6659'fd93)); }

/// A stream of random words from a seed.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() { return mix(state_++ * 0x9e37'79b9'7f4a'7c15); }
  /// A number below `bound`, which is not 0.
  std::uint64_t below(std::uint64_t bound) { return next() % bound; }
  /// True `percent` times of a hundred.
  bool chance(unsigned percent) { return below(100) < percent; }

 private:
  std::uint64_t state_;
};

}  // namespace holdfast::proof
