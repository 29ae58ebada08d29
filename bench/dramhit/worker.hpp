// worker.hpp: what a thread asks a table in a round, and whether the answers are right.
#pragma once

#include <memory>

#include "dramhit/subject.hpp"
#include "frame/distribution.hpp"

namespace holdfast::bench::dramhit {

enum class Ask : std::uint8_t {
  put_new,  ///< keys that are not there, each once
  get,
  absent,
  put,     ///< keys that are there, their value again
  upsert,  ///< adds 0 to values that are there, so that they can still be checked
  count,   ///< adds 1 to keys of a zipfian distribution in a table that begins empty
  mixed,   ///< get and upsert, batch by batch
  erase,   ///< keys that are there, each once
  rows,    ///< get and put, row by row of a batch (YCSB B with `reads` of 0.95)
};

struct Asked {
  Ask ask = Ask::get;
  std::uint64_t items = 0;  ///< in the table; of `count` those that may be drawn
  std::uint64_t first = 0;  ///< of `put_new`
  std::uint64_t seed = 1;
  std::size_t batch = 16;
  double theta = 0;  ///< of a zipfian distribution; 0: uniform
  double reads = 1;  ///< share of `mixed` and `rows`
  bool silent = false;
  unsigned pollutes = 0;                       ///< lines of another array asked for after each operation
  const Distribution* distribution = nullptr;  ///< with `theta`
};

/// `number` of `threads` workers.
std::unique_ptr<Worker> worker(Subject& subject, const Asked& asked, unsigned number, unsigned threads);

/// One measurement with all threads. Throws Error if an answer is wrong.
Measured ask(Subject& subject, const Asked& asked, std::uint64_t operations, unsigned threads,
             std::size_t rows = 16384);

/// Of each of some operations by one thread: time stamps from its call until its answer is there.
std::vector<std::uint64_t> latencies(Subject& subject, const Asked& asked, std::uint64_t operations);

}  // namespace holdfast::bench::dramhit
