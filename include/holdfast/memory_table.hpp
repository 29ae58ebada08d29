// memory_table.hpp: a key-value table in memory, at the speed of DRAM, with the operations of Table. Nothing in it is durable.
//
// DRAMHiT (Narayanan et al., EuroSys 2023). Keys of 8 bytes with values of up to 8 lie four to a cache line; others, up to 64
// bytes each, in records with a version. Needs no GPU.
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

/// How a table in memory is made. Sizes of keys and values never change afterwards.
struct MemoryOptions {
  std::uint32_t key_bytes = 8;       ///< 8, or another multiple of 8 up to 64
  std::uint32_t value_bytes = 8;     ///< 0 (a set) to 64
  std::uint64_t capacity = 1 << 20;  ///< items to make space for, at three quarters full; the table grows past it
  unsigned threads = 0;              ///< that a batch may use, 1024 at most; 0: all, 8 at most
  bool grows = true;                 ///< else what finds no slot is `no_space`
  bool huge_pages = true;
  bool interleave = true;  ///< pages are interleaved over all NUMA nodes
  bool populate = false;   ///< get every page from the system at once, and not when it is first touched
  unsigned depth = 0;      ///< lines that a thread waits for, up to 127, silent sums for 96 at least; 0: as measured
  std::uint64_t seed = 0;  ///< of the hash; 0: random
  /// Not 0: DRAMHiT-P. Each partition is changed by a thread of the table's own, and read by anybody; a handle's changes are
  /// messages to it, and give no answers. For items of 16 bytes; the table does not grow.
  unsigned partitions = 0;
};

/// Figures about a table in memory, by subject. Counts begin when the table is made.
struct MemoryStats {
  /// What works on it.
  struct Machine {
    unsigned threads = 1;  ///< that a batch may use
    unsigned nodes = 1;    ///< NUMA nodes of the machine
    std::string tile;      ///< instructions that look at a line: portable, avx2 or avx512
  } machine;

  /// What is in it, and where that lies.
  struct Space {
    std::uint64_t size = 0;    ///< items
    std::uint64_t slots = 0;   ///< items that the present array could hold
    std::uint64_t bytes = 0;   ///< of the present array
    bool interleaved = false;  ///< its pages are interleaved over all NUMA nodes
  } space;

  /// What batches and handles did.
  struct Work {
    std::uint64_t operations = 0;  ///< answered
    std::uint64_t lines = 0;       ///< cache lines, or records, looked at for them
    std::uint64_t growths = 0;     ///< moves to another array; some only tidy up
  } work;

  /// Of a partitioned table.
  struct Partitions {
    unsigned count = 0;         ///< 0: it is none
    std::uint64_t refused = 0;  ///< changes of handles that came when their partition had no slot left
  } partitions;
};

/// Answers of a handle, in any order: row i is about the operation that was given `ids[i]`. The caller's memory.
struct MemoryAnswers {
  std::span<std::uint64_t> ids;  ///< as many as there is space for
  std::span<Status> statuses;    ///< as many, or none
  std::span<std::byte> values;   ///< `value_bytes` each, or none; zeros where nothing was read
  std::size_t size = 0;          ///< filled in; set it to 0 when they have been read
};

class MemoryTable;

/// One thread's queue of operations on a table: they wait until the memory that they need has arrived. Each call gives back
/// answers that are ready, of this or of earlier calls. A handle belongs to one thread at a time (checked builds make sure)
/// and must not outlive its table.
///
/// A call takes fewer operations than it was given only where there is no space for answers: what was not taken can be given
/// again, what was stays queued. Changes of one handle to one key take effect in their order. Searches see what changes of
/// this handle did before; those of other handles, once those have been answered, or flushed.
///
/// In a partitioned table changes give no answers, searches may come before them, and `flush` returns when all are done. A call
/// takes none that goes to a full partition, nor what comes after it.
class MemoryHandle {
 public:
  MemoryHandle(MemoryHandle&&) noexcept;
  MemoryHandle& operator=(MemoryHandle&&) noexcept;
  ~MemoryHandle();  ///< finishes what waits, without answers

  /// `keys` is (n, key_bytes), `values` (n, value_bytes); `ids` are n of the caller's own, or none: then they are 0 to n - 1.
  /// How many were taken. Throws InvalidArgument.
  std::size_t get(const void* keys, std::span<const std::uint64_t> ids, std::size_t n, MemoryAnswers& answers);
  /// Adds each key with its value, or replaces the value that is there.
  std::size_t put(const void* keys, const void* values, std::span<const std::uint64_t> ids, std::size_t n,
                  MemoryAnswers& answers);
  /// Combines each value with the one that is there, as the handle's options say, or adds the key with it.
  std::size_t upsert(const void* keys, const void* values, std::span<const std::uint64_t> ids, std::size_t n,
                     MemoryAnswers& answers);
  std::size_t erase(const void* keys, std::span<const std::uint64_t> ids, std::size_t n, MemoryAnswers& answers);

  /// Answers what waits. True: nothing waits any more; false: there is no space for more answers.
  bool flush(MemoryAnswers& answers);
  std::size_t waiting() const;

 private:
  friend class MemoryTable;
  class Impl;
  explicit MemoryHandle(std::unique_ptr<Impl> impl);
  Held<std::unique_ptr<Impl>> impl_;
};

struct MemoryHandleOptions {
  bool silent = false;  ///< changes give no answers; then sums of one key that wait in the queue become one change
  Combine combine = Combine::add;  ///< of upsert
  Element element = Element::u64;
  unsigned depth = 0;  ///< as the table's option; 0: the same
};

/// A table in memory. Movable, not copyable; what was moved from throws TableClosed. Batches and handles of several threads may use it at once.
///
/// A child of fork has the table as it was, with threads of its own: a fork waits for the calls that run, and calls wait for it.
/// What waited in other threads' handles is not done there. A partitioned table is only read there; what changes it, and
/// `handle`, throw TableClosed.
class MemoryTable : public TypedBatches<MemoryTable> {
 public:
  /// Throws InvalidArgument, NoSpace; SystemError where the system starts too few threads for the partitions.
  explicit MemoryTable(const MemoryOptions& options = {});
  MemoryTable(MemoryTable&&) noexcept;
  MemoryTable& operator=(MemoryTable&&) noexcept;
  ~MemoryTable();

  /// A queue for the calling thread. Throws InvalidArgument.
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

  /// Copies up to `n` items, from `cursor` (0 begins; advanced; ~0 at the end), in the order of their hashes. `values` may be
  /// null. A key that is there from the first call to the last appears exactly once, with a value that it had meanwhile,
  /// whatever others do to the table. Changes wait for no export; an export waits for a write that is half done, of an item
  /// that moves or of a larger one. Nothing is remembered between two calls.
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
