// oracle.hpp: what a checkpoint may hold after a kill, by the journal of the dead writer.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "holdfast/pool.hpp"
#include "kill/checkpoint/shared.hpp"
#include "proof/kill/oracle.hpp"

namespace holdfast::proof::kill {

/// What the oracle counted.
struct CheckpointCounts : CallCounts<kCheckpointCalls> {
  std::uint64_t states = 0;          ///< compared, byte for byte
  std::uint64_t most_in_flight = 0;  ///< saves, when the writer was killed
};

class CheckpointOracle : Findings {
 public:
  CheckpointOracle(const CheckpointRound& round, CheckpointCounts& counts) : round_(round), counts_(counts) {}

  /// Replays the journal of a life. Returns what is wrong with what was acknowledged.
  std::vector<std::string> replay(const CheckpointShared& shared);
  /// Compares what a child found with what may be there, and goes on from what it found.
  std::vector<std::string> verify(const CheckpointFound& found, const char* check_errors, const PoolInfo& info);
  /// Of the call that ran when the writer was killed; none: between calls.
  CheckpointCall pending() const;

 private:
  void apply(const CheckpointEntry& entry);
  void settle(const CheckpointFound& found);
  void compare(const CheckpointFound& found);

  CheckpointRound round_;
  CheckpointCounts& counts_;
  std::uint32_t number_ = 0;          ///< of the object that is there; 0: none
  std::vector<std::uint64_t> steps_;  ///< saved into it, in order, that count or counted
  std::uint64_t whole_ = 0;           ///< copies that must count, if no save is in flight
  std::vector<CheckpointEntry> pending_;
};

}  // namespace holdfast::proof::kill
