// pool.hpp: the file that holds everything durable, as a user names and inspects it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "holdfast/error.hpp"
#include "holdfast/score.hpp"

namespace holdfast {

/// In place of the bytes of a key or a value: they are of any length, up to 65536.
inline constexpr std::uint32_t kVariableBytes = ~std::uint32_t{0};

/// Where a pool's bytes live. What each survives: docs/durability.md.
enum class Medium : std::uint8_t { shm = 0, file = 1, dax = 2 };
/// What a completed write survives.
enum class Domain : std::uint8_t { none = 0, process = 1, power = 2 };

const char* name(Medium medium);
const char* name(Domain domain);

/// One extent of a pool file.
struct ExtentInfo {
  std::string kind;          ///< "level 17", "heap", "free"
  std::uint64_t offset = 0;  ///< bytes from the start of the file
  std::uint64_t bytes = 0;
};

/// What `inspect` reports without opening or locking the pool.
struct PoolInfo {
  std::string path;
  Medium medium = Medium::file;
  Domain domain = Domain::none;
  std::uint32_t version = 0;
  std::string pool_id;  ///< random, 32 hexadecimal digits: of this pool and no snapshot of it
  std::uint32_t key_bytes = 0;
  std::uint32_t value_bytes = 0;
  std::uint32_t levels = 0;  ///< GPHash §3.1: 2L-2H-8S is levels, hash_locations, slots
  std::uint32_t hash_locations = 0;
  std::uint32_t slots = 0;      ///< a bucket
  std::uint32_t top_level = 0;  ///< level i has 2^i buckets
  std::uint64_t total_slots = 0;
  std::uint64_t cells = 0;  ///< of the value heap, or slabs of 2 MiB; 0 if values live in their slots
  std::uint64_t cell_bytes = 0;
  Score score = Score::none;  ///< what the last 8 bytes of each cell say
  std::uint64_t file_bytes = 0;
  std::uint64_t generation = 0;  ///< superblock writes so far
  bool clean = false;            ///< closed or synced, and not changed since
  bool resizing = false;
  bool same_boot = false;     ///< the machine has not restarted since it was last opened
  unsigned valid_copies = 0;  ///< of the superblock, 1 or 2
  std::string owner;          ///< "process 4711 (python train.py, since 14:02)", advisory; empty if not open
  std::vector<ExtentInfo> extents;
};

/// Reads what a pool says of itself. Needs no lock. Throws PoolNotFound, PoolCorrupt, PoolVersion.
PoolInfo inspect(const std::string& path);

/// What `check` found.
struct CheckReport {
  std::uint64_t items = 0;
  std::uint64_t slots = 0;
  std::uint64_t cells = 0;
  std::uint64_t free_cells = 0;
  std::uint64_t repaired_slots = 0;  ///< half-written slots that recovery cleared
  std::uint64_t finished_moves = 0;  ///< second copies that recovery removed
  std::uint64_t rehashed = 0;        ///< items that recovery moved to finish a resize
  bool was_clean = false;
  double recovery_ms = 0;            ///< scan of slots and rebuilding of what is volatile
  double map_ms = 0;                 ///< mapping the file
  std::vector<std::string> repairs;  ///< what opening mended of the superblock, as a kill leaves it; no error
  std::vector<std::string> errors;   ///< empty: every slot and cell is in order
};

}  // namespace holdfast
