// options.hpp: how a table is made and opened.
#pragma once

#include <cstdint>
#include <string>

#include "holdfast/cache.hpp"
#include "holdfast/score.hpp"

namespace holdfast {

/// In place of the bytes of a key or a value: they are of any length, up to 65536.
inline constexpr std::uint32_t kVariableBytes = ~std::uint32_t{0};

/// How a table is made. `key_bytes`, `value_bytes` and the configuration never change afterwards.
struct CreateOptions {
  std::uint32_t key_bytes = 8;    ///< 8, or another multiple of 8 up to 128; wider keys lie behind a fingerprint
  std::uint32_t value_bytes = 8;  ///< 0 (a set) to 65536; up to 8 live inside the slot
  // Both kVariableBytes: keys and values of any length up to 65536. With a fixed length of one the other has one, too.
  /// What the table keeps with each item (score.hpp); then all values lie in cells. Not with kVariableBytes.
  Score score = Score::none;
  std::uint64_t capacity = 1 << 12;  ///< items to make space for; the table grows past it
  std::uint32_t levels = 2;          ///< GPHash §3.1; levels × hash_locations × slots ≤ 32
  std::uint32_t hash_locations = 2;
  std::uint32_t slots = 8;
  std::string device = "auto";    ///< "auto", "cpu", "cuda" or "cuda:N"
  bool overwrite = false;         ///< replace a pool that nobody has open (or an empty file), and nothing else
  unsigned threads = 0;           ///< CPU threads a batch may use; 0: all, 8 at most
  bool moves = true;              ///< a full insert may move one item first (rule 26)
  std::uint32_t shared_bias = 2;  ///< by how many items an insert thinks a shared bucket fuller; the paper: 0
  bool flush = false;             ///< run the protocol of domain `power` on any medium; claims no more for it
  std::uint64_t seed = 0;         ///< of the hash; 0: random
  std::uint64_t max_bytes = 0;    ///< that the value heap may have, whose address space is kept; 0: whatever it takes
  /// Bytes of GPU memory that copies of the pool's buckets may take: of all of them if they fit, else of the largest part that does
  /// (CacheOptions).
  std::uint64_t gpu_memory = kHalfOfFree;
  std::uint64_t order_from = 0;  ///< rows from which a batch on the GPU is ordered by address; 0: as measured
  bool time_phases = false;      ///< count what the GPU spends in each phase of changing batches: Stats::phases
  CacheOptions cache = {};       ///< of buckets and values, in GPU memory
};

struct OpenOptions {
  std::string device = "auto";
  bool read_only = false;  ///< find, contains, export only; shares the pool with other readers
  unsigned threads = 0;
  bool moves = true;
  std::uint32_t shared_bias = 2;
  bool flush = false;
  bool salvage = false;         ///< open after a power cut all the same (PowerLost otherwise); with read_only, recover
                                ///< a private copy in memory: the file is not written
  std::uint32_t key_bytes = 0;  ///< if not 0, must agree with the pool (PoolMismatch)
  std::uint32_t value_bytes = 0;
  bool check_value_bytes = false;  ///< compare value_bytes even if it is 0
  std::uint64_t gpu_memory = kHalfOfFree;
  std::uint64_t order_from = 0;
  bool time_phases = false;
  CacheOptions cache = {};
  bool calibrate = true;  ///< measure, in some milliseconds, how searches of this pool go best on the GPU: Stats
};

}  // namespace holdfast
