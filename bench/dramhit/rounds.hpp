// rounds.hpp: what a study is run with, the share of one thread in a measurement, and what all shares together cost.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "frame/keys.hpp"
#include "frame/studies.hpp"

namespace holdfast::bench::dramhit {

/// What a study is run with.
struct Setup {
  std::uint64_t items = 190'000'000;  ///< of the large table
  std::uint64_t peer_items = 100'000'000;
  std::uint64_t operations = 60'000'000;  ///< of each measurement, all threads together
  unsigned threads = std::max(1u, std::thread::hardware_concurrency());
  unsigned repetitions = 3;
  unsigned fills = 1;  ///< of tables beside peers: how often each is filled; each fill is asked `repetitions` times
  unsigned depth = 0;
  std::string file = "/dev/shm/holdfast-dramhit-bench.hold";  ///< of the durable table
  std::string part;                                           ///< of a study, where one can be run in parts
  std::vector<std::string> originals;  ///< shared libraries with other tables (originals/original.hpp)

  void take(CLI::App& app);
};

using Study = StudyOf<Setup>;

/// One thread's share of a measurement: draws a round, runs it against the clock, and checks it.
class Worker {
 public:
  virtual ~Worker() = default;
  virtual void prepare(std::uint64_t round, std::size_t rows) = 0;
  virtual void run() = 0;
  virtual std::uint64_t check() = 0;  ///< wrong answers
};

struct Measured {
  double mops = 0;
  std::uint64_t wrong = 0;
  double cycles = 0;                      ///< of the time stamp counter, an operation of one thread
  std::map<std::string, double> counted;  ///< by the processor an operation, where it lets us (counters.hpp)
};

/// Says on the standard error what is measured now, and how long the study has taken so far.
void progress(const std::string& what);

/// All workers in rounds of `rows` until `operations` are done. Rounds are so short that waiting for each other at both ends of
/// each would count: the time is that of the worker who took longest.
Measured measure(const std::vector<std::unique_ptr<Worker>>& workers, std::uint64_t operations, std::size_t rows);

std::uint64_t ticks();

constexpr std::uint64_t value_of(std::uint64_t key) { return mix(key ^ kOdd); }

}  // namespace holdfast::bench::dramhit
