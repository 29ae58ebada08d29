// pool.hpp: a pool, the file that stores everything durable: opening, inspecting, copying.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "holdfast/error.hpp"
#include "holdfast/held.hpp"
#include "holdfast/options.hpp"
#include "holdfast/score.hpp"

namespace holdfast {

/// Where a pool's bytes are stored. What each survives: docs/durability.md.
enum class Medium : std::uint8_t { shm = 0, file = 1, dax = 2 };
/// What a completed write survives.
enum class Domain : std::uint8_t { none = 0, process = 1, power = 2 };

const char* name(Medium medium);
const char* name(Domain domain);

/// One extent of a pool file.
struct ExtentInfo {
  std::string kind;          ///< "pages", "level 17", "heap"
  std::uint64_t offset = 0;  ///< bytes from the start of the file
  std::uint64_t bytes = 0;
};

/// The properties of a table in a pool.
struct TableInfo {
  std::uint32_t key_bytes = 0;
  std::uint32_t value_bytes = 0;
  std::uint32_t levels = 0;  ///< GPHash §3.1: 2L-2H-8S is levels, hash_locations, slots
  std::uint32_t hash_locations = 0;
  std::uint32_t slots = 0;      ///< a bucket
  std::uint32_t top_level = 0;  ///< level i has 2^i buckets
  std::uint64_t total_slots = 0;
  std::uint64_t cells = 0;  ///< of the value heap, or slabs of 2 MiB; 0 if values live in their slots
  std::uint64_t cell_bytes = 0;
  std::uint64_t max_bytes = 0;  ///< that the heap may have; 0: not declared
  std::uint64_t created = 0;    ///< seconds since 1970
  Score score = Score::none;    ///< what the last 8 bytes of each cell say
  bool resizing = false;        ///< a resize was not finished
};

/// One object of a pool.
struct ObjectInfo {
  std::string name;
  std::uint32_t number = 0;
  std::string type;  ///< the name of its kind: "table"; "unknown" where this version does not know it
  std::uint32_t type_version = 0;
  Domain domain = Domain::none;  ///< what writes survived when it was last changed
  bool clean = false;            ///< closed or synced, and not changed since
  bool same_boot = false;        ///< the machine has not restarted since it was last changed
  std::uint64_t generation = 0;  ///< grows when it is changed after a sync, and when it is synced or closed
  std::string damage;            ///< why it cannot be opened; empty if it can, judged by its pages alone
  std::uint64_t bytes = 0;       ///< of its extents
  std::vector<ExtentInfo> extents;
  TableInfo table;          ///< of a table without damage
  std::string description;  ///< the users' description of its contents (Table::describe); may be empty
};

/// The result of `inspect`, which neither opens nor locks the pool.
struct PoolInfo {
  std::string path;
  Medium medium = Medium::file;
  Domain domain = Domain::none;  ///< what writes by a CPU survive
  std::uint32_t version = 0;
  std::string pool_id;        ///< random, 32 hexadecimal digits: of this pool and no snapshot of it
  std::uint64_t created = 0;  ///< seconds since 1970
  std::uint64_t file_bytes = 0;
  std::uint64_t free_bytes = 0;  ///< of the file, between extents
  std::uint64_t generation = 0;  ///< commits to the directory until now
  unsigned valid_copies = 0;     ///< of the superblock, 1 or 2
  std::string owner;             ///< "process 4711 (python train.py, since 14:02)", advisory; empty if not open
  std::vector<ObjectInfo> objects;
};

/// Reads the superblock and directory of a pool. Needs no lock. Throws PoolNotFound, PoolCorrupt, PoolVersion.
PoolInfo inspect(const std::string& path);

/// Options of a snapshot.
struct SnapshotOptions {
  bool overwrite = false;         ///< replace a pool that no process has open (or an empty file)
  bool wait_for_sessions = true;  ///< false: throw InvalidArgument where a session is open
  /// The caller guarantees that no kernel or thread writes an open region or log of this pool until the end. Otherwise
  /// such a pool is refused with ObjectInUse. If the guarantee is wrong, the copy may contain parts of changes.
  bool writers_idle = false;
  unsigned threads = 0;       ///< that write; 0: 4, which mostly wait for the disk
  std::stop_token stop = {};  ///< checked every few hundredths of a second, and at the end; then no file is made
  /// Called on the calling thread at the beginning, before each check of `stop`, and at the end,
  /// with the bytes copied and the bytes to copy, which decrease when a table's compact copy is
  /// ready. Another thread copies and excludes changes of the tables: the function may use them,
  /// but a change waits until everything is copied.
  std::function<void(std::uint64_t done, std::uint64_t total)> progress = {};
};

/// The result of a snapshot.
struct SnapshotResult {
  std::uint64_t items = 0;  ///< of tables and stores that are open; of a store, unlike `check`, with expired ones
  std::uint64_t damaged =
      0;  ///< items and pieces of these stores that did not verify at their opening, and are in the copy as they are
  std::uint64_t bytes = 0;    ///< of all extents
  std::uint64_t written = 0;  ///< of them; ranges of zeros are not written
  double held_ms = 0;         ///< how long changes were kept waiting, once the running ones had ended
  double total_ms = 0;        ///< until it was on its device under its name
  bool stopped = false;       ///< `SnapshotOptions::stop` was requested; there is no snapshot
  /// The names of objects that are not in the copy: the file was cut short (`PoolOptions::salvage`), and they were not open.
  std::vector<std::string> left_out;
};

/// The result of `check`.
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
  std::vector<std::string> repairs;  ///< what opening repaired in the superblock after a kill; not errors
  std::vector<std::string>
      checked;  ///< what was verified: "every slot and cell"; of a pool a line an object, with its name
  std::vector<std::string> errors;  ///< empty: all that was verified is in order
};

class Table;

/// Options of opening a pool.
struct PoolOptions {
  bool read_only = false;  ///< shares the pool with other readers
  bool salvage = false;  ///< open objects after a power cut all the same (PowerLost otherwise); with read_only, recover
                         ///< private copies in memory: the file is not written, and may have been cut short; then
                         ///< tables and stores open with what is left of them, and other objects if they are whole
};

/// An open pool. A handle: copies refer to the same pool, which stays open, and locked, until `close` or until
/// the last handle and the last of its tables are gone. Thread-safe. Include <holdfast/table.hpp> to use it.
class Pool {
 public:
  /// Makes an empty pool with permissions for its owner only. It begins small, and grows.
  /// Throws PoolExists, PoolInUse, ObjectInUse (overwriting an open one), NoSpace, MediumError.
  static Pool create(const std::string& path, bool overwrite = false);
  /// The same, and calls `fill(pool)` before the pool has its name. If `fill` throws, there is no new pool.
  static Pool create(const std::string& path, bool overwrite, const std::function<void(Pool&)>& fill);
  /// Opens a pool. Throws PoolNotFound, PoolInUse, ObjectInUse, PoolCorrupt, PoolVersion, MediumError.
  static Pool open(const std::string& path, const PoolOptions& options = {});

  /// Makes a table. With `overwrite` it atomically replaces a table of that name.
  /// Throws InvalidArgument, ObjectExists, ObjectInUse, PoolMismatch (an object
  /// of another kind has the name), NoSpace, DeviceError; then nothing changed.
  Table create_table(const std::string& name, const CreateOptions& options);
  /// Opens a table, once at a time. Throws ObjectNotFound, ObjectInUse, PoolMismatch, PoolVersion, PoolCorrupt, PowerLost.
  Table table(const std::string& name, const OpenOptions& options);
  Table table(const std::string& name);

  std::vector<ObjectInfo> objects() const;
  /// Renames an object, open or not; durable when it returns. With `overwrite` it atomically replaces an object of
  /// its kind with the name `to`. Throws ObjectNotFound, ObjectExists, ObjectInUse, PoolMismatch, InvalidArgument.
  void rename(const std::string& name, const std::string& to, bool overwrite = false);
  /// Removes an object and frees its space. Durable when it returns. Throws ObjectNotFound, ObjectInUse.
  void drop(const std::string& name);

  /// Copies all objects, open or not, as they are at one moment, to a new pool file on any medium. The file is readable only
  /// by its owner, closed, clean, and has a new id; it gets its name when it is complete and on its device. A table of at least
  /// twice the size that its items need has that size in the copy. Searches continue, and after a moment changes of stores do.
  /// Changes of the pool's tables, saves of checkpoints, new sections of regions, and `sync`, `check` and `close` wait until
  /// everything is copied. For regions and logs see `SnapshotOptions::writers_idle`. docs/durability.md, "Snapshots". Throws
  /// ObjectInUse, PoolExists, PoolInUse, NoSpace, MediumError, SystemError, ObjectClosed; then there is no file.
  SnapshotResult snapshot(const std::string& path, const SnapshotOptions& options = {});
  /// Verifies every object: all of a table, the checksums of a checkpoint, the tails of a log, the header of a
  /// region. Opens those that are not open. The report has the sums over all, and names the object of each error.
  CheckReport check();
  /// Verifies one object. Throws ObjectNotFound, PoolCorrupt, PoolVersion.
  CheckReport check(const std::string& name);

  /// Closes the tables that are open, and then the pool. Idempotent.
  void close();
  bool is_open() const;
  const std::string& path() const;

 private:
  friend class Table;
  friend struct PoolAccess;  // what other kinds of objects are made through: src/table/pool_impl.hpp
  class Impl;
  explicit Pool(std::shared_ptr<Impl> impl);
  Held<std::shared_ptr<Impl>> impl_;
};

}  // namespace holdfast
