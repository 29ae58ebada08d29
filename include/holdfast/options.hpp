// options.hpp: how a table is made and opened.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "holdfast/cache.hpp"
#include "holdfast/score.hpp"

namespace holdfast {

/// As the number of bytes of a key or a value: any length up to 65536.
inline constexpr std::uint32_t kVariableBytes = ~std::uint32_t{0};

/// The properties of a table, stored in its pool. Only the number of slots changes later.
struct TableProperties {
  std::uint32_t key_bytes = 8;    ///< 8, or another multiple of 8 up to 128; wider keys have a fingerprint
  std::uint32_t value_bytes = 8;  ///< 0 (a set) to 65536; values up to 8 bytes are stored in the slot
  // Both kVariableBytes: keys and values of any length up to 65536. Either both lengths are fixed or neither.
  Score score = Score::none;         ///< kept with each item; all values are then in cells. Not with kVariableBytes
  std::uint64_t capacity = 1 << 12;  ///< items to make space for; the table grows past it
  std::uint64_t max_bytes = 0;       ///< limit of the value heap, whose address space is reserved; 0: no limit
  std::uint32_t levels = 2;          ///< GPHash §3.1; levels × hash_locations × slots ≤ 32
  std::uint32_t hash_locations = 2;  ///< candidate buckets of a key in a level
  std::uint32_t slots = 8;           ///< of a bucket
  std::uint64_t seed = 0;            ///< of the hash; 0: random
};

/// Execution options of an open table.
struct Runtime {
  std::string device = "auto";  ///< "auto", "cpu", "cuda" or "cuda:N"
  unsigned threads = 0;         ///< CPU threads a batch may use; 0: all, 8 at most
  /// Compares the pairs that searches and exports read with their checksums. A batch that meets a damaged pair
  /// throws PoolCorrupt; on the CPU its other rows have run then, and changes compare the pairs of their keys
  /// too. Only for keys and values of any length: InvalidArgument for fixed sizes, which have no checksum.
  bool verify = false;
};

/// Copies of an open table in GPU memory. Ignored if the backend is the CPU.
struct Gpu {
  std::uint64_t memory =
      kHalfOfFree;  ///< bytes that copies of the pool's buckets may take: of all of them if they fit, else of the
                    ///< largest part that does
  CacheOptions cache = {};  ///< which buckets and values have a copy
};

/// Rarely needed options: parameters of the protocol, and measurements.
/// They never change the results of operations.
struct Tuning {
  bool moves = true;              ///< a full insert may move one item first (docs/protocol.md, 26)
  std::uint32_t shared_bias = 2;  ///< items that an insert adds to the load of a shared bucket; the paper: 0
  bool flush = false;             ///< run the protocol of domain `power` on any medium; does not raise the domain
  std::uint64_t order_from = 0;   ///< rows from which a batch on the GPU is ordered by address; 0: as measured
  bool calibrate = true;          ///< at open: measure, in some milliseconds, the best way to search on the GPU
  bool time_phases = false;       ///< measure each phase of changing batches: Stats::Work::phases
};

/// Options of making a table: {.shape = {.value_bytes = 128, .capacity = 1'000'000}, .runtime = {.device = "cpu"}}.
struct CreateOptions {
  TableProperties shape = {};
  Runtime runtime = {};
  Gpu gpu = {};
  Tuning tuning = {};
  bool overwrite = false;  ///< replace a pool that no process has open (or an empty file), and nothing else
};

/// Options of opening a table.
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
