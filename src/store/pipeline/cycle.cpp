// cycle.cpp: how long a cycle must be (Mega-KV §5.2).
#include <algorithm>
#include <limits>
#include <string>

#include "core/clock.hpp"
#include "core/random.hpp"
#include "holdfast/error.hpp"
#include "store/pipeline/executor.hpp"

namespace holdfast::store::pipeline {

namespace {

constexpr double kLeastCycle = 20, kMostCycle = 1e6;
constexpr std::size_t kSmall = 128, kLarge = 8192;
constexpr int kTimes = 5;

/// `run(rows)` executes a batch.
template <class Run>
BatchTime time_of(const Run& run) {
  const auto best = [&](std::size_t rows) {
    double least = std::numeric_limits<double>::max();
    for (int i = 0; i < kTimes; ++i) {
      const auto start = Clock::now();
      run(rows);
      least = std::min(least, 1000 * ms_since(start));
    }
    return least;
  };
  const double small = best(kSmall), large = best(kLarge);
  BatchTime time;
  time.k = std::max(0.0, (large - small) / static_cast<double>(kLarge - kSmall));
  time.b = std::max(0.0, small - time.k * kSmall);
  return time;
}

}  // namespace

double least_cycle_us(const BatchTime& search, const BatchTime& change, double rate, double reads) {
  const double per_us = rate / 1e6;
  const double left = rate == 0 ? 1 : 2 - 2 * search.k * reads * per_us - 2 * change.k * (1 - reads) * per_us;
  if (left > 0) return (2 * search.b + change.b) / left;
  throw InvalidArgument("the index cannot answer " + std::to_string(rate) +
                        " requests a second in cycles of any length: give a lower rate, or more callers");
}

double measured_cycle_us(Shared& shared, double rate, double reads) {
  std::vector<cuckoo::Hash> hashes(kLarge);
  for (std::size_t i = 0; i < kLarge; ++i) hashes[i] = mix(i);
  std::vector<cuckoo::Location> locations(kLarge), none(kLarge, cuckoo::kNone);
  const BatchTime search = shared.store.search([&](cpu::Engine& engine) {
    return time_of([&](std::size_t rows) {
      engine.index().search(std::span(hashes).first(rows), std::span(locations).first(rows));
    });
  });
  const auto index = shared.store.search([](cpu::Engine& engine) { return engine.index().another(4 * kLarge); });
  std::vector<cuckoo::Outcome> outcomes(kLarge);
  for (std::size_t i = 0; i < kLarge; ++i) locations[i] = static_cast<cuckoo::Location>(i);
  const BatchTime change = time_of([&](std::size_t rows) {
    const auto some = std::span<const cuckoo::Hash>(hashes).first(rows);
    const auto its = std::span<const cuckoo::Location>(locations).first(rows);
    const auto ends = std::span(outcomes).first(rows);
    index->exchange(some, std::span<const cuckoo::Location>(none).first(rows), its, ends);
    index->erase(some, its, ends);
  });
  return std::clamp(least_cycle_us(search, change, rate, reads), kLeastCycle, kMostCycle);
}

}  // namespace holdfast::store::pipeline
