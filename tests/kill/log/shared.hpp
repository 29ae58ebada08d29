// shared.hpp: what the children of the subject log share with its oracle: what to do, a journal, and what was found.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "proof/kill/calls.hpp"

namespace holdfast::proof::kill {

inline constexpr std::uint32_t kLogEntries = 60'000;  ///< of a journal
inline constexpr std::uint32_t kMostLogPlaces = 128;
inline constexpr std::uint32_t kMostLogCapacity = 16;
inline constexpr std::uint32_t kMostLogWords = 64;  ///< of an entry
inline constexpr std::uint32_t kMostRegionWords = 2048;
inline constexpr std::uint32_t kMostUpdate = 16;  ///< words
inline constexpr std::uint32_t kMostUpdates = 48;

/// What one call is about. The first is the pool's creation and that of its objects, the last no call.
enum class LogCall : std::uint32_t { making, insert, remove, clear, truncate, transaction, create, none, count };
inline constexpr auto kLogCalls = static_cast<unsigned>(LogCall::count);
inline constexpr const char* kLogCallNames[kLogCalls] = {"making",   "insert",      "remove", "clear",
                                                         "truncate", "transaction", "create", "between"};

/// The objects of the pool, in the order in which they are made.
enum LogObject : std::uint32_t { kHierarchical, kConventional, kUndo, kCells, kLogObjects };
inline constexpr const char* kLogObjectNames[kLogObjects] = {"notes", "journal", "undo", "cells"};

struct LogShape {
  std::uint32_t blocks, threads, partitions;  ///< partitions not 0: conventional
  std::uint32_t words, capacity;
  std::uint32_t places() const { return partitions != 0 ? partitions : blocks * ((threads + 31) / 32 * 32); }
};

/// A pool and how it is used; fixed for all its lives. Plain data: it lies in shared memory.
struct LogRound {
  std::uint64_t seed;
  LogShape logs[3];     ///< the two that are written, and that of transactions
  std::uint32_t slice;  ///< words of the region that each place of transactions updates
  bool flush;           ///< run the protocol of domain `power`
  bool gpu;             ///< most calls are made in kernels; entries and updates have powers of two of words then
  std::uint32_t region_words() const { return logs[kUndo].places() * slice; }
};
LogRound make_log_round(std::uint64_t seed, bool gpu);

/// The entry that the call `id` inserts into a log. Its first word is `id`, which is never 0.
struct LogValue {
  std::uint32_t count;
  std::uint32_t words[kMostLogWords];
};
LogValue value_of(const LogRound& round, std::uint32_t log, std::uint32_t id);

/// One update of the transaction `id`. A location is updated several times, by one place.
struct LogUpdate {
  std::uint32_t place, offset, count;
  std::uint32_t words[kMostUpdate];
};
std::vector<LogUpdate> updates_of(const LogRound& round, std::uint32_t id);
/// The transaction `id` is given up.
bool gives_up(const LogRound& round, std::uint32_t id);

struct LogEntry {
  LogCall call;
  std::uint32_t id;  ///< no other call of the pool has it
  std::uint32_t log, place;
  std::uint32_t number;        ///< of the new object
  std::uint32_t acknowledged;  ///< written last: 1 + the LogStatus
};

/// What is in a log.
struct FoundLog {
  std::uint32_t number;  ///< of the object; 0: it is not there
  std::uint32_t places;
  std::uint32_t count[kMostLogPlaces];
  std::uint32_t ids[kMostLogPlaces][kMostLogCapacity];  ///< oldest first; 0: not the entry of any call
};

/// Everything found in the pool by a child that reopened it.
struct LogFound {
  std::uint32_t objects;
  std::uint32_t undone;        ///< recovery undid a transaction
  std::uint32_t undone_again;  ///< and a second one too, which is an error
  std::uint32_t left;          ///< entries in the log of transactions
  std::uint32_t region_words;  ///< 0: there is no region
  FoundLog logs[2];
  std::uint32_t region[kMostRegionWords];
};

struct LogShared {
  LogRound round;
  CallState calls;
  LogFound found;
  std::atomic<std::uint32_t> made;  ///< objects whose creation has returned in this life, or that were there
  std::uint32_t numbers[2];         ///< of the two logs, when the writer has opened or made them
  LogEntry entries[kLogEntries];
};

}  // namespace holdfast::proof::kill
