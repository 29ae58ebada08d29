// plan.hpp: pools of many tables: their names and shapes, and what is in them, all derived from seeds.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "holdfast/table.hpp"

namespace holdfast::proof::kill {

inline constexpr unsigned kMostNames = 16;  ///< that objects of one pool have
inline constexpr unsigned kItems = 40;      ///< different keys of one table, at most
inline constexpr unsigned kPoolThreads = 2;

/// What one call is about. The first is Pool::create, the last no call: a writer between two of them.
enum class PoolCall : std::uint32_t { making, create, replace, rename, drop, grow, change, sync, none, count };
inline constexpr auto kPoolCalls = static_cast<unsigned>(PoolCall::count);
inline constexpr const char* kPoolCallNames[kPoolCalls] = {"making", "create", "replace", "rename", "drop",
                                                           "grow",   "change", "sync",    "between"};

/// Whether it changes the directory of a pool that is there.
constexpr bool changes_names(PoolCall call) { return call >= PoolCall::create && call <= PoolCall::drop; }

/// A pool and how it is used; fixed for all its lives. Plain data: it lies in shared memory.
struct PoolRound {
  std::uint64_t seed;
  std::uint32_t names;          ///< kMostNames at most
  std::uint32_t threads;        ///< that call the pool at once, each about names of its own
  std::uint32_t table_threads;  ///< CreateOptions::threads
  bool flush;                   ///< run the protocol of domain `power`
};
PoolRound make_pool_round(std::uint64_t seed);

/// From 1 to 63 bytes; some are the beginning of others, and some no ASCII.
std::string object_name(std::uint32_t index);

/// What a table is made like.
struct TableSizes {
  std::uint32_t key_bytes = 8, value_bytes = 0;  ///< or both kVariableBytes
  std::uint64_t capacity = 0;
  bool operator==(const TableSizes&) const = default;
};
TableSizes shape_of(std::uint64_t seed);
/// How long the values of a table are that has any length, as its writers use it.
std::uint32_t value_width(std::uint32_t value_bytes);
/// Of a table's hash, which some keys depend on.
inline std::uint64_t hash_seed(const PoolRound& round) { return round.seed | 1; }

/// One operation of a change.
struct ItemChange {
  std::uint32_t index;  ///< of the key
  std::uint64_t version;
  bool erases;
};
/// A batch of the operations of one kind, each on a key of its own.
std::vector<ItemChange> changes_of(std::uint64_t seed);
std::string item_value(std::uint64_t version, std::uint32_t width);

}  // namespace holdfast::proof::kill
