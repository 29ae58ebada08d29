// loops.hpp: loops that replace values of keys in a table of MemoryTable's lines, three quarters full, and do little else.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "structures/dramhit/line.hpp"

namespace holdfast::bench::bare {

inline constexpr std::size_t kRows = 16384;  ///< of a round
inline constexpr unsigned kDepth = 64, kTogether = 16, kRing = 128, kSets = 1024;

struct Table {
  holdfast::dramhit::Line* lines = nullptr;
  holdfast::dramhit::Geometry geometry;
};
struct alignas(64) Task {
  std::uint64_t want = 0;
  holdfast::dramhit::Line* line = nullptr;
  std::uint64_t hash = 0, given = 0, id = 0, state = 0;
};
/// The memory of one thread.
struct Thread {
  std::array<Task, kRing> tasks;
  std::array<unsigned, kSets> sets = {};  ///< where in the ring the latest operation was put that continues
  std::vector<std::uint64_t> keys = std::vector<std::uint64_t>(kRows), values = keys, rows = keys, ids = keys,
                             out = keys;
  std::vector<std::uint8_t> statuses = std::vector<std::uint8_t>(kRows);
};
struct Loop {
  const char* what;
  /// Gives each of the thread's keys, which are all there, its value. Returns the operations that found others of their set under way.
  std::uint64_t (*run)(const Table&, Thread&);
};
/// Compiled for AVX-512.
std::span<const Loop> avx512_loops();

}  // namespace holdfast::bench::bare
