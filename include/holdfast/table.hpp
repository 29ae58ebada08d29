// table.hpp: the durable key-value index, as a C++ program uses it. CUDA is not needed to include it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "holdfast/blobs.hpp"
#include "holdfast/cache.hpp"
#include "holdfast/error.hpp"
#include "holdfast/pool.hpp"
#include "holdfast/score.hpp"
#include "holdfast/selection.hpp"
#include "holdfast/status.hpp"

namespace holdfast {

/// The name of the table in a pool that `Table::create` made.
inline constexpr const char* kTableName = "table";

/// The place in an export's cursor: `cursor & kExportPlace` begins another export there. In a pool that nobody changed
/// meanwhile, it goes on where the one before was, in another process too.
inline constexpr std::uint64_t kExportPlace = (std::uint64_t{1} << 48) - 1;

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

/// Operations over arrays, submitted together: the unit of ordering, of cell reuse and of durability. Those on one key, its reads too,
/// take effect in array order.
/// Pointers are all to host memory, or all to memory of the table's device (`on_device`).
struct Batch {
  std::size_t size = 0;  ///< n
  Op op = Op::find;
  const std::uint8_t* ops = nullptr;  ///< (n,) an `Op` each; overrides `op`
  const void* keys = nullptr;         ///< (n, key_bytes)
  const void* values = nullptr;       ///< (n, value_bytes), read by operations that take a value
  void* out = nullptr;                ///< (n, value_bytes), written by operations that read one; absent: zeros
  Status* statuses = nullptr;         ///< (n,) or null
  bool* found = nullptr;              ///< (n,) or null: the key was there before the operation
  std::uint64_t* scores = nullptr;  ///< (n,) or null: of a batch that only searches, the items' scores; 0 where absent
  const std::uint8_t* mask = nullptr;  ///< (n,) or null: 0 skips the operation (`not_run`)
  Combine combine = Combine::add;      ///< for accumulate
  Element element = Element::u64;      ///< for accumulate; value_bytes is a multiple of its size
  double scale = 1;  ///< for accumulate: adds scale × value; not 1 only to add floating-point elements
  /// Not 0: the batch is about bytes [column, column + column_bytes) of each value alone. Rows of `values` and `out` are so
  /// long; the other bytes of a value stay as they are, and are zero for a new key. Of a search these bytes alone are read. On a GPU
  /// columns that begin and end at multiples of 16 bytes are the fastest, and then those at multiples of 8.
  std::uint32_t column = 0, column_bytes = 0;
  // Of variable-length pairs: the bytes of all rows lie one after another in `keys` and `values`, and these say where each begins
  // and the last ends. Results of reads go to `blobs`, in host memory, not to `out`; with `on_device` they can stay in GPU memory.
  // A batch of arrays in GPU memory has ended when `run` returns.
  const std::uint64_t* key_offsets = nullptr;    ///< (n + 1,)
  const std::uint64_t* value_offsets = nullptr;  ///< (n + 1,)
  Blobs* blobs = nullptr;                        ///< or null
  DeviceBlobs* device_blobs = nullptr;           ///< instead, with `on_device`, for at most 2^30 rows
  bool unique = false;                           ///< the caller promises that no key repeats
  bool on_device = false;
  void* stream = nullptr;  ///< a cudaStream_t; durable when the stream gets there
  /// Asked on the calling thread after each piece of the batch, of a hundred thousand rows or so, while changes of the table still wait or
  /// run beside it: it must not use the table. True: the batch leaves the table, and what remains is `not_run` unless `resume`
  /// says otherwise. What others do to the table meanwhile, a snapshot for example, comes between two pieces.
  std::function<bool()> stop;
  /// Called when `stop` said so and nothing of the table is held any more: it may do anything with the table, close it too.
  /// True: go on where the batch stopped. Errors from then on, TableClosed among them, leave what has not run `not_run`.
  std::function<bool()> resume;
};

/// Counts of what a batch did.
struct BatchResult {
  std::uint64_t count[kStatuses] = {};  ///< by Status; not filled in for asynchronous device batches
  bool stopped = false;
  std::uint64_t of(Status s) const { return count[static_cast<unsigned>(s)]; }
};

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

class DeviceWalk;
class Session;

/// A durable table in a pool file. Movable, not copyable. Batches may come from several host threads at once.
class Table {
 public:
  /// The short way: a pool of its own with this one table, named kTableName. Throws as Pool::create and Pool::create_table.
  static Table create(const std::string& path, const CreateOptions& options = {});
  /// The same, with the items that `fill` puts into the table, which it may also move from. The file has its name only then: if
  /// `fill` throws, what was there before stays (but on a DAX device, which has one place for both).
  static Table create(const std::string& path, const CreateOptions& options, const std::function<void(Table&)>& fill);
  /// Opens the table of a pool that has no other object. Throws as Pool::open and Pool::table; InvalidArgument, with the names,
  /// where there are several objects.
  static Table open(const std::string& path, const OpenOptions& options = {});

  Table(Table&&) noexcept;
  Table& operator=(Table&&) noexcept;
  ~Table();  ///< closes

  /// Runs a batch. When it returns (or `stream` gets there), all that it acknowledged is in the
  /// pool's persistence domain. Throws InvalidArgument, ReadOnly, TableClosed, DeviceError.
  BatchResult run(const Batch& batch);

  // The same, one kind of operation each, for host arrays.
  BatchResult insert(const void* keys, const void* values, std::size_t n, Status* statuses = nullptr);
  BatchResult insert_or_assign(const void* keys, const void* values, std::size_t n, Status* statuses = nullptr);
  BatchResult assign(const void* keys, const void* values, std::size_t n, Status* statuses = nullptr);
  BatchResult find(const void* keys, void* values, std::size_t n, bool* found = nullptr);
  BatchResult contains(const void* keys, std::size_t n, bool* found);
  /// The score of each key's item; 0 where it is absent. Throws InvalidArgument where the table keeps none.
  BatchResult scores(const void* keys, std::uint64_t* scores, std::size_t n, bool* found = nullptr);
  BatchResult erase(const void* keys, std::size_t n, Status* statuses = nullptr);
  BatchResult accumulate(const void* keys, const void* values, std::size_t n, Combine combine, Element element,
                         Status* statuses = nullptr);

  /// Copies up to `n` items to host memory, from `cursor` (0 begins an export; advanced; ~0 at the end). `values` may be
  /// null, and so may `scores`, which it is where the table keeps none. A key that is there from the first call to the last
  /// appears exactly once, with a value that it had meanwhile, whatever others do to the table; one that comes or goes
  /// meanwhile may or may not appear. Changes wait while a few thousand items are copied; between two calls nothing waits.
  /// The table remembers the last 16 exports that have not come to their end: throws InvalidArgument for a cursor of
  /// another, or one that was used before. After a resize, and on a GPU after inserts, 8 bytes are kept for each key that
  /// is left.
  std::size_t export_batch(std::uint64_t& cursor, void* keys, void* values, std::size_t n,
                           std::uint64_t* scores = nullptr);
  /// Forgets an export before its end.
  void end_export(std::uint64_t cursor);

  // On the items that a selection means (selection.hpp); device_selection.cuh has the same by predicates that run on a GPU. A key
  // that is there throughout is looked at exactly once.
  /// Erases them, and returns how many. Each erase is as durable and whole as one of a batch, and all are durable when it
  /// returns. Other changes wait while some thousand items are looked at and erased; searches go on.
  std::uint64_t erase_if(const Selection& selection);
  std::uint64_t size_if(const Selection& selection);  ///< how many they are
  /// As export_batch. If `where` or `where_all` throws, the items that this call had read are left out of the export.
  std::size_t export_if(const Selection& selection, std::uint64_t& cursor, void* keys, void* values, std::size_t n,
                        std::uint64_t* scores = nullptr);

  /// The same for variable-length pairs; what is null is not wanted.
  std::size_t export_pairs(std::uint64_t& cursor, Blobs* keys, Blobs* values, std::size_t n);

  /// Lets the caller's own kernels work on the table, on a GPU (session.hpp, table_ref.cuh): `max_changes` inserts, assigns and
  /// accumulations at most, all kernels of the session together, for which it reserves slots and cells; the table grows if it must.
  /// `stream`, a cudaStream_t of the table's GPU, is where the session begins: its kernels come after that. Returns without waiting
  /// where the table surely has space. Throws InvalidArgument, NoSpace, ReadOnly, TableClosed, DeviceError.
  Session session(void* stream, std::uint64_t max_changes);

  Score score() const;  ///< what its scores say
  /// Of a table with scores of steps: what changes set from now on. Volatile: 0 when the table is opened. A batch takes the step as of
  /// its call. Throws InvalidArgument where scores are of another kind.
  void set_step(std::uint64_t step);
  std::uint64_t step() const;

  std::uint64_t size() const;
  std::uint64_t slots() const;  ///< of all levels
  double load_factor() const;
  std::uint32_t key_bytes() const;
  std::uint32_t value_bytes() const;
  const std::string& path() const;
  bool is_open() const;
  bool on_gpu() const;

  void clear();                       ///< removes every item, durably
  void reserve(std::uint64_t items);  ///< grows so that `items` fit without another resize. Throws NoSpace
  /// Copies the table's pool as it is between two batches: Pool::snapshot.
  SnapshotResult snapshot(const std::string& path, const SnapshotOptions& options = {});

  /// Takes the buckets and values that are searched for most (CacheOptions) into GPU memory, and waits until they are there;
  /// other batches go on meanwhile. Where all or nothing has a copy it does nothing. Throws TableClosed, DeviceError.
  void load_cache();

  void sync();          ///< waits for batches; puts the file on its device; sets the clean mark
  void close();         ///< sync, unmap, unlock. Idempotent
  CheckReport check();  ///< verifies every slot and cell
  Stats stats() const;

 private:
  friend class DeviceWalk;
  friend class Pool;
  class Impl;
  explicit Table(std::shared_ptr<Impl> impl);
  std::shared_ptr<Impl> impl_;
};

/// Opens the pool as its recovery would, verifies every slot and cell of its tables, or of the one of that name, and closes it
/// again. With `repair` false the file is not written: a table that needs recovery is recovered in private memory.
CheckReport check(const std::string& path, bool repair = false, const std::string& name = {});

/// The GPUs this build can use: 0 without CUDA or without a device. `why` says the reason.
int cuda_devices(std::string* why = nullptr);

}  // namespace holdfast
