// delay.cpp: calibrates the emulated delay.
#include "structures/delay.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "frame/timing.hpp"

namespace holdfast::bench::structures {

namespace {

constexpr unsigned kWaits = 100, kBatches = 200;

/// The mean wait of the quickest of some short batches: others may have lost the processor.
double wait_ns(std::uint64_t ticks) {
  double least = std::numeric_limits<double>::max();
  for (unsigned batch = 0; batch < kBatches; ++batch) {
    const auto start = Clock::now();
    for (unsigned i = 0; i < kWaits; ++i) Delay::wait(ticks);
    least = std::min(least, seconds_since(start) * 1e9 / kWaits);
  }
  return least;
}

}  // namespace

const Delay& Delay::calibrated() {
  static const Delay delay;
  return delay;
}

Delay::Delay() {
  const auto start = Clock::now();
  const std::uint64_t begin = __rdtsc();
  while (seconds_since(start) < 0.01) {
  }
  ticks_per_ns_ = static_cast<double>(__rdtsc() - begin) / (seconds_since(start) * 1e9);
  overhead_ns_ = std::max(0.0, wait_ns(static_cast<std::uint64_t>(300 * ticks_per_ns_)) - 300);
}

std::uint64_t Delay::ticks(double ns) const {
  if (ns <= 0) return 0;
  return static_cast<std::uint64_t>(std::lround(std::max(1.0, (ns - overhead_ns_) * ticks_per_ns_)));
}

double Delay::measured(double ns) const { return wait_ns(ticks(ns)); }

}  // namespace holdfast::bench::structures
