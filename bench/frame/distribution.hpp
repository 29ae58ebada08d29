// distribution.hpp: which item an operation is about: uniform, zipfian, latest, or each item once. Kernels draw by the same ranks
// and permutations.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>

#include "core/both.hpp"
#include "frame/keys.hpp"

namespace holdfast::bench {

/// sum over i in 1..n of i^-theta, to about 12 digits.
double zeta(std::uint64_t n, double theta);

/// Ranks 0..n-1, rank r with probability proportional to (r+1)^-theta. Gray et al., "Quickly generating billion-record
/// synthetic databases" (SIGMOD 1994), as YCSB uses it: ranks 0 and 1 exact, the rest by a closed approximation.
class Zipfian {
 public:
  /// `theta` ≥ 0 and not 1.
  Zipfian(std::uint64_t n, double theta);
  std::uint64_t draw(Random& random) const { return rank(random.real()); }
  /// Of `u`, uniform in [0, 1).
  HOLDFAST_BOTH std::uint64_t rank(double u) const {
    const double scaled = u * zeta_n_;
    if (scaled < 1) return 0;
    if (scaled < 1 + std::pow(0.5, theta_)) return n_ < 2 ? 0 : 1;
    const auto found = static_cast<std::uint64_t>(static_cast<double>(n_) * std::pow(eta_ * u - eta_ + 1, alpha_));
    return found < n_ ? found : n_ - 1;
  }

 private:
  std::uint64_t n_;
  double theta_, zeta_n_, alpha_, eta_;
};

/// A permutation of [0, n): scatters popular items as YCSB's scrambled zipfian does, but without collisions, so that
/// each item's probability is known.
class Permutation {
 public:
  explicit Permutation(std::uint64_t n);
  HOLDFAST_BOTH std::uint64_t operator()(std::uint64_t x) const {
    // Walks the cycle of a permutation of the next power of two until it is back inside: under two steps on average.
    do {
      x = scramble(x);
    } while (x >= n_);
    return x;
  }

 private:
  HOLDFAST_BOTH std::uint64_t scramble(std::uint64_t x) const {
    constexpr std::uint64_t kOdds[] = {0xbf58'476d'1ce4'e5b9, 0x94d0'49bb'1331'11eb, 0x9e37'79b9'7f4a'7c15};
    for (const std::uint64_t odd : kOdds) {
      x = ((x + 1) * odd) & mask_;
      x ^= x >> shift_;
    }
    return x;
  }
  std::uint64_t n_, mask_;
  unsigned shift_;
};

enum class Popularity : std::uint8_t { uniform, zipfian, latest, each };

/// "uniform", "zipfian", "latest" or "each"; throws InvalidArgument.
Popularity popularity_named(const std::string& name);

/// Draws items of a table that holds items 0..n-1.
class Distribution {
 public:
  Distribution(Popularity popularity, std::uint64_t n, double theta);
  /// `newest`: how many items the caller knows to be there (latest); `turn`: which draw this is (each).
  std::uint64_t draw(Random& random, std::uint64_t newest, std::uint64_t turn) const;

 private:
  Popularity popularity_;
  std::uint64_t n_;
  Zipfian zipfian_;
  Permutation permutation_;
};

}  // namespace holdfast::bench
