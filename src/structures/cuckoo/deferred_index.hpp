// deferred_index.hpp: an index whose changes take effect in host memory at once and reach another index later, many as one batch: for an index on a GPU,
// where a batch of any size takes tens of microseconds, and a change would hold its key for so long.
//
//   change ──► entry in host memory: what the other index has, and what it should have     ┌─► done: stays until its place is needed
//                 └─ enough wait ──► one batch of exchanges, one of removals ──► completed ─┴─► waits again: changed meanwhile
//
// A search asks the other index, and its caller then the entries of the same hash, which are newer. A key that neither has is absent if no entry of its bucket was given
// up that was completed after the search began: such a key may have been inserted before the search, and have reached the other index too late for it.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "structures/cuckoo/any_index.hpp"

namespace holdfast::cuckoo {

/// Thread-safe, as `Index` is. A member that uses the other index throws what that throws, and DeviceError where it has no memory for more entries.
/// Afterwards only `close` and members that use no index are called.
class DeferredIndex {
 public:
  /// log2 of the places for entries: the default ones take 8 MiB.
  static constexpr unsigned kPlaceBits = 18;
  explicit DeferredIndex(std::unique_ptr<AnyIndex> index, unsigned place_bits = kPlaceBits);

  /// The other index: for direct use before the first change.
  AnyIndex& index() { return *index_; }

  /// `next` instead of `old` for a key; an `old` of kNone inserts, a `next` of kNone erases. False: it is closed, and nothing was changed.
  bool exchange(Hash hash, Location old, Location next);
  /// All changes of this thread, and others that were made before, have reached the other index when it returns.
  void flush();
  /// No exchange succeeds from now on.
  void close();

  /// What the other index answers. The caller gives each answer to `revise`, with the `moment` before the search, at any time, but never one that was revised
  /// already: a change and its reversal leave no trace.
  void search(std::span<const Hash> hashes, std::span<Location> locations);
  std::unique_ptr<Searching> searching();
  void candidates(std::span<const Hash> hashes, std::span<Candidates> lists);

  /// How many batches of changes were completed: before a search begins.
  std::uint64_t moment() const { return completed_.load(std::memory_order_acquire); }
  struct Revised {
    Location location = kNone;
    bool is_certain = false;  ///< it is what a search would find now: it may be none
  };
  /// What the answer `found` of a search that began at `since` has become. Asks no index.
  Revised revise(Hash hash, Location found, std::uint64_t since) const;
  enum class Names : std::uint8_t { no, yes, unknown };
  /// Whether the index has this entry, without asking the other one.
  Names names(Hash hash, Location location) const;

  /// Fetches memory that a change needs.
  void fetch(Hash hash) const {
    __builtin_prefetch(&newest_[bucket_of(hash)], 1);
    fetch_all(bucket_of(hash));
  }
  std::uint64_t size() {
    flush();
    return index_->size();
  }

 private:
  static constexpr unsigned kWays = 4;  ///< entries of a bucket
  enum class State : std::uint8_t {
    none,
    waits,  ///< the other index has `before`, since batch `done`, and should have `now`
    sent,   ///< it gets `sent` instead of `before`; `now` may differ already
    done    ///< it has `now`, since batch `done`
  };
  struct Entry {
    State state = State::none;
    Hash hash = 0;
    Location now = kNone, before = kNone, sent = kNone;
    std::uint64_t done = 0;

    bool is_of(Hash its) const { return state != State::none && hash == its; }
    /// Whether a search of the other index that began at `since` may find a location that is not the entry's.
    bool supersedes(Location location, std::uint64_t since) const {
      if (location == kNone || location == now || (state == State::done && done <= since)) return false;
      return location == before || (state == State::sent && location == sent);
    }
  };
  /// What a search reads lies in the first line. The words are atomic, since searches read them while a change writes; `version` is odd then.
  struct alignas(128) Bucket {
    std::atomic<std::uint32_t> version = 0;
    std::atomic<State> states[kWays] = {};
    std::atomic<Hash> hashes[kWays] = {};
    std::atomic<Location> now[kWays] = {};
    std::atomic<std::uint64_t> given_up = 0;  ///< entries that were completed in batches up to this one
    alignas(64) std::atomic<Location> before[kWays] = {};
    std::atomic<Location> sent[kWays] = {};
    std::atomic<std::uint64_t> done[kWays] = {};
  };
  struct Entries {
    Entry of[kWays];
    std::uint64_t given_up = 0;
  };
  class Change;
  class Searches;
  enum class Made : std::uint8_t { changed, closed, no_place };
  struct Sent {
    std::size_t bucket;
    unsigned way;
  };
  /// A batch, by its arrays.
  struct Batch {
    std::vector<Hash> hashes;
    std::vector<Location> before, now;
    std::vector<Sent> entries;

    void clear() { hashes.clear(), before.clear(), now.clear(), entries.clear(); }
    void add(const Entry& entry, const Sent& at) {
      hashes.push_back(entry.hash);
      before.push_back(entry.before);
      now.push_back(entry.now);
      entries.push_back(at);
    }
  };

  std::size_t bucket_of(Hash hash) const { return hash * 0x9e37'79b9'7f4a'7c15 >> shift_; }
  Entries read(const Bucket& bucket, Hash hash) const;
  Made change(Hash hash, Location old, Location next);
  static Entry* place_for(Change& change);
  bool mark(std::size_t bucket);
  void fetch_all(std::size_t bucket) const;
  void flush_all();
  void flush_some();
  void flush_old();
  void send(std::size_t bucket);
  void complete(const Batch& batch, std::uint64_t number);
  bool merge(Hash hash, Candidates& list, std::uint64_t since) const;

  const std::unique_ptr<AnyIndex> index_;
  const unsigned shift_;
  std::vector<Bucket> buckets_;
  /// By bucket: a search that began at this moment, or later, finds all that its entries say. Most searches read nothing else of a bucket.
  std::vector<std::atomic<std::uint64_t>> newest_;
  std::vector<std::atomic<std::uint64_t>> waiting_;  ///< a bit a bucket: an entry of it waits, or did
  std::atomic<bool> closed_ = false;
  alignas(64) std::atomic<std::uint64_t> completed_ = 0;  ///< batches of changes
  std::atomic<std::uint64_t> given_up_ = 0;               ///< entries that were completed in batches up to this one
  alignas(64) std::mutex flushing_;
  Batch exchanges_, erasures_;                ///< the mutex's
  std::atomic<std::int64_t> flushed_at_ = 0;  ///< nanoseconds
};

}  // namespace holdfast::cuckoo
