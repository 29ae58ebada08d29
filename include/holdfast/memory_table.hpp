// memory_table.hpp: a volatile key-value table at the speed of DRAM, with the operations of Table.
//
// DRAMHiT (Narayanan et al., EuroSys 2023). Items with keys of 8 bytes and values of up to 8 are
// stored four to a cache line; others, up to 64 bytes each, in records with a version. Needs no GPU.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "holdfast/batch.hpp"
#include "holdfast/error.hpp"
#include "holdfast/held.hpp"
#include "holdfast/rows.hpp"
#include "holdfast/status.hpp"

namespace holdfast {

/// Options of making a table in memory. Sizes of keys and values never change.
struct MemoryOptions {
  std::uint32_t key_bytes = 8;       ///< 8, or another multiple of 8 up to 64
  std::uint32_t value_bytes = 8;     ///< 0 (a set) to 64
  std::uint64_t capacity = 1 << 20;  ///< items to make space for, at three quarters full; the table grows past it
  unsigned threads = 0;              ///< that a batch may use, 1024 at most; 0: as many as processors, 8 at most
  bool grows = true;                 ///< false: a row without a slot reports `no_space`
  bool huge_pages = true;
  bool interleave = true;  ///< pages are interleaved over all NUMA nodes
  bool populate = false;   ///< allocate every page at once, instead of at its first use
  unsigned depth = 0;      ///< lines that a thread prefetches, up to 127, sums at least 96; 0: 64
  std::uint64_t seed = 0;  ///< of the hash; 0: random
  /// Not 0: DRAMHiT-P. Each partition is changed by one thread of the table, and read by all threads; a
  /// handle's changes are messages to it, without results. For items of 16 bytes; the table does not grow.
  unsigned partitions = 0;
};

/// Figures about a table in memory, by subject. Counts begin when the table is made.
struct MemoryStats {
  /// Its execution.
  struct Machine {
    unsigned threads = 1;  ///< that a batch may use
    unsigned nodes = 1;    ///< NUMA nodes of the machine
    std::string tile;      ///< instructions that examine a line: portable, avx2 or avx512
  } machine;

  /// Its contents and memory.
  struct Space {
    std::uint64_t size = 0;    ///< items
    std::uint64_t slots = 0;   ///< items that the present array could hold
    std::uint64_t bytes = 0;   ///< of the present array
    bool interleaved = false;  ///< its pages are interleaved over all NUMA nodes
  } space;

  /// Counts of batches and handles.
  struct Work {
    std::uint64_t operations = 0;  ///< answered
    std::uint64_t lines = 0;       ///< cache lines, or records, examined for them
    std::uint64_t growths = 0;     ///< moves to another array; some of the same size
  } work;

  /// Of a partitioned table.
  struct Partitions {
    unsigned count = 0;         ///< 0: it is none
    std::uint64_t refused = 0;  ///< changes of handles whose partition had no free slot
  } partitions;
};

/// Results of a handle, in any order: row i belongs to the operation with `ids[i]`. The caller's memory.
struct MemoryAnswers {
  std::span<std::uint64_t> ids;  ///< as many as there is space for
  std::span<Status> statuses;    ///< as many, or none
  std::span<std::byte> values;   ///< `value_bytes` each, or none; zeros where nothing was read
  std::size_t size = 0;          ///< filled in; set it to 0 after reading the results
};

class MemoryTable;

/// One thread's queue of operations on a table, which wait for prefetched memory. Each
/// call returns results that are ready, of this or of earlier calls. A handle belongs
/// to one thread at a time (checked builds verify this) and must not outlive its table.
///
/// A call takes fewer operations than it was given only if there is no space for results: the others can be
/// given again, and those taken stay queued. Changes of one handle to one key take effect in order. Searches see
/// earlier changes of this handle; they see those of other handles once these have been answered or flushed.
///
/// In a partitioned table changes (find_or_insert is one) return no results, searches may overtake them, and `flush` returns
/// when all are done. A call does not take a change for a full partition, nor anything after it.
class MemoryHandle {
 public:
  MemoryHandle(MemoryHandle&&) noexcept;
  MemoryHandle& operator=(MemoryHandle&&) noexcept;
  ~MemoryHandle();  ///< finishes queued operations, without results

  /// Queues operations and returns how many were taken. `keys` is (n, key_bytes), `values` (n, value_bytes);
  /// `ids` are n of the caller's own, or none: then they are 0 to n - 1. Throws InvalidArgument.
  std::size_t get(const void* keys, std::span<const std::uint64_t> ids, std::size_t n, MemoryAnswers& answers);
  /// Adds each key with its value, or replaces its value (insert_or_assign).
  std::size_t put(const void* keys, const void* values, std::span<const std::uint64_t> ids, std::size_t n,
                  MemoryAnswers& answers);
  /// Combines each value with the present one, as the handle's options say, or adds the key with it.
  std::size_t upsert(const void* keys, const void* values, std::span<const std::uint64_t> ids, std::size_t n,
                     MemoryAnswers& answers);
  std::size_t erase(const void* keys, std::span<const std::uint64_t> ids, std::size_t n, MemoryAnswers& answers);
  /// Adds each key with its value; a key that is present keeps its value, and the status is `exists`.
  std::size_t insert(const void* keys, const void* values, std::span<const std::uint64_t> ids, std::size_t n,
                     MemoryAnswers& answers);
  /// Replaces the value of each key that is present; the status of others is `not_found`.
  std::size_t assign(const void* keys, const void* values, std::span<const std::uint64_t> ids, std::size_t n,
                     MemoryAnswers& answers);
  /// As insert, and returns the value that the key then has; the status of a key that was present is `found`.
  std::size_t find_or_insert(const void* keys, const void* values, std::span<const std::uint64_t> ids, std::size_t n,
                             MemoryAnswers& answers);

  /// Completes queued operations. True: the queue is empty; false: there is no space for more results.
  bool flush(MemoryAnswers& answers);
  std::size_t waiting() const;

 private:
  friend class MemoryTable;
  class Impl;
  explicit MemoryHandle(std::unique_ptr<Impl> impl);
  Held<std::unique_ptr<Impl>> impl_;
};

struct MemoryHandleOptions {
  bool silent = false;             ///< changes return no results; queued sums of one key are combined
  Combine combine = Combine::add;  ///< of upsert
  Element element = Element::u64;
  unsigned depth = 0;  ///< as the table's option; 0: the same
};

/// A table in memory. Movable, not copyable; a moved-from table throws ObjectClosed. Several threads may use it with batches and handles.
///
/// A forked child has a copy of the table, with new threads: fork waits for running calls, and
/// calls wait for fork. Operations queued in other threads' handles are not executed there. In
/// the child a partitioned table can only be read; changes and `handle` throw ObjectClosed.
class MemoryTable : public TypedBatches<MemoryTable> {
 public:
  /// Throws InvalidArgument, NoSpace; SystemError if the system starts too few threads for the partitions.
  explicit MemoryTable(const MemoryOptions& options = {});
  MemoryTable(MemoryTable&&) noexcept;
  MemoryTable& operator=(MemoryTable&&) noexcept;
  ~MemoryTable();

  /// Returns a queue for the calling thread. Throws InvalidArgument.
  MemoryHandle handle(const MemoryHandleOptions& options = {});

  /// Runs a batch, as Table does; arrays are in host memory, keys and values whole. Throws InvalidArgument.
  BatchResult run(const Batch& batch);

  // The same, one kind of operation each; TypedBatches (rows.hpp) has them for ranges.
  using TypedBatches::accumulate, TypedBatches::assign, TypedBatches::contains, TypedBatches::erase, TypedBatches::find;
  using TypedBatches::insert, TypedBatches::insert_or_assign;
  BatchResult insert(KeyPointer keys, const void* values, std::size_t n, Status* statuses = nullptr);
  BatchResult insert_or_assign(KeyPointer keys, const void* values, std::size_t n, Status* statuses = nullptr);
  BatchResult assign(KeyPointer keys, const void* values, std::size_t n, Status* statuses = nullptr);
  BatchResult find(KeyPointer keys, void* values, std::size_t n, bool* found = nullptr);
  BatchResult contains(KeyPointer keys, std::size_t n, bool* found);
  BatchResult erase(KeyPointer keys, std::size_t n, Status* statuses = nullptr);
  BatchResult accumulate(KeyPointer keys, const void* values, std::size_t n, Combine combine, Element element,
                         Status* statuses = nullptr);

  /// Copies up to `n` items, from `cursor` (0 begins; advanced; ~0 at the end), in the order of their
  /// hashes. `values` may be null. A key that is present from the first call to the last appears exactly
  /// once, with a value that it had in that time. Changes wait for no export; an export waits for a
  /// half-done write of an item that moves or of a larger one. No state is kept between two calls.
  std::size_t export_batch(std::uint64_t& cursor, void* keys, void* values, std::size_t n);

  std::uint64_t size() const;
  std::uint64_t slots() const;
  double load_factor() const;
  std::uint32_t key_bytes() const;
  std::uint32_t value_bytes() const;
  void clear();                       ///< removes every item. Throws NoSpace: needs memory for as many slots again
  void reserve(std::uint64_t items);  ///< grows so that `items` fit. Throws NoSpace
  MemoryStats stats() const;

 private:
  friend class MemoryHandle;
  class Impl;
  Held<std::unique_ptr<Impl>> impl_;
};

}  // namespace holdfast
