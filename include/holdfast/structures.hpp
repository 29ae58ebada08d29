// structures.hpp: persistent hash tables for CPUs from the literature, as objects of a pool: references to compare a Table with.
//
//   holdfast::Pool pool = holdfast::Pool::create("pool.hold");
//   holdfast::GroupTable ids = holdfast::GroupTable::create(pool, "ids", {.cells = 1'000'000});
//   ids.insert(key, value);                    // durable when it returns
//   std::optional<std::uint64_t> value = ids.find(key);
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "holdfast/pool.hpp"
#include "holdfast/status.hpp"

namespace holdfast {

/// The operations of every table of this header. A table that is open: a handle, movable, not copyable. It opens once at a time.
/// Operations are thread-safe: what they acknowledge is durable, and a search never returns what is not.
///
/// Operations throw ObjectClosed, MediumError and, where they change something, ReadOnly. A key of any value is usable.
class HashTable {
 public:
  /// Adds an item: inserted, exists (the value there is kept), or no_space: the table is full, and its medium has no space to double it.
  /// `key` and `value` have `key_bytes()` bytes each, at any address.
  Status insert(const void* key, const void* value);
  /// The same without a search. The caller promises that the key is absent; if it is not, the table has it twice, which `check` reports.
  Status insert_new(const void* key, const void* value);
  Status assign(const void* key, const void* value);  ///< replaces a value: updated, not_found, no_space
  Status find(const void* key, void* value) const;    ///< found, or not_found, which leaves `value` as it is
  Status erase(const void* key);                      ///< erased, not_found

  // The same for items of 16 bytes. They throw InvalidArgument where items have another size.
  Status insert(std::uint64_t key, std::uint64_t value);
  Status insert_new(std::uint64_t key, std::uint64_t value);
  Status assign(std::uint64_t key, std::uint64_t value);
  std::optional<std::uint64_t> find(std::uint64_t key) const;
  Status erase(std::uint64_t key);

  /// Calls `visit(key, value)` for every item until it returns false. An item that is there from the beginning to the end is visited once;
  /// `visit` may use the table.
  void for_each(const std::function<bool(const void* key, const void* value)>& visit) const;
  std::uint64_t size() const;  ///< items; a group table counts them, in time proportional to `cells`
  std::uint64_t cells() const;
  std::uint32_t key_bytes() const;    ///< and of a value: 8 or 16
  void reserve(std::uint64_t cells);  ///< grows the table to as many cells. Throws NoSpace.
  void clear();                   ///< removes every item. Others wait for it; after a crash a group table may have some
  Domain domain() const;          ///< what survives of what was acknowledged; `none` without a log, where one is needed
  bool survives_crashes() const;  ///< false: of a scheme without the log that it needs

  CheckReport check() const;  ///< changes wait meanwhile
  void sync();                ///< puts the table on its device and marks it clean
  /// Idempotent. A handle that goes without it does the same, and says nothing of errors.
  void close();
  bool is_open() const;

 protected:
  class Impl;
  struct Access;
  explicit HashTable(std::shared_ptr<Impl> impl);
  Held<std::shared_ptr<Impl>> impl_;
};

struct GroupTableOptions {
  std::uint32_t item_bytes =
      16;  ///< at creation: 16 for keys and values of 8 bytes, 32 for both of 16. At opening: must agree, or 0
  std::uint64_t cells =
      0;  ///< at creation: at least so many; a power of two times the group size. About 0.76 of them take
          ///< items before the table grows
  std::uint32_t group_size = 256;  ///< at creation: cells of a level in a group, a power of two from 64 to 1024
  std::uint64_t seed = 0;          ///< at creation: of the hash; 0: a random one
  bool overwrite = false;          ///< at creation: take the place of a group table of that name, in one commit
  bool flush = false;              ///< flush and fence as domain `power` asks, on any medium
};

/// Group hashing (Zhang et al., ICPP 2018): one 8-byte write commits an insert or an erase, without a log. An insert of a new key takes two
/// persists (a flush and a fence), an erase one, an assignment one with items of 16 bytes and two or three with items of 32.
/// `docs/internals/group.md`.
class GroupTable : public HashTable {
 public:
  /// Throws InvalidArgument, ObjectExists, ObjectInUse, PoolMismatch, NoSpace, MediumError; then nothing changed.
  static GroupTable create(Pool& pool, const std::string& name, const GroupTableOptions& options);
  /// Throws ObjectNotFound, ObjectInUse, PoolMismatch (another kind, or items of another size), PoolVersion, PoolCorrupt, PowerLost, ReadOnly.
  static GroupTable open(Pool& pool, const std::string& name, const GroupTableOptions& options = {.item_bytes = 0});
  std::uint32_t group_size() const;

 private:
  explicit GroupTable(std::shared_ptr<Impl> impl) : HashTable(std::move(impl)) {}
};

struct SchemeTableOptions {
  std::uint32_t item_bytes =
      16;  ///< at creation: 16 for keys and values of 8 bytes, 32 for both of 16. At opening: must agree, or 0
  std::uint64_t cells = 0;  ///< at creation: at least so many
  bool undo_log =
      true;  ///< at creation: every change is logged first, in three persists. Without a log a table is unusable after a crash
  std::uint64_t seed = 0;  ///< at creation: of the hash; 0: a random one
  bool overwrite = false;  ///< at creation: take the place of a table of that name and form, in one commit
  bool flush = false;      ///< flush and fence as domain `power` asks, on any medium
};

// The schemes that group hashing was compared with. `create` and `open` throw what those of GroupTable throw. Writers of one table exclude
// each other, for there is one log entry; `for_each` copies all items first. `docs/internals/schemes.md`.

/// Linear probing. An erase shifts the items behind it back. Grows when 15/16 of the cells have items.
class LinearTable : public HashTable {
 public:
  static LinearTable create(Pool& pool, const std::string& name, const SchemeTableOptions& options);
  static LinearTable open(Pool& pool, const std::string& name, const SchemeTableOptions& options = {.item_bytes = 0});

 private:
  explicit LinearTable(std::shared_ptr<Impl> impl) : HashTable(std::move(impl)) {}
};

/// PFHT (Debnath et al., 2016): cuckoo hashing with buckets of four cells, at most one displacement, and a stash of 3%.
class PfhtTable : public HashTable {
 public:
  static PfhtTable create(Pool& pool, const std::string& name, const SchemeTableOptions& options);
  static PfhtTable open(Pool& pool, const std::string& name, const SchemeTableOptions& options = {.item_bytes = 0});

 private:
  explicit PfhtTable(std::shared_ptr<Impl> impl) : HashTable(std::move(impl)) {}
};

/// Path hashing (Zuo and Hua, 2017): an inverted binary tree of 20 levels, and two paths a key.
class PathTable : public HashTable {
 public:
  static PathTable create(Pool& pool, const std::string& name, const SchemeTableOptions& options);
  static PathTable open(Pool& pool, const std::string& name, const SchemeTableOptions& options = {.item_bytes = 0});

 private:
  explicit PathTable(std::shared_ptr<Impl> impl) : HashTable(std::move(impl)) {}
};

}  // namespace holdfast
