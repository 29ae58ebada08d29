// drive.hpp: runs a workload against a target with several callers, measures it, and checks every answer.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "frame/distribution.hpp"
#include "peers/target.hpp"

namespace holdfast::bench {

/// What an operation of a workload is.
enum class Kind : std::uint8_t { read, absent_read, update, insert, read_modify_write, erase };
inline constexpr unsigned kKinds = 6;

/// A workload. The table holds items 0..items-1; inserts add items from there on.
struct Spec {
  std::uint64_t items = 0;
  std::uint64_t operations = 0;
  std::size_t batch = 4096;
  unsigned callers = 1;                   ///< threads that submit batches
  std::array<double, kKinds> share = {};  ///< of each Kind; their sum is 1
  Popularity popularity = Popularity::uniform;
  double theta = 0.99;
  std::uint64_t seed = 1;      ///< of the draws
  std::uint64_t key_seed = 1;  ///< of the key space
  std::uint64_t version = 0;   ///< the newest version that the table holds
  bool unique = false;         ///< promise the table that no key of a pure insert repeats
  bool on_device = false;      ///< keys and results in GPU memory
};

struct Outcome {
  std::uint64_t operations = 0;
  double seconds = 0;       ///< wall time of the batches
  double cpu_seconds = 0;   ///< processor time of the whole process meanwhile
  std::uint64_t wrong = 0;  ///< answers that were not right; 0 or the run does not count
  std::uint64_t inserted = 0;
  std::uint64_t version = 0;  ///< the newest that the table holds now
  std::array<std::uint64_t, kKinds> count = {};
  std::vector<double> batch_us;                     ///< latency of each batch
  std::array<std::vector<double>, kKinds> kind_us;  ///< of the batches that hold such operations; filled if mixed
};

/// Works in rounds: draws the operations of a round, runs its batches against the clock, then checks every status and
/// every value found. Drawing and checking are not timed. Throws what the target throws.
Outcome drive(Target& target, const Spec& spec);

/// One sample a batch while a table fills.
struct Filling {
  std::vector<std::uint64_t> items, slots, resizes, moves;  ///< after the batch
  std::vector<double> seconds;                              ///< of the batch
};

/// Inserts items from `first` on until there are `last`, `batch` at a time, and `fine_batch` at a time from load factor
/// `fine_from` on; ends after the first batch that resized the table if `stop_at_resize`. Throws Error if an insert fails.
Filling fill(Table& table, std::uint64_t first, std::uint64_t last, std::size_t batch, std::size_t fine_batch,
             double fine_from, bool stop_at_resize, std::uint64_t key_seed);

}  // namespace holdfast::bench
