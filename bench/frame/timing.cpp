// timing.cpp: threads in step, the clock, and medians.
#include "frame/timing.hpp"

#include <ctime>

#include <algorithm>
#include <barrier>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "holdfast/error.hpp"

namespace holdfast::bench {
namespace {

double processor_time() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

/// Runs `body(thread)` on threads of which the caller's is the first.
void on_threads(unsigned threads, const std::function<void(unsigned)>& body) {
  std::vector<std::thread> others;
  for (unsigned t = 1; t < threads; ++t) others.emplace_back(body, t);
  body(0);
  for (std::thread& other : others) other.join();
}

}  // namespace

double rounded(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", value);
  return std::strtod(text, nullptr);
}

Spread spread_of(std::vector<double> repetitions) {
  if (repetitions.empty()) throw InvalidArgument("a figure needs at least one repetition");
  for (double& figure : repetitions) figure = rounded(figure);
  std::vector<double> sorted = repetitions;
  std::sort(sorted.begin(), sorted.end());
  const std::size_t n = sorted.size();
  const double median = n % 2 == 1 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
  return {rounded(median), sorted.front(), sorted.back(), std::move(repetitions)};
}

std::vector<double> ratio_of(const std::vector<double>& above, const std::vector<double>& below) {
  if (above.size() != below.size()) throw InvalidArgument("a ratio needs both figures of each repetition");
  std::vector<double> ratios;
  for (std::size_t i = 0; i < above.size(); ++i) ratios.push_back(above[i] / below[i]);
  return ratios;
}

double together(unsigned threads, const std::function<void(unsigned)>& work) {
  Clock::time_point start;
  std::barrier ready(static_cast<std::ptrdiff_t>(threads), [&]() noexcept { start = Clock::now(); });
  on_threads(threads, [&](unsigned t) {
    ready.arrive_and_wait();
    work(t);
  });
  return seconds_since(start);
}

Timed run_rounds(unsigned threads, std::uint64_t rounds, const RoundWork& prepare, const RoundWork& run,
                 const RoundWork& check) {
  Timed timed;
  bool runs = false;
  Clock::time_point begun;
  double processor = 0;
  const auto turn = [&]() noexcept {  // when all have come, and when all are done
    if (runs) {
      timed.wall += seconds_since(begun);
      timed.processor += processor_time() - processor;
    } else {
      processor = processor_time();
      begun = Clock::now();
    }
    runs = !runs;
  };
  std::barrier all(static_cast<std::ptrdiff_t>(threads), turn);
  std::vector<double> own(threads, 0.0);
  on_threads(threads, [&](unsigned t) {
    double seconds = 0;
    for (std::uint64_t round = 0; round < rounds; ++round) {
      prepare(t, round);
      all.arrive_and_wait();
      const auto start = Clock::now();
      run(t, round);
      seconds += seconds_since(start);
      all.arrive_and_wait();
      check(t, round);
    }
    own[t] = seconds;
  });
  timed.longest = *std::max_element(own.begin(), own.end());
  return timed;
}

}  // namespace holdfast::bench
