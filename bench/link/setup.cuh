// setup.cuh: what the studies of holdfast-link-bench share: how a table is made, the arrays of a batch, how figures are told.
#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include "arrays.cuh"
#include "frame/studies.hpp"
#include "holdfast/table.hpp"

namespace holdfast::bench {

inline constexpr std::uint64_t kMi = 1 << 20;
inline constexpr unsigned kBlocks = 132 * 8, kThreads = 256;

inline const Clock::time_point kBegun = Clock::now();

template <class... T>
void say(const char* format, T... values) {
  std::fprintf(stderr, "link: ");
  std::fprintf(stderr, format, values...);
  std::fprintf(stderr, "\n");
  std::fflush(stderr);
}

/// How the table of a study is made.
struct Setup {
  std::uint64_t items = 37'748'736;  // 0.75 of 3·2^24 slots
  std::uint32_t key_bytes = 8, value_bytes = 128;
  std::string pool = "/dev/shm/holdfast-link-bench.hold";
  std::uint64_t order_from = 0, gpu_memory = kHalfOfFree;
  CacheOptions cache;     ///< of values
  bool calibrate = true;  ///< when a pool is opened
  std::uint32_t levels = 2, hash_locations = 2, slots = 8;
  std::uint64_t capacity = 0;  ///< that the table is made for; 0: the items
  std::uint64_t spare = 0;     ///< cells beyond the items and a batch of updates
  bool time_phases = false;    ///< of changing batches; it slows them a little
  std::string device = "cuda";
  unsigned threads = 0;                               ///< of a CPU
  double patience = 600;                              ///< seconds after which a run is not repeated
  double seconds = 3600;                              ///< since the program began, after which runs are left out
  bool changes = true;                                ///< after the searches, updates, erases and a second opening
  bool curves = true;                                 ///< cache: policies, sizes and skews too
  std::uint64_t most_slots = std::uint64_t{1} << 30;  ///< recovery: of the largest table

  void take(CLI::App& app);
};

using Study = StudyOf<Setup>;

/// The arrays of one batch.
struct Arrays {
  Arrays(std::uint64_t rows, unsigned words, unsigned key_words, bool mixed = false)
      : keys(rows),
        wide_keys(key_words == 1 ? 0 : rows * key_words),
        values(rows * words),
        out(rows * words),
        statuses(rows),
        found(rows),
        ops(mixed ? rows : 0) {}
  GpuArray<std::uint64_t> keys, wide_keys, values, out;  ///< of wide keys, `keys` are the first words
  GpuArray<Status> statuses;
  GpuArray<bool> found;
  GpuArray<std::uint8_t> ops;
};

/// The rates of a run, a repetition each; none if it was left out.
inline std::vector<double> rates_of(const Json& runs, const std::string& work, std::uint64_t batch) {
  for (const Json& run : runs) {
    if (run["work"] == work && run["batch"] == batch) return run["mops"]["all"];
  }
  return {};
}

inline Draw uniform_draw(std::uint64_t items) {
  Draw draw;
  draw.items = items;
  return draw;
}

}  // namespace holdfast::bench
