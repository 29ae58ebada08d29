// frame.hpp: threads that work in rounds, what a round costs, and figures as JSON.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "keys.hpp"

namespace holdfast::bench::dramhit {

using Json = nlohmann::ordered_json;

/// What a study is run with.
struct Setup {
  std::uint64_t items = 190'000'000;  ///< of the large table
  std::uint64_t peer_items = 100'000'000;
  std::uint64_t operations = 60'000'000;  ///< of each measurement, all threads together
  unsigned threads = 2;
  unsigned repetitions = 3;
  unsigned fills = 1;  ///< of tables beside peers: how often each is filled; each fill is asked `repetitions` times
  unsigned depth = 0;
  std::string file = "/dev/shm/holdfast-dramhit-bench.hold";  ///< of the durable table
  std::string part;                                           ///< of a study, where one can be run in parts
};

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

/// All workers in rounds of `rows` until `operations` are done; they begin each round together, and only run() is timed.
Measured measure(const std::vector<std::unique_ptr<Worker>>& workers, std::uint64_t operations, std::size_t rows);

/// Runs `work(thread)` at the same time; seconds until the last is done.
double together(unsigned threads, const std::function<void(unsigned)>& work);

/// Median, lowest, highest and all of a figure's repetitions.
Json spread(std::vector<double> values);

std::uint64_t ticks();

constexpr std::uint64_t value_of(std::uint64_t key) { return mix(key ^ kOdd); }

}  // namespace holdfast::bench::dramhit
