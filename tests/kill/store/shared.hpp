// shared.hpp: what the oracle and the children of the subject store share: the state of each key, and the calls that run.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <string>

#include "proof/kill/calls.hpp"

namespace holdfast::proof::kill {

inline constexpr const char* kStoreCalls[] = {"making", "set",   "change",  "batch",  "erase",
                                              "touch",  "flush", "reclaim", "between"};
enum StoreCall : std::uint32_t {
  kStoreMaking,
  kStoreSet,
  kStoreChange,  ///< replace, cas, append, prepend, increment, decrement
  kStoreBatch,
  kStoreErase,
  kStoreTouch,
  kStoreFlush,
  kStoreReclaim,
  kStoreBetween
};

inline constexpr unsigned kStoreThreads = 3;
inline constexpr unsigned kStoreKeys = 360;    ///< key k is changed by thread k % kStoreThreads alone
inline constexpr unsigned kStoreCounters = 3;  ///< keys that all threads increment
inline constexpr unsigned kStoreRows = 40;     ///< of a batch
inline constexpr std::uint64_t kNoTick = ~std::uint64_t{0};

/// What a pool is for.
enum class StoreUseOf : std::uint32_t {
  all_stays,  ///< nothing is removed but by its key: shared counters are exact
  flushes,    ///< thread 0 calls flush_all and flush_all_at
  evicts      ///< the memory is limited, and any key may be evicted
};

/// How a life reaches its store.
enum class StoreAccessBy : std::uint32_t {
  calls,
  pipeline,  ///< StoreMode::direct
  staged
};

/// Where a life has its index. Builds without CUDA have a stand-in for a GPU's, with batches only (stand_in_store.cpp).
enum class StoreIndexOn : std::uint32_t { cpu, gpu };
#ifdef HOLDFAST_WITH_CUDA
inline constexpr bool kStandsIn = false;
#else
inline constexpr bool kStandsIn = true;
#endif

/// The store of a pool.
struct StoreRound {
  StoreUseOf use;
  StoreAccessBy access;
  StoreIndexOn index, recovers_index;  ///< of the writer, of the children that reopen its store
  std::uint32_t flush, large_bytes;    ///< a quarter of the values have about so many bytes
  std::int64_t index_calls;            ///< after which the stand-in of the writer fails; negative: it does not
  std::uint64_t seed;
};

/// What a key has, as far as its writer knows: that it is absent may be so in any case if it may have been evicted, flushed or expired.
struct StoreState {
  std::uint64_t digest;  ///< of the value; 0: absent
  std::uint64_t bytes, expiry, flags;
  std::uint64_t cas;  ///< the client's; 0: a number
  std::uint64_t stale;
  std::uint64_t number;  ///< the CAS id, if it is a number and was seen; 0: not yet
  std::uint64_t begun,
      ended;  ///< when the change to it began, and was acknowledged (kNoTick: never); of `StoreShared::clock`
};

/// One change of a key in a call. What a killed call leaves is `before`, or `after` of one of its rows for the key.
struct StoreRow {
  std::uint64_t key;
  StoreState before, after;
  StoreState result;   ///< once the call returned
  std::uint32_t when;  ///< 0: in any case; 1: if the key is absent; 2: if it is there
};

/// The call that a thread makes.
struct StorePending {
  std::atomic<std::uint32_t> stage;  ///< 0: none; 1: it runs; 2: it returned, and the rows have its results
  std::uint32_t call, rows;
  StoreRow row[kStoreRows];
};

/// Increments of a counter by a thread.
struct StoreCount {
  std::uint64_t sum;                 ///< of those acknowledged
  std::atomic<std::uint64_t> to;     ///< not 0: what the sum becomes, of a call that runs
  std::atomic<std::uint32_t> ended;  ///< it has returned
};

struct StoreFound {
  StoreState state;
  std::uint64_t visits;  ///< by for_each
};

struct StoreShared {
  CallState calls;
  StoreRound round;
  std::atomic<std::uint64_t> clock;
  StorePending pending[kStoreThreads];
  StoreState known[kStoreKeys];
  std::uint64_t highest[kStoreKeys];  ///< the largest number that was seen of a key
  std::uint64_t floor;                ///< the largest number that was seen before this life
  StoreCount counts[kStoreThreads][kStoreCounters];
  std::uint64_t base[kStoreCounters];  ///< what the counters had when this life began

  // Flushes, by thread 0.
  std::atomic<std::uint64_t> flush_runs;   ///< since this tick; 0: none runs
  std::atomic<std::uint64_t> flush_begun;  ///< of the last that was acknowledged: what was acknowledged before is gone
  std::atomic<std::uint64_t> flush_ended;  ///< what begins later stays
  std::atomic<std::uint64_t>
      planned;  ///< the time of the last plan, in milliseconds; it may be due later than its writer lived

  // What the recovering child found.
  std::uint64_t found_store, found_size, found_visits, now_before, now_after, foreign;
  StoreFound found[kStoreKeys];
  std::uint64_t found_count[kStoreCounters];

  /// Whether a flush, or time up to `now`, may have removed what a key has; and whether it must have, as of a flush that began
  /// later than all that `acknowledged_flush` names, at a time of at least `now`.
  bool may_be_gone(const StoreState& state, std::uint64_t now) const {
    return state.digest == 0 || round.use == StoreUseOf::evicts || (state.expiry != 0 && state.expiry <= now) ||
           flush_runs.load() != 0 || flush_ended.load() > state.begun;
  }
  static bool must_be_gone(const StoreState& state, std::uint64_t now, std::uint64_t acknowledged_flush) {
    return state.digest == 0 || (state.expiry != 0 && state.expiry <= now) || acknowledged_flush > state.ended;
  }
};

/// Whether an item that was found is the one of `state`; `highest`: the largest number that was seen of its key before.
inline bool is_item_of(const StoreState& found, const StoreState& state, std::uint64_t highest) {
  const bool same = found.digest == state.digest && found.bytes == state.bytes && found.expiry == state.expiry &&
                    found.flags == state.flags && found.stale == state.stale;
  if (!same) return false;
  if (state.cas != 0) return found.number == state.cas;
  return state.number != 0 ? found.number == state.number : found.number > highest;
}

inline std::string store_key(std::uint64_t key) {
  // Some are long, and all have the same signature in no index.
  return "key " + std::to_string(key) + std::string(key % 7 == 0 ? key : 0, 'k');
}
inline std::string counter_key(unsigned counter) { return "counter " + std::to_string(counter); }
/// Client's CAS ids, which no number reaches.
inline constexpr std::uint64_t kClientCas = std::uint64_t{1} << 62;

}  // namespace holdfast::proof::kill
