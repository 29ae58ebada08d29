// oracle.hpp: what logs and a region may hold after a kill, by the journal of the dead writer.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "holdfast/pool.hpp"
#include "kill/log/shared.hpp"
#include "proof/kill/oracle.hpp"

namespace holdfast::proof::kill {

/// What the oracle counted.
struct LogCounts : CallCounts<kLogCalls> {
  std::uint64_t given_up = 0;  ///< transactions, acknowledged
  std::uint64_t entries = 0;   ///< of logs, compared word for word
  std::uint64_t regions = 0;   ///< compared word for word
  std::uint64_t undone = 0;    ///< transactions, by the recovery that was verified
};

class LogOracle : Findings {
 public:
  LogOracle(const LogRound& round, LogCounts& counts);

  /// Replays the journal of a life. Returns what is wrong with what was acknowledged.
  std::vector<std::string> replay(const LogShared& shared);
  /// Compares what a child found with what may be there, and goes on from what it found.
  std::vector<std::string> verify(const LogFound& found, const char* check_errors, const PoolInfo& info);
  /// Of the call that ran when the writer was killed; none: between calls.
  LogCall pending() const { return has_pending_ ? pending_.call : LogCall::none; }

 private:
  struct State {
    std::uint32_t number = 0;                        ///< of the object that is there
    std::vector<std::vector<std::uint32_t>> places;  ///< ids of entries, oldest first
  };
  /// Returns what the call says: a LogStatus.
  std::uint32_t apply(const LogEntry& entry);
  void settle(const LogFound& found);
  bool settle_log(const LogFound& found);
  void compare(std::uint32_t log, const FoundLog& found);
  void compare_region(const LogFound& found);

  LogRound round_;
  LogCounts& counts_;
  State logs_[2];
  std::vector<std::uint32_t> region_;
  std::uint32_t made_ = 0;  ///< objects that must be there
  bool has_pending_ = false;
  LogEntry pending_{};
};

}  // namespace holdfast::proof::kill
