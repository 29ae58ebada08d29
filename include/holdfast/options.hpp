// options.hpp: how a table is made and opened.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "holdfast/cache.hpp"
#include "holdfast/score.hpp"

namespace holdfast {

/// In place of the bytes of a key or a value: they are of any length, up to 65536.
inline constexpr std::uint32_t kVariableBytes = ~std::uint32_t{0};

/// What a table is, as its pool keeps it. All but the number of its slots stays as it was made.
struct Shape {
  std::uint32_t key_bytes = 8;    ///< 8, or another multiple of 8 up to 128; wider keys lie behind a fingerprint
  std::uint32_t value_bytes = 8;  ///< 0 (a set) to 65536; up to 8 live inside the slot
  // Both kVariableBytes: keys and values of any length up to 65536. With a fixed length of one the other has one, too.
  Score score = Score::none;  ///< what it keeps with each item; then all values lie in cells. Not with kVariableBytes
  std::uint64_t capacity = 1 << 12;  ///< items to make space for; the table grows past it
  std::uint64_t max_bytes = 0;  ///< that the value heap may have, whose address space is kept; 0: whatever it takes
  std::uint32_t levels = 2;     ///< GPHash §3.1; levels × hash_locations × slots ≤ 32
  std::uint32_t hash_locations = 2;  ///< buckets of a level that a key may lie in
  std::uint32_t slots = 8;           ///< of a bucket
  std::uint64_t seed = 0;            ///< of the hash; 0: random
};

/// What works on a table while it is open.
struct Runtime {
  std::string device = "auto";  ///< "auto", "cpu", "cuda" or "cuda:N"
  unsigned threads = 0;         ///< CPU threads a batch may use; 0: all, 8 at most
  /// Compare the pairs that searches and exports read with their checksums. A batch that meets a damaged pair throws
  /// PoolCorrupt; on the CPU its other rows have run then, and changes compare the pairs of their keys too. Only for
  /// keys and values of any length: InvalidArgument for fixed sizes, which have no checksum.
  bool verify = false;
};

/// What an open table keeps in GPU memory. Ignored where the CPU works on it.
struct Gpu {
  std::uint64_t memory =
      kHalfOfFree;  ///< bytes that copies of the pool's buckets may take: of all of them if they fit, else of the
                    ///< largest part that does
  CacheOptions cache = {};  ///< which buckets and values have a copy
};

/// What few programs need: the protocol's choices, and measurements. None of it changes what a table answers.
struct Tuning {
  bool moves = true;              ///< a full insert may move one item first (docs/protocol.md, 26)
  std::uint32_t shared_bias = 2;  ///< by how many items an insert thinks a shared bucket fuller; the paper: 0
  bool flush = false;             ///< run the protocol of domain `power` on any medium; claims no more for it
  std::uint64_t order_from = 0;   ///< rows from which a batch on the GPU is ordered by address; 0: as measured
  bool calibrate =
      true;  ///< where a pool is opened: measure, in some milliseconds, how its searches go best on the GPU
  bool time_phases = false;  ///< count what the GPU spends in each phase of changing batches: Stats::Work::phases
};

/// How a table is made: {.shape = {.value_bytes = 128, .capacity = 1'000'000}, .runtime = {.device = "cpu"}}.
struct CreateOptions {
  Shape shape = {};
  Runtime runtime = {};
  Gpu gpu = {};
  Tuning tuning = {};
  bool overwrite = false;  ///< replace a pool that nobody has open (or an empty file), and nothing else
};

/// How a table is opened.
struct OpenOptions {
  Runtime runtime = {};
  Gpu gpu = {};
  Tuning tuning = {};
  bool read_only = false;  ///< find, contains, export only; shares the pool with other readers
  bool salvage = false;    ///< open after a power cut all the same (PowerLost otherwise); with read_only, recover
                           ///< a private copy in memory: the file is not written
  std::optional<std::uint32_t> key_bytes = {};    ///< that the program expects: PoolMismatch where the pool has others
  std::optional<std::uint32_t> value_bytes = {};  ///< the same
};

}  // namespace holdfast
