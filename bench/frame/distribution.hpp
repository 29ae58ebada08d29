// distribution.hpp: which item an operation is about: uniform, zipfian, latest, or each item once.
#pragma once

#include <cstdint>
#include <string>

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
  std::uint64_t draw(Random& random) const;
  double zeta_n() const { return zeta_n_; }

 private:
  std::uint64_t n_;
  double theta_, zeta_n_, alpha_, eta_;
};

/// A permutation of [0, n): scatters popular items as YCSB's scrambled zipfian does, but without collisions, so that
/// each item's probability is known.
class Permutation {
 public:
  explicit Permutation(std::uint64_t n);
  std::uint64_t operator()(std::uint64_t x) const;

 private:
  std::uint64_t scramble(std::uint64_t x) const;
  std::uint64_t n_, mask_;
  unsigned shift_;
};

enum class Shape : std::uint8_t { uniform, zipfian, latest, each };

/// "uniform", "zipfian", "latest" or "each"; throws InvalidArgument.
Shape shape_named(const std::string& name);

/// Draws items of a table that holds items 0..n-1.
class Distribution {
 public:
  Distribution(Shape shape, std::uint64_t n, double theta);
  /// `newest`: how many items the caller knows to be there (latest); `turn`: which draw this is (each).
  std::uint64_t draw(Random& random, std::uint64_t newest, std::uint64_t turn) const;

 private:
  Shape shape_;
  std::uint64_t n_;
  Zipfian zipfian_;
  Permutation permutation_;
};

}  // namespace holdfast::bench
