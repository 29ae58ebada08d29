// table.hpp: the durable key-value index, as a C++ program uses it. CUDA is not needed to include it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "holdfast/batch.hpp"
#include "holdfast/error.hpp"
#include "holdfast/held.hpp"
#include "holdfast/options.hpp"
#include "holdfast/pool.hpp"
#include "holdfast/rows.hpp"
#include "holdfast/selection.hpp"
#include "holdfast/stats.hpp"
#include "holdfast/strings.hpp"

namespace holdfast {

/// The name of the table in a pool that `Table::create` made.
inline constexpr const char* kTableName = "table";

/// The place in an export's cursor: `cursor & kExportPlace` begins another export there.
/// In an unchanged pool it continues where the previous one was, in another process too.
inline constexpr std::uint64_t kExportPlace = (std::uint64_t{1} << 48) - 1;

class DeviceWalk;
class Epoch;
class Session;

/// A durable table in a pool file. Movable, not copyable; a moved-from table throws ObjectClosed. Several host threads may submit batches.
class Table : public TypedBatches<Table>, public StringBatches<Table> {
 public:
  /// Makes a pool with this one table, named kTableName. Throws as Pool::create and Pool::create_table.
  static Table create(const std::string& path, const CreateOptions& options = {});
  /// Does the same and then calls `fill`, which puts items into the table and may move from it. The file gets its
  /// name after that: if `fill` throws, an earlier pool stays (except on a DAX device, which has one place for both).
  static Table create(const std::string& path, const CreateOptions& options, const std::function<void(Table&)>& fill);
  /// Opens the table of a pool that has no other object. Throws as Pool::open and Pool::table; InvalidArgument, with the names,
  /// where there are several objects.
  static Table open(const std::string& path, const OpenOptions& options = {});

  Table(Table&&) noexcept;
  Table& operator=(Table&&) noexcept;
  ~Table();  ///< closes

  /// Runs a batch. When it returns (or `stream` gets there), everything it acknowledged is in
  /// the pool's persistence domain. Throws InvalidArgument, ReadOnly, ObjectClosed, DeviceError.
  BatchResult run(const Batch& batch);
  /// Runs what it can of a batch with at most 32 rows in host memory without waiting for other callers, and adds to `result`.
  /// Returns the first row that has not run: `run` does the rest, with that as `Batch::from`. Throws as `run`. For callers
  /// that must not wait, because they hold a lock that other callers of the table may need. `run` itself begins with it.
  std::size_t try_run(const Batch& batch, BatchResult& result);

  // One kind of operation each, for host arrays; TypedBatches (rows.hpp)
  // has them for ranges, and StringBatches (strings.hpp) for strings.
  using StringBatches::assign, StringBatches::contains, StringBatches::erase, StringBatches::find;
  using StringBatches::insert, StringBatches::insert_or_assign;
  using TypedBatches::accumulate, TypedBatches::assign, TypedBatches::contains, TypedBatches::erase, TypedBatches::find;
  using TypedBatches::insert, TypedBatches::insert_or_assign;
  BatchResult insert(KeyPointer keys, const void* values, std::size_t n, Status* statuses = nullptr);
  BatchResult insert_or_assign(KeyPointer keys, const void* values, std::size_t n, Status* statuses = nullptr);
  BatchResult assign(KeyPointer keys, const void* values, std::size_t n, Status* statuses = nullptr);
  BatchResult find(KeyPointer keys, void* values, std::size_t n, bool* found = nullptr);
  BatchResult contains(KeyPointer keys, std::size_t n, bool* found);
  /// Reads the score of each key's item; 0 if it is absent. Throws InvalidArgument if the table keeps none.
  BatchResult scores(KeyPointer keys, std::uint64_t* scores, std::size_t n, bool* found = nullptr);
  BatchResult erase(KeyPointer keys, std::size_t n, Status* statuses = nullptr);
  BatchResult accumulate(KeyPointer keys, const void* values, std::size_t n, Combine combine, Element element,
                         Status* statuses = nullptr);

  /// Copies up to `n` items to host memory, from `cursor` (0 begins an export; advanced; ~0 at the end).
  /// `values` may be null, and so may `scores`, which must be null if the table keeps none. A key that
  /// is present from the first call to the last appears exactly once, with a value that it had during
  /// the export, whatever other callers change; a key that comes or goes may or may not appear. Changes
  /// wait while a few thousand items are copied, but not between two calls. The table remembers the last
  /// 16 unfinished exports: throws InvalidArgument for a cursor of another, or one that was used before.
  /// After a resize, and on a GPU after inserts, the export keeps 8 bytes for each remaining key.
  std::size_t export_batch(std::uint64_t& cursor, void* keys, void* values, std::size_t n,
                           std::uint64_t* scores = nullptr);
  /// Forgets an export before its end.
  void end_export(std::uint64_t cursor);

  // Operations on selected items (selection.hpp); device_selection.cuh has them with
  // predicates on a GPU. A key that is present throughout is examined exactly once.
  /// Erases the selected items and returns how many. Each erase is atomic, and all are durable when it
  /// returns. Other changes wait while some thousand items are examined and erased; searches continue.
  std::uint64_t erase_if(const Selection& selection);
  std::uint64_t size_if(const Selection& selection);  ///< how many they are
  /// As export_batch. If `where` or `where_all` throws, the export omits the items that this call had read.
  std::size_t export_if(const Selection& selection, std::uint64_t& cursor, void* keys, void* values, std::size_t n,
                        std::uint64_t* scores = nullptr);

  /// The same for variable-length pairs; null for results that are not wanted.
  std::size_t export_pairs(std::uint64_t& cursor, Blobs* keys, Blobs* values, std::size_t n);

  /// Begins a session, in which the caller's kernels use the table on a GPU (session.hpp, table_ref.cuh). Reserves slots
  /// and cells for `max_changes` inserts, assigns and accumulations of all its kernels together; the table grows if it
  /// must. The session's kernels come after this point of `stream`, a cudaStream_t of the table's GPU. Returns without
  /// waiting if the table certainly has space. Throws InvalidArgument, NoSpace, ReadOnly, ObjectClosed, DeviceError.
  Session session(void* stream, std::uint64_t max_changes);

  /// Returns the users' description of the contents: UTF-8 text, stored with the table and copied by snapshots.
  /// The Python package stores the types of keys and values there (docs/format.md, "Description"). Empty: none.
  std::string description() const;
  /// Replaces the description, durably and atomically. Throws InvalidArgument
  /// for more than 3072 bytes, ReadOnly, MediumError, ObjectClosed.
  void describe(std::string_view text);

  Score score() const;  ///< what its scores say
  /// Sets the step that later changes store as their score. A table that is opened again begins with the largest step of its
  /// changes. A batch uses the step at its call. Throws InvalidArgument if the table keeps scores of another kind or none.
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

  void clear();                       ///< removes every item, durably; the file keeps its size
  void reserve(std::uint64_t items);  ///< grows so that `items` fit without another resize. Throws NoSpace
  /// Copies the table's pool as it is between two batches: Pool::snapshot.
  SnapshotResult snapshot(const std::string& path, const SnapshotOptions& options = {});

  /// Loads the buckets and values that are searched for most (CacheOptions) into GPU memory, and waits for them;
  /// other batches continue. Does nothing if all or none are to have copies. Throws ObjectClosed, DeviceError.
  void load_cache();

  void sync();          ///< waits for batches; puts the file on its device; sets the clean mark
  void close();         ///< sync, unmap, unlock. Idempotent
  CheckReport check();  ///< verifies every slot and cell
  Stats stats() const;

 private:
  friend class DeviceWalk;
  friend class Epoch;
  friend class Pool;
  class Impl;
  explicit Table(std::shared_ptr<Impl> impl);
  Held<std::shared_ptr<Impl>> impl_;
};

/// Opens the pool as recovery would, verifies every slot and cell of its tables, or of the named one, and closes it
/// again. With `repair` false the file is not written: a table that needs recovery is recovered in private memory.
CheckReport check(const std::string& path, bool repair = false, const std::string& name = {});

/// Returns the number of usable GPUs: 0 without CUDA or without a device. `why` gets the reason.
int cuda_devices(std::string* why = nullptr);

}  // namespace holdfast
