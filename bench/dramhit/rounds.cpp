// rounds.cpp: rounds of all workers, and what the processor counted meanwhile.
#include "dramhit/rounds.hpp"

#include <x86intrin.h>

#include <algorithm>
#include <cstdio>

#include "dramhit/counters.hpp"
#include "frame/timing.hpp"

namespace holdfast::bench::dramhit {

std::uint64_t ticks() { return __rdtsc(); }

void progress(const std::string& what) {
  static const Clock::time_point start = Clock::now();
  std::fprintf(stderr, "   %5.0f s  %s\n", seconds_since(start), what.c_str());
}

Measured measure(const std::vector<std::unique_ptr<Worker>>& workers, std::uint64_t operations, std::size_t rows) {
  const std::uint64_t threads = workers.size();
  const std::uint64_t rounds = std::max<std::uint64_t>(1, operations / (threads * rows));
  std::vector<std::uint64_t> wrong(threads, 0), cycles(threads, 0);
  std::vector<std::map<std::string, double>> counted(threads);
  std::vector<std::unique_ptr<Counters>> counters(threads);
  const auto run = [&](unsigned t, std::uint64_t) {
    const std::uint64_t from = ticks();
    counters[t]->start();
    workers[t]->run();
    counters[t]->stop();
    cycles[t] += ticks() - from;
  };
  const auto prepare = [&](unsigned t, std::uint64_t round) {
    if (round == 0) counters[t] = std::make_unique<Counters>();  // they count the thread that makes them
    workers[t]->prepare(round, rows);
  };
  const auto check = [&](unsigned t, std::uint64_t round) {
    wrong[t] += workers[t]->check();
    if (round + 1 == rounds) counted[t] = counters[t]->counted();
  };
  const Timed timed = run_rounds(static_cast<unsigned>(threads), rounds, prepare, run, check);
  const auto all = static_cast<double>(rounds * rows * threads);
  Measured measured;
  measured.mops = all / timed.longest / 1e6;
  for (std::uint64_t t = 0; t < threads; ++t) {
    measured.wrong += wrong[t];
    for (const auto& [name, count] : counted[t]) measured.counted[name] += count / all;
    measured.cycles += static_cast<double>(cycles[t]) / all;
  }
  return measured;
}

}  // namespace holdfast::bench::dramhit
