// oracle.hpp: what a pool's directory and its tables may be after a kill, by the journals of the dead writer.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "holdfast/pool.hpp"
#include "kill/pool/shared.hpp"
#include "proof/kill/oracle.hpp"

namespace holdfast::proof::kill {

/// What the oracle counted.
struct PoolCounts : CallCounts<kPoolCalls> {
  std::uint64_t refused = 0;            ///< acknowledged calls with an error that had to come
  std::uint64_t directories = 0;        ///< compared
  std::uint64_t names = 0;              ///< acknowledged changes of names that the next recovery had to show
  std::uint64_t tables = 0, items = 0;  ///< compared
  std::uint64_t torn = 0;               ///< unacknowledged changes of which some items happened
  std::uint64_t most_objects = 0;       ///< in a pool
  std::uint64_t most_percent = 0;       ///< that a file was of the most bytes that its extents had had at once
};

class PoolOracle : Findings {
 public:
  PoolOracle(const PoolRound& round, PoolCounts& counts) : round_(round), counts_(counts) {}

  /// Replays the journals of a life. Returns what is wrong with what was acknowledged.
  std::vector<std::string> replay(const PoolShared& shared);
  /// Compares what a child found, and what the closed pool's file says, with what may be there, and goes on from what it found.
  std::vector<std::string> verify(const PoolShared& shared, const char* check_errors, const PoolInfo& info);
  /// Of the call that ran when the writer was killed; none: between calls.
  PoolCall pending() const;

 private:
  struct Known {
    std::uint32_t number = 0;
    TableSizes shape;
    std::uint64_t slots = 0;  ///< at least
    std::map<std::uint32_t, std::string> items;
  };
  using Found = std::map<std::string, const FoundTable*>;

  void replay_call(const PoolEntry& entry);
  void apply(const PoolEntry& entry);
  bool must_be_refused(const PoolEntry& entry) const;
  void make(std::uint32_t name, std::uint64_t seed, std::uint32_t number);
  static void change(Known& table, std::uint64_t seed);
  /// Decides by what was found whether a pending call happened, and if so lets it happen here.
  void settle(const PoolEntry& entry, const Found& found);
  bool happened(const PoolEntry& entry, const Found& found) const;
  void settle_items(const PoolEntry& entry, const FoundTable& found);
  Found index(const PoolFound& found);
  void compare(const std::string& name, const Known& known, const FoundTable& found);
  void compare_file(const PoolShared& shared, const PoolInfo& info);

  PoolRound round_;
  PoolCounts& counts_;
  std::map<std::string, Known> tables_;  ///< after all that was acknowledged
  std::vector<PoolEntry> pending_;
  std::uint32_t newest_ = 0;  ///< the largest number of an object before this life
  std::uint64_t peak_ = 0;    ///< bytes of all extents, the most that were known
};

}  // namespace holdfast::proof::kill
