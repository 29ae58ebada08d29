// setup.cuh: what the studies of holdfast-link-bench share: how a table is made, the arrays of a batch, how figures are told.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "arrays.cuh"
#include "holdfast/table.hpp"

namespace holdfast::bench {

using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;
inline constexpr std::uint64_t kMi = 1 << 20;
inline constexpr unsigned kBlocks = 132 * 8, kThreads = 256;

inline const Clock::time_point kBegun = Clock::now();

inline double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

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
  CacheOptions cache;  ///< of values
  std::uint32_t levels = 2, hash_locations = 2, slots = 8;
  std::uint64_t capacity = 0;  ///< that the table is made for; 0: the items
  std::uint64_t spare = 0;     ///< cells beyond the items and a batch of updates
  bool time_phases = false;    ///< of changing batches; it slows them a little
  std::string device = "cuda";
  unsigned threads = 0;   ///< of a CPU
  double patience = 600;  ///< seconds after which a run is not repeated
  double seconds = 3600;  ///< since the program began, after which runs are left out
};

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

inline Draw uniform_draw(std::uint64_t items) {
  Draw draw;
  draw.items = items;
  return draw;
}

inline Json spread_of(const std::vector<double>& all) {
  std::vector<double> sorted = all;
  std::sort(sorted.begin(), sorted.end());
  return {{"median", sorted[sorted.size() / 2]}, {"low", sorted.front()}, {"high", sorted.back()}, {"all", all}};
}

}  // namespace holdfast::bench
