// stats.hpp: figures about a table.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "holdfast/pool.hpp"
#include "holdfast/score.hpp"

namespace holdfast {

/// What a GPU has spent in one phase of changing batches.
struct PhaseTime {
  std::string phase;
  double ms = 0;
  std::uint64_t batches = 0;  ///< that had the phase
};

/// Figures about a table; all are derived, none is stored.
struct Stats {
  std::string path, device, device_reason;  ///< which machine, and why
  std::uint32_t object = 0;                 ///< its number in the pool
  Medium medium = Medium::file;
  Domain domain = Domain::none;
  Score score = Score::none;
  std::uint64_t size = 0, slots = 0, cells = 0, free_cells = 0;
  std::uint64_t moves = 0, resizes = 0, heap_growths = 0, claim_misses = 0, retries = 0;
  std::uint64_t phased_batches = 0;  ///< changing batches, or parts of them, that a GPU carried out phase by phase
  double map_ms = 0, recovery_ms = 0;
  double last_resize_ms = 0;        ///< rehashing, without allocating the new level
  double last_resize_alloc_ms = 0;  ///< allocating that level
  std::uint64_t repaired_slots = 0, finished_moves = 0, rehashed = 0;
  // Of variable-length pairs: the heap, its slabs with a live cell, the live cells, and what of those no pair fills.
  std::uint64_t heap_bytes = 0, slab_bytes = 0, live_bytes = 0, rounding_bytes = 0;
  std::uint64_t left_out = 0;  ///< damaged slots that `salvage` left out of its private copy
  bool was_clean = false;
  // How searches of copied buckets go on a GPU: up to so many rows in one kernel and unordered; up to so many ordered by one
  // cluster of blocks; and a part of the multiprocessors, 1 of so many, reads values at scattered addresses.
  std::uint64_t unordered_rows = 0, cluster_rows = 0;
  unsigned gather_share = 0;
  double calibration_ms = 0;             ///< that measuring these took at open; 0: they are the defaults
  std::uint64_t cached_bytes = 0;        ///< of the pool's buckets, in GPU memory
  double cached_ratio = 0;               ///< of all buckets: 1 is resident
  std::uint64_t bucket_hits = 0;         ///< where not all have a copy: items that searches found in one
  std::uint64_t bucket_loads = 0;        ///< begun
  std::uint64_t cached_value_bytes = 0;  ///< of GPU memory, that copies of values take, and the maps of them
  double cached_value_ratio = 0;         ///< of all cells, those that the copies have memory for: 1 is resident
  std::uint64_t cached_values = 0;       ///< that have a copy now
  std::uint64_t cache_hits = 0;          ///< rows of searches that were answered with a copy
  std::uint64_t known_hits = 0;          ///< of them those of keys known to have one, without a look into a bucket
  std::uint64_t cache_loads = 0;         ///< begun
  std::string cache_policy;              ///< lfu, lru or random; empty where loads choose nothing
  std::string flush_instruction, tile;
  unsigned threads = 1;
  std::vector<PhaseTime> phases;  ///< with `time_phases`; in the order in which they run
};

}  // namespace holdfast
