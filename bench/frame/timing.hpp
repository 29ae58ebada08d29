// timing.hpp: the clock of all benchmarks, and what is said of repetitions. timing.py states what each of these words means.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <vector>

namespace holdfast::bench {

using Clock = std::chrono::steady_clock;

inline double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Six significant digits.
double rounded(double value);

/// All repetitions of a figure, rounded, with their median, lowest and highest.
struct Spread {
  double median = 0, low = 0, high = 0;
  std::vector<double> all;
};
/// Throws InvalidArgument if there is none.
Spread spread_of(std::vector<double> repetitions);

/// `above` by `below`, repetition by repetition. Throws InvalidArgument if one has more of them.
std::vector<double> ratio_of(const std::vector<double>& above, const std::vector<double>& below);

/// Runs `work(thread)` on every thread at once; the seconds until the last is done.
double together(unsigned threads, const std::function<void(unsigned)>& work);

/// The timed parts of some rounds.
struct Timed {
  double wall = 0;       ///< seconds from when all threads had come to when the last was done, all rounds together
  double longest = 0;    ///< of the thread whose own parts took longest together
  double processor = 0;  ///< of the processors, for this process, within `wall`
};

using RoundWork = std::function<void(unsigned thread, std::uint64_t round)>;

/// Threads that work in rounds: each prepares one, all begin it together, and when all are done each checks its answers.
/// `run` alone is timed. None of them may throw.
Timed run_rounds(unsigned threads, std::uint64_t rounds, const RoundWork& prepare, const RoundWork& run,
                 const RoundWork& check);

}  // namespace holdfast::bench
