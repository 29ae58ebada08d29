// plant.hpp: a slowdown that is planted, to see that scripts/against-baseline finds it. The library knows nothing of it.
#pragma once

#include <cstdlib>

#include "frame/timing.hpp"

namespace holdfast::bench {

/// How much longer what is timed takes: HOLDFAST_BENCH_PLANT, in percent; 0 if it is not set.
inline double planted_percent() {
  static const double percent = [] {
    const char* given = std::getenv("HOLDFAST_BENCH_PLANT");
    return given == nullptr ? 0.0 : std::strtod(given, nullptr);
  }();
  return percent;
}

/// Keeps the thread busy for that part of the time since `start`. Call it where the clock still runs.
inline void plant_delay(Clock::time_point start) {
  if (planted_percent() <= 0) return;
  const auto now = Clock::now();
  const std::chrono::duration<double> taken = now - start;
  while (Clock::now() - now < taken * (planted_percent() / 100)) {
  }
}

}  // namespace holdfast::bench
