// frame.cpp: rounds of all threads, timed from their common beginning.
#include "dramhit/frame.hpp"

#include <x86intrin.h>

#include <algorithm>
#include <barrier>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <thread>

#include "dramhit/counters.hpp"

namespace holdfast::bench::dramhit {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

double rounded(double value) {
  if (value == 0 || !std::isfinite(value)) return value;
  const double scale = std::pow(10.0, 5 - std::floor(std::log10(std::fabs(value))));
  return std::round(value * scale) / scale;
}

}  // namespace

std::uint64_t ticks() { return __rdtsc(); }

void progress(const std::string& what) {
  static const Clock::time_point start = Clock::now();
  std::fprintf(stderr, "   %5.0f s  %s\n", seconds_since(start), what.c_str());
}

Measured measure(const std::vector<std::unique_ptr<Worker>>& workers, std::uint64_t operations, std::size_t rows) {
  const std::uint64_t threads = workers.size();
  const std::uint64_t rounds = std::max<std::uint64_t>(1, operations / (threads * rows));
  std::barrier ready(static_cast<std::ptrdiff_t>(threads));
  std::vector<double> seconds(threads, 0.0);
  std::vector<std::uint64_t> wrong(threads, 0), cycles(threads, 0);
  std::vector<std::map<std::string, double>> counted(threads);
  const auto body = [&](std::uint64_t t) {
    Counters counters;
    for (std::uint64_t round = 0; round < rounds; ++round) {
      workers[t]->prepare(round, rows);
      ready.arrive_and_wait();
      const auto start = Clock::now();
      const std::uint64_t from = ticks();
      counters.start();
      workers[t]->run();
      counters.stop();
      cycles[t] += ticks() - from;
      seconds[t] += seconds_since(start);
      wrong[t] += workers[t]->check();
    }
    counted[t] = counters.counted();
  };
  std::vector<std::thread> others;
  for (std::uint64_t t = 1; t < threads; ++t) others.emplace_back(body, t);
  body(0);
  for (std::thread& other : others) other.join();
  Measured measured;
  const double longest = *std::max_element(seconds.begin(), seconds.end());
  measured.mops = static_cast<double>(rounds * rows * threads) / longest / 1e6;
  for (std::uint64_t t = 0; t < threads; ++t) {
    measured.wrong += wrong[t];
    for (const auto& [name, count] : counted[t]) {
      measured.counted[name] += count / static_cast<double>(rounds * rows * threads);
    }
    measured.cycles += static_cast<double>(cycles[t]) / static_cast<double>(rounds * rows * threads);
  }
  return measured;
}

double together(unsigned threads, const std::function<void(unsigned)>& work) {
  Clock::time_point start;
  std::barrier ready(threads, [&]() noexcept { start = Clock::now(); });
  std::vector<std::thread> others;
  const auto body = [&](unsigned t) {
    ready.arrive_and_wait();
    work(t);
  };
  for (unsigned t = 1; t < threads; ++t) others.emplace_back(body, t);
  body(0);
  for (std::thread& other : others) other.join();
  return seconds_since(start);
}

Json spread(std::vector<double> values) {
  for (double& value : values) value = rounded(value);
  std::vector<double> sorted = values;
  std::sort(sorted.begin(), sorted.end());
  const std::size_t n = sorted.size();
  Json json;
  json["median"] = rounded(n % 2 == 1 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2);
  json["low"] = sorted.front();
  json["high"] = sorted.back();
  json["all"] = values;
  return json;
}

}  // namespace holdfast::bench::dramhit
