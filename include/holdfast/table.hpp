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

/// The place in an export's cursor: `cursor & kExportPlace` begins another export there. In a pool that nobody changed
/// meanwhile, it goes on where the one before was, in another process too.
inline constexpr std::uint64_t kExportPlace = (std::uint64_t{1} << 48) - 1;

class DeviceWalk;
class Session;

/// A durable table in a pool file. Movable, not copyable; what was moved from throws TableClosed. Batches may come from several host threads at once.
class Table : public TypedBatches<Table>, public StringBatches<Table> {
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

  // The same, one kind of operation each, for host arrays; TypedBatches (rows.hpp) has them for ranges, and
  // StringBatches (strings.hpp) for strings.
  using StringBatches::assign, StringBatches::contains, StringBatches::erase, StringBatches::find;
  using StringBatches::insert, StringBatches::insert_or_assign;
  using TypedBatches::accumulate, TypedBatches::assign, TypedBatches::contains, TypedBatches::erase, TypedBatches::find;
  using TypedBatches::insert, TypedBatches::insert_or_assign;
  BatchResult insert(KeyPointer keys, const void* values, std::size_t n, Status* statuses = nullptr);
  BatchResult insert_or_assign(KeyPointer keys, const void* values, std::size_t n, Status* statuses = nullptr);
  BatchResult assign(KeyPointer keys, const void* values, std::size_t n, Status* statuses = nullptr);
  BatchResult find(KeyPointer keys, void* values, std::size_t n, bool* found = nullptr);
  BatchResult contains(KeyPointer keys, std::size_t n, bool* found);
  /// The score of each key's item; 0 where it is absent. Throws InvalidArgument where the table keeps none.
  BatchResult scores(KeyPointer keys, std::uint64_t* scores, std::size_t n, bool* found = nullptr);
  BatchResult erase(KeyPointer keys, std::size_t n, Status* statuses = nullptr);
  BatchResult accumulate(KeyPointer keys, const void* values, std::size_t n, Combine combine, Element element,
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

  /// What the table's users say of its contents: UTF-8 text, kept with the table and copied by snapshots. The Python package writes
  /// the types of keys and values there (docs/format.md, "Description"). Empty: nothing.
  std::string description() const;
  /// Replaces the description, durably: after a crash it is the old or the new one. Throws InvalidArgument for more than 3072 bytes,
  /// ReadOnly, MediumError, TableClosed.
  void describe(std::string_view text);

  Score score() const;  ///< what its scores say
  /// Of a table with scores of steps: what changes set from now on. A table that is opened again begins with the largest one that its
  /// changes were given. A batch takes the step as of its call. Throws InvalidArgument where scores are of another kind.
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
  Held<std::shared_ptr<Impl>> impl_;
};

/// Opens the pool as its recovery would, verifies every slot and cell of its tables, or of the one of that name, and closes it
/// again. With `repair` false the file is not written: a table that needs recovery is recovered in private memory.
CheckReport check(const std::string& path, bool repair = false, const std::string& name = {});

/// The GPUs this build can use: 0 without CUDA or without a device. `why` says the reason.
int cuda_devices(std::string* why = nullptr);

}  // namespace holdfast
