// distribution.cpp: the generators of distribution.hpp.
#include "frame/distribution.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "holdfast/error.hpp"

namespace holdfast::bench {

double zeta(std::uint64_t n, double theta) {
  constexpr std::uint64_t kExact = 100'000;
  const std::uint64_t head = std::min(n, kExact);
  double sum = 0;
  for (std::uint64_t i = head; i >= 1; --i) sum += std::pow(static_cast<double>(i), -theta);
  if (n == head) return sum;
  // Euler-Maclaurin for the tail head+1..n of f(x) = x^-theta; the next term is below 1e-15.
  const auto a = static_cast<double>(head), b = static_cast<double>(n);
  const auto f = [theta](double x) { return std::pow(x, -theta); };
  const double integral = theta == 1 ? std::log(b / a) : (b * f(b) - a * f(a)) / (1 - theta);
  return sum + integral + (f(b) - f(a)) / 2 + theta * (f(a) / a - f(b) / b) / 12;
}

Zipfian::Zipfian(std::uint64_t n, double theta) : n_(n), theta_(theta) {
  if (n == 0) throw InvalidArgument("a zipfian distribution needs at least one item; load the table first");
  if (theta < 0 || theta == 1) throw InvalidArgument("theta must be at least 0 and not 1");
  zeta_n_ = zeta(n, theta);
  alpha_ = 1 / (1 - theta);
  eta_ = n < 3 ? 1 : (1 - std::pow(2.0 / static_cast<double>(n), 1 - theta)) / (1 - zeta(2, theta) / zeta_n_);
}

Permutation::Permutation(std::uint64_t n)
    : n_(n), mask_(std::bit_ceil(std::max<std::uint64_t>(n, 2)) - 1), shift_((std::bit_width(mask_) + 1) / 2) {}

Popularity popularity_named(const std::string& name) {
  if (name == "uniform") return Popularity::uniform;
  if (name == "zipfian") return Popularity::zipfian;
  if (name == "latest") return Popularity::latest;
  if (name == "each") return Popularity::each;
  throw InvalidArgument("no distribution '" + name + "'; use uniform, zipfian, latest or each");
}

Distribution::Distribution(Popularity popularity, std::uint64_t n, double theta)
    : popularity_(popularity),
      n_(std::max<std::uint64_t>(n, 1)),
      zipfian_(popularity == Popularity::zipfian || popularity == Popularity::latest ? n_ : 1, theta),
      permutation_(n_) {}

std::uint64_t Distribution::draw(Random& random, std::uint64_t newest, std::uint64_t turn) const {
  switch (popularity_) {
    case Popularity::uniform: return random.below(n_);
    case Popularity::zipfian: return permutation_(zipfian_.draw(random));
    case Popularity::latest: return newest - 1 - zipfian_.draw(random);
    case Popularity::each: return permutation_(turn % n_);
  }
  return 0;
}

}  // namespace holdfast::bench
