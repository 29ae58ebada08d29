// stats.hpp: figures about a table.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "holdfast/pool.hpp"
#include "holdfast/score.hpp"

namespace holdfast {

/// The time that a GPU has spent in one phase of changing batches.
struct PhaseTime {
  std::string phase;          ///< its name
  double ms = 0;              ///< of all batches together
  std::uint64_t batches = 0;  ///< that had the phase
};

/// Figures about an open table, by subject. All are derived, none is stored; counts begin at open.
struct Stats {
  /// Its location.
  struct Place {
    std::string path;              ///< of the pool
    std::uint32_t object = 0;      ///< the table's number in it
    Medium medium = Medium::file;  ///< of the pool
    Domain domain = Domain::none;  ///< what a completed batch survives
  } place;

  /// Its execution.
  struct Machine {
    std::string device;             ///< "cpu" or "cuda:N"
    std::string reason;             ///< why this device was chosen
    unsigned threads = 1;           ///< CPU threads that a batch may use
    std::string tile;               ///< what examines the candidate slots of a key: instructions, or lanes of a warp
    std::string flush_instruction;  ///< that makes lines of the CPU's cache durable
  } machine;

  /// Its contents and free space.
  struct Space {
    Score score = Score::none;     ///< the kind that is stored with each item
    std::uint64_t size = 0;        ///< items
    std::uint64_t slots = 0;       ///< of all levels
    std::uint64_t cells = 0;       ///< of the value heap; 0 where values live in their slots
    std::uint64_t free_cells = 0;  ///< of them
  } space;

  /// Of variable-length pairs.
  struct Pairs {
    std::uint64_t heap_bytes = 0;      ///< of the heap
    std::uint64_t slab_bytes = 0;      ///< of its slabs with a live cell
    std::uint64_t live_bytes = 0;      ///< of the live cells
    std::uint64_t rounding_bytes = 0;  ///< of those, what no pair fills
  } pairs;

  /// Counts of changing batches.
  struct Work {
    std::uint64_t moves = 0;           ///< items that made space for another (docs/protocol.md, 26)
    std::uint64_t claim_misses = 0;    ///< times that an operation found a key or a slot already claimed
    std::uint64_t retries = 0;         ///< operations that were restarted
    std::uint64_t phased_batches = 0;  ///< batches, or parts of them, that a GPU executed phase by phase
    std::vector<PhaseTime> phases;     ///< with Tuning::time_phases; in the order in which they run
  } work;

  /// Its growth.
  struct Growth {
    std::uint64_t resizes = 0;        ///< new top levels
    std::uint64_t heap_growths = 0;   ///< times that the value heap grew
    double last_resize_ms = 0;        ///< rehashing, without allocating the new level
    double last_resize_alloc_ms = 0;  ///< allocating that level
  } growth;

  /// The time and repairs of opening it.
  struct Recovery {
    bool was_clean = false;            ///< it had been closed or synced: there was nothing to recover
    double map_ms = 0;                 ///< mapping the file
    double recovery_ms = 0;            ///< scan of slots and rebuilding of what is volatile
    std::uint64_t repaired_slots = 0;  ///< half-written slots that were cleared
    std::uint64_t finished_moves = 0;  ///< second copies that were removed
    std::uint64_t rehashed = 0;        ///< items that were moved to finish a resize
    std::uint64_t left_out = 0;        ///< damaged slots that `salvage` left out of its private copy
  } recovery;

  /// How a GPU searches buckets with copies.
  struct Search {
    std::uint64_t unordered_rows = 0;  ///< up to so many rows are searched by one kernel, in the batch's order
    std::uint64_t cluster_rows = 0;    ///< up to so many are ordered by one cluster of blocks
    unsigned gather_share = 0;         ///< 1 of so many multiprocessors reads values at scattered addresses
    double calibration_ms = 0;         ///< the time to measure these at open; 0: they are the defaults
  } search;

  /// Copies of buckets in GPU memory.
  struct BucketCache {
    std::uint64_t bytes = 0;  ///< of the pool's buckets that have one
    double ratio = 0;         ///< of all buckets: 1 is resident
    std::uint64_t hits = 0;   ///< where not all have a copy: items that searches found in one
    std::uint64_t loads = 0;  ///< begun
  } bucket_cache;

  /// Copies of values in GPU memory,
  /// for cells that slots name.
  struct ValueCache {
    std::uint64_t bytes = 0;           ///< of GPU memory, for the copies and their maps
    double ratio = 0;                  ///< of all cells: those with memory for a copy; 1 is resident
    std::uint64_t values = 0;          ///< that have a copy now
    std::uint64_t hits = 0;            ///< rows of searches that were answered with a copy
    std::uint64_t directory_hits = 0;  ///< of them, rows that the key directory answered, without reading a bucket
    std::uint64_t loads = 0;           ///< begun
    std::string policy;                ///< "lfu", "lru" or "random"; empty where loads choose nothing
  } value_cache;
};

}  // namespace holdfast
