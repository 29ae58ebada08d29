// store.hpp: a durable key-value store in a pool: keys and values of any bytes, expiry, conditions and eviction.
//
//   holdfast::Pool pool = holdfast::Pool::create("pool.hold");
//   holdfast::Store store = holdfast::Store::create(pool, "sessions");
//   store.set("user:17", "…", {.expiry = store.now() + 60'000});     // durable when it returns
//   std::optional<holdfast::StoreItem> item = store.get("user:17");
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "holdfast/blobs.hpp"
#include "holdfast/pool.hpp"
#include "holdfast/strings.hpp"

namespace holdfast {

/// The result of one operation. The numbers are part of the API (Python: `holdfastdb.StoreStatus`).
enum class StoreStatus : std::uint8_t {
  inserted = 0,   ///< the key was absent and is now there
  updated = 1,    ///< the key was there; its item was replaced, or its expiry
  erased = 2,     ///< the key was there and is gone
  found = 3,      ///< a read found the key
  not_found = 4,  ///< the key is absent; nothing changed
  exists = 5,     ///< the key is there, and the operation wanted it absent; nothing changed
  mismatch = 6,   ///< the item has another CAS id, or is no number; nothing changed
  no_space = 7,   ///< there is no memory for the item; nothing changed
  too_large = 8,  ///< the value would be larger than the store allows; nothing changed
  not_run = 9,    ///< in Python, of a row of a reservation: it was aborted; nothing changed
  damaged =
      10,  ///< of a pipeline: the item does not match its checksum; nothing changed. Single calls throw PoolCorrupt
};
inline constexpr unsigned kStoreStatuses = 11;
const char* name(StoreStatus status);

/// Where a store has its index.
enum class StoreIndex : std::uint8_t {
  automatic,  ///< where it is expected to be faster: at present on the CPU
  cpu,
  gpu  ///< in GPU memory, for pipelines and batches: a single call takes as long as a batch. If the GPU fails, on the CPU
};

struct StoreOptions {
  std::uint64_t limit_bytes = 0;  ///< of memory for items; 0: what the medium has. 4 MiB to 1 TiB; a heap has whole
                                  ///< pieces of 2 MiB below it, and `stats` reports it as it was given
  bool evict =
      false;  ///< where memory is lacking, items that were not used lately are removed; otherwise such a change
              ///< answers `no_space`
  std::uint64_t expected_items = 0;          ///< the index has memory for so many at the beginning; it grows
  std::uint32_t max_value_bytes = 1u << 20;  ///< larger values are refused; at most 128 MiB
  bool flush = false;                        ///< flush and fence as domain `power` asks, on any medium
  bool gpu = false;                          ///< GPUs copy and read values in place: the memory of items is pinned
  StoreIndex index = StoreIndex::automatic;  ///< without a GPU, `gpu` throws DeviceError
  std::vector<int> devices = {};             ///< with `gpu`: the numbers of the GPUs that share the index; none: GPU 0
  std::uint64_t seed = 0;                    ///< at creation: of the hash; 0: a random one
  bool overwrite = false;                    ///< at creation: take the place of a store of that name, in one commit
};

/// What an item has beside its key and its value.
struct ItemOptions {
  std::uint32_t flags = 0;   ///< the caller's, kept as they are
  std::uint64_t expiry = 0;  ///< milliseconds since 1970, from which on the key is absent; 0: never
  std::uint64_t cas = 0;     ///< its CAS id; 0: a new number
};

/// What a key has.
struct StoreItem {
  std::string value;
  std::uint32_t flags = 0;
  std::uint64_t cas = 0;     ///< changes with each change of the item but `touch`, `get_and_touch` and `mark_stale`
  std::uint64_t expiry = 0;  ///< milliseconds since 1970; 0: never
  bool is_stale = false;     ///< `mark_stale` was called
};

/// The answers of a batch of reads, and their memory. Row i is what key i has.
struct StoreItems {
  Blobs values;                      ///< without data where the key is absent
  std::vector<std::uint32_t> flags;  ///< 0 where it is
  std::vector<std::uint64_t> cas, expiry;
};

/// Memory of the caller that `Store::get` fills: row i, of `row_bytes` bytes, gets the value of key i, and zeros behind it.
struct StoreArray {
  void* memory = nullptr;
  std::uint64_t row_bytes = 0;
  bool on_device = false;  ///< it is in the memory of a GPU
};

/// An item that the index names for a key: the key's, or another one's with the same signature.
struct StoreCandidate {
  std::string_view key, value;
  std::uint32_t flags = 0;
  std::uint64_t cas = 0, expiry = 0;
};

/// The answers of `Store::getk`, and their memory: key i has items [first[i], first[i + 1]).
struct StoreCandidates {
  std::vector<std::size_t> first;
  std::vector<StoreCandidate> items;
  Arena memory;
};

/// Keys, or values: row i is [offsets[i], offsets[i + 1]) of `bytes`. `Strings` packs them, and is converted: `store.erase(Strings(names))`.
struct StoreRows {
  StoreRows() = default;
  StoreRows(const void* its_bytes, const std::uint64_t* its_offsets, std::size_t its_size)
      : bytes(its_bytes), offsets(its_offsets), size(its_size) {}
  StoreRows(const Strings& strings)  // NOLINT(google-explicit-constructor): what a call of a batch takes
      : StoreRows(strings.bytes(), strings.offsets(), strings.size()) {}

  const void* bytes = nullptr;
  const std::uint64_t* offsets = nullptr;  ///< (size + 1,), not decreasing
  std::size_t size = 0;
};

/// Where a visit of all items is: for `Store::visit_some` alone.
struct StoreScan {
  unsigned pass = 0;  ///< 0: all items; 1: those that changed since; 2, when no change runs: those since then; 3: done
  std::uint64_t piece = 0;            ///< of the heap, next
  std::uint64_t from = 0, to = 0;     ///< this pass visits items with numbers in (from, to]
  std::uint64_t generation = 0;       ///< of pieces that have items of the second pass; 0: nothing has begun
  std::uint64_t last_generation = 0;  ///< of the last pass
};

struct StoreStats {
  std::uint64_t items = 0;           ///< as `Store::size`
  std::uint64_t memory_bytes = 0;    ///< of the heap
  std::uint64_t limit_bytes = 0;     ///< 0: none
  std::uint64_t free_bytes = 0;      ///< of the heap, in pieces of 2 MiB that have no item
  std::uint64_t evicted = 0;         ///< items, since it was opened
  std::uint64_t killed_at_open = 0;  ///< items whose replacement a crash interrupted
  std::uint64_t damaged_at_open =
      0;  ///< items, and pieces of 2 MiB, that did not match their checksum: their keys are absent; `check` names them
  std::uint64_t damaged_pieces = 0;  ///< of those: pieces of 2 MiB, of which it is not known how many items they had
  double open_ms = 0;                ///< until every key was answered
  bool index_on_gpu = false;
  std::string index_failure;  ///< why the index is on the CPU although it was opened on a GPU; else empty
};

class StoreReservation;  // store_memory.hpp
class StoreLease;

/// A store that is open (Mega-KV, VLDB 2015, with its items in a pool). A handle: movable, not copyable. It opens once at a time. Operations are
/// thread-safe: what they acknowledge is durable, and no read answers what is not, a torn value, or another key's.
/// `docs/store.md`.
///
/// Keys have up to 65,535 bytes. Operations throw ObjectClosed, MediumError, InvalidArgument (a key or a value is too long) and, where they change
/// something, ReadOnly. `append` and `prepend` answer `too_large` instead, since the length depends on the item. A row of a batch that is
/// too long refuses the whole batch, before anything is done.
///
/// Reads do not verify what they return. An item that something else damaged, such as a bit of the medium, is absent when the store is opened next, and keeps its
/// memory until its key is set or erased (`drop_damaged`);
/// until then `check` reports it, and changes that keep a part of the item (`append`, `prepend`, counters, `touch`, `mark_stale`) throw PoolCorrupt.
class Store {
 public:
  /// Throws InvalidArgument, ObjectExists, ObjectInUse, PoolMismatch, NoSpace, MediumError; then nothing changed.
  static Store create(Pool& pool, const std::string& name, const StoreOptions& options = {});
  /// Throws InvalidArgument, ObjectNotFound, ObjectInUse, PoolMismatch, PoolVersion, PoolCorrupt, PowerLost, ReadOnly, NoSpace.
  static Store open(Pool& pool, const std::string& name, const StoreOptions& options = {});

  std::optional<StoreItem> get(std::string_view key) const;
  /// Gives the item another expiry, durably, and returns it with that, as one change.
  std::optional<StoreItem> get_and_touch(std::string_view key, std::uint64_t expiry);
  bool contains(std::string_view key) const;

  StoreStatus set(std::string_view key, std::string_view value, const ItemOptions& item = {});  ///< inserted, updated
  StoreStatus add(std::string_view key, std::string_view value, const ItemOptions& item = {});  ///< inserted, exists
  StoreStatus replace(std::string_view key, std::string_view value,
                      const ItemOptions& item = {});  ///< updated, not_found
  /// Only the item that has the CAS id `expected`: updated, mismatch, not_found.
  StoreStatus cas(std::string_view key, std::string_view value, std::uint64_t expected, const ItemOptions& item = {});
  StoreStatus append(std::string_view key, std::string_view value);   ///< updated, not_found, too_large
  StoreStatus prepend(std::string_view key, std::string_view value);  ///< updated, not_found, too_large
  /// A value that is a number below 2^64, in 1 to 20 decimal digits, becomes larger by `by`, modulo 2^64: updated, not_found (the key is not created),
  /// mismatch (it is no such number).
  StoreStatus increment(std::string_view key, std::uint64_t by, std::uint64_t& result);
  /// The same, smaller; not less than 0.
  StoreStatus decrement(std::string_view key, std::uint64_t by, std::uint64_t& result);
  StoreStatus touch(std::string_view key, std::uint64_t expiry);           ///< updated, not_found; 0: never expires
  StoreStatus mark_stale(std::string_view key, std::uint64_t expiry = 0);  ///< updated, not_found; 0: the expiry stays
  /// With a CAS id other than 0, only the item that has it: erased, not_found, mismatch.
  StoreStatus erase(std::string_view key, std::uint64_t expected = 0);
  /// Removes everything, at once or from a time on. The last call counts.
  void flush_all();
  void flush_all_at(std::uint64_t time);

  // Of a list of strings a string_view would be made, from its beginning to its end, which is undefined: give Strings.
  using List = std::initializer_list<std::string_view>;
  std::optional<StoreItem> get(List) const = delete;
  bool contains(List) const = delete;
  StoreStatus set(List, List, const ItemOptions& = {}) = delete;
  StoreStatus add(List, List, const ItemOptions& = {}) = delete;
  StoreStatus replace(List, List, const ItemOptions& = {}) = delete;
  StoreStatus erase(List, std::uint64_t = 0) = delete;

  // Batches: rows take effect in their order, and each is durable when the call returns. Faster, since misses overlap.
  void get(const StoreRows& keys, StoreItems& items) const;
  /// Values into an array, of the host or of a GPU: of a store with `StoreOptions::gpu` they are gathered over the link, without a copy in between,
  /// after what `stream` (a cudaStream_t) has now and before what it gets later. `statuses`: found, not_found, or too_large for a row, which is zero
  /// then; `bytes`: of each value, 0 where the key is absent. Both have a row a key, or none. Throws NoSpace (a million cells are leased),
  /// DeviceError; then rows of the array have any values.
  void get(const StoreRows& keys, const StoreArray& values, std::span<StoreStatus> statuses = {},
           std::span<std::uint64_t> bytes = {}, void* stream = nullptr) const;
  /// The items that the index names for each key, with their keys, which the caller compares: Mega-KV's GET without the comparison (§4), to compare
  /// with its figures. An item whose key is there throughout is among them.
  void getk(const StoreRows& keys, StoreCandidates& candidates) const;
  /// `items` has a row a key, or one for all, or none; `statuses` a row a key, or none. Returns how many rows were not stored.
  std::size_t set(const StoreRows& keys, const StoreRows& values, std::span<const ItemOptions> items = {},
                  std::span<StoreStatus> statuses = {});
  std::size_t erase(const StoreRows& keys, std::span<StoreStatus> statuses = {});  ///< how many keys were there

  // Values in place (store_memory.hpp).
  /// Memory for new values of these keys, of `bytes[i]` bytes each. It is not cleared: what the caller does not fill has bytes of former items, and
  /// `commit` gives them to the value. `items` has a row a key, or one for all, or none.
  StoreReservation reserve(const StoreRows& keys, std::span<const std::uint64_t> bytes,
                           std::span<const ItemOptions> items = {});
  /// The values of these keys, which stay as they are until the lease is released. At most a million at a time in a store: throws NoSpace.
  StoreLease lease(const StoreRows& keys);
  /// The same for these keys up to the first that is absent: as many rows as the lease has, there are.
  StoreLease lease_present(const StoreRows& keys);
  /// How many of these keys are present, up to the first that is not.
  std::size_t lookup(const StoreRows& keys) const;

  /// Visits all items until `visit` returns false. Throws InvalidArgument where it is empty. One that is there unchanged throughout is visited exactly once; one that
  /// changes, at least once if its key is there throughout. `visit` may use the store.
  using Visit = std::function<bool(std::string_view key, const StoreItem& item)>;
  void for_each(const Visit& visit) const;
  /// The same in parts: visits the items of a piece of 2 MiB. False: all were visited, or `visit` returned false, which only `visit` knows. Begins
  /// with a new `scan`; one that has ended stays at its end.
  bool visit_some(StoreScan& scan, const Visit& visit) const;

  /// Items. 0 after `flush_all`. Those that have expired count until their memory is needed or `reclaim` gives it back; those that were flushed too, as
  /// long as there were as many changes since: for an exact count call `reclaim` until it returns 0.
  std::uint64_t size() const;
  std::uint64_t now() const;  ///< the store's time: milliseconds since 1970, never less than before
  StoreStats stats() const;
  void set_limit(
      std::uint64_t bytes);  ///< as StoreOptions::limit_bytes; memory that is there stays. Throws InvalidArgument
  /// Gives back the memory of items that have expired or were flushed, in a sixteenth of the heap, or in more until it finds one. Returns their number;
  /// 0: there are no more.
  std::uint64_t reclaim();
  /// Frees the memory of what was damaged when the store was opened, and whose keys have not been set or erased since: nothing of it can be read any more.
  /// Returns how many items and pieces of 2 MiB these were; `check` finds no more of them. For items whose keys cannot be read: others are set or erased.
  std::uint64_t drop_damaged();
  Domain domain() const;  ///< what survives of what was acknowledged

  /// Copies the store's pool: Pool::snapshot.
  SnapshotResult snapshot(const std::string& path, const SnapshotOptions& options = {});
  CheckReport check() const;  ///< verifies every item's checksum; changes wait meanwhile
  void sync();                ///< puts the store on its device and marks it clean
  /// Idempotent. A handle that goes without it does the same, and says nothing of errors.
  void close();
  bool is_open() const;

 private:
  friend class StoreReservation;
  friend class StoreLease;
  friend class StorePipeline;
  friend class StoreCaller;
  class Impl;
  explicit Store(std::shared_ptr<Impl> impl);
  StoreLease lease(const StoreRows& keys, bool ends_at_absent);
  Held<std::shared_ptr<Impl>> impl_;
};

}  // namespace holdfast
