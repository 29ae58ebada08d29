// plan.hpp: what a writer does in one life, all of it derived from seeds, so that the oracle needs only batch numbers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "holdfast/status.hpp"

namespace holdfast::proof::kill {

inline constexpr unsigned kThreads = 2;
inline constexpr unsigned kMaxKeys = 1 << 16;
inline constexpr unsigned kMaxBatch = 2048;
inline constexpr unsigned kMaxValues = 8 << 20;   ///< bytes of all values together
inline constexpr unsigned kLargeBatch = 1 << 14;  ///< operations from which a GPU changes a table in phases

/// What a pool's writers are made to do much of, so that they come to a failpoint; none: they are killed at random.
enum class Theme : std::uint32_t { none, slots, moves, resizes, pool, phases, calls, count };
inline constexpr auto kThemes = static_cast<unsigned>(Theme::count);

/// A pool and how it is used; fixed for all lives of the pool. Plain data: it lies in shared memory.
struct Round {
  std::uint64_t seed;
  std::uint32_t key_bytes;  ///< of wide keys, pairs share a hash (support/numbers.hpp); or kVariableBytes
  std::uint32_t value_bytes;
  std::uint32_t keys;           ///< size of the key universe
  std::uint32_t capacity;       ///< asked for at creation; far fewer than keys, so that the table grows
  std::uint32_t threads;        ///< that call the table at once; each changes its own share of the keys
  std::uint32_t table_threads;  ///< CreateOptions::threads
  std::uint32_t batch;          ///< operations a batch, at most
  bool flush;                   ///< run the protocol of domain `power`
  bool moves;
  bool grows;   ///< reserve is called often, for sizes that double
  bool scored;  ///< it counts the changes of each item (Score::frequency)
  Theme theme;
  bool single;  ///< nearly all calls of the first thread have one key, and most of the other's
  bool large;   ///< most batches have kLargeBatch operations and more, on many keys that mostly fit without growing
};

/// Where values and keys lie: what a slot's write looks like.
enum class Kind : std::uint8_t { in_slots, in_cells, wide, variable, scored, count };
inline constexpr auto kKinds = static_cast<unsigned>(Kind::count);

bool has_any_length(const Round& round);
bool is_wide(const Round& round);    ///< keys lie behind fingerprints
bool has_cells(const Round& round);  ///< values do not lie in slots
Kind kind_of(const Round& round);

/// With a theme the round is of this kind.
Round make_round(std::uint64_t seed, bool large, Theme theme, Kind kind);

/// Where writers that are to grow a table stop growing it.
inline std::uint64_t most_slots(const Round& round) { return 4 * std::uint64_t{round.keys} + 512; }

/// The seed of a round's pools, which some keys depend on.
std::uint64_t pool_seed(const Round& round);
/// Key number `index` of a round. Key 0 is 0; the next are other words that an implementation could mistake for a state.
std::uint64_t key_of(const Round& round, std::uint32_t index);
/// The bytes that version `version` of any value has.
std::string value_of(const Round& round, std::uint64_t version);

/// What one call to the table is. Of two threads none clears it, and the first alone makes snapshots.
enum class Call : std::uint32_t { batch = 1, foreign_read = 2, clear = 3, reserve = 4, sync = 5, snapshot = 6, count };
inline constexpr auto kCalls = static_cast<unsigned>(Call::count);
inline constexpr const char* kNamesOfCalls[kCalls] = {"", "batch", "read", "clear", "reserve", "sync", "snapshot"};
/// Whether it is about all of a table.
constexpr bool is_whole(Call call) { return call >= Call::clear; }

/// One call of one thread, with all its arguments.
struct Plan {
  Call call = Call::batch;
  bool mixed = false;  ///< `ops` counts, else the first of them for all
  bool unique = false;
  bool masked = false;
  Combine combine = Combine::add;
  Element element = Element::u32;
  std::uint64_t reserve = 0;
  std::vector<std::uint32_t> indices;  ///< of keys
  std::vector<std::uint8_t> ops, mask;
  std::vector<std::uint64_t> versions;
};

/// Call `number` of thread `thread` in life `life`.
Plan make_plan(const Round& round, std::uint32_t life, unsigned thread, std::uint64_t number);

/// What accumulate makes of two values, as status.hpp states it.
std::string combined(const std::string& old, const std::string& given, Combine combine, Element element);

}  // namespace holdfast::proof::kill
