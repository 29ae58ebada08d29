// oracle.hpp: what every key may hold after a kill, by the journals of the dead writer; and whether the pool agrees.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kill/table/snapshots.hpp"
#include "proof/kill/oracle.hpp"

namespace holdfast::proof::kill {

/// What a key holds.
struct Held {
  std::string value;
  std::uint64_t score = 0;  ///< of a table that keeps some: how often the item was written
  bool operator==(const Held&) const = default;
};
using State = std::optional<Held>;  ///< none: absent

class Oracle : Findings {
 public:
  explicit Oracle(const Round& round) : round_(round), states_(round.keys) {}

  /// Replays the journals of a life, comparing every acknowledged answer with the model's. Returns what is wrong.
  std::vector<std::string> replay(const TableShared& shared, std::uint32_t life);
  /// Compares what a child found with what may be there, and goes on from what it found. Returns what is wrong.
  std::vector<std::string> verify(const Found& found, const char* check_errors);
  /// What the pool holds is known: nothing is pending any more.
  void settle() { states_.settle(); }

  SnapshotOracle& snapshots() { return snapshots_; }

  std::uint64_t calls() const { return calls_; }
  std::uint64_t operations() const { return operations_; }
  std::uint64_t pending_kept() const { return states_.kept(); }
  std::uint64_t pending_lost() const { return states_.lost(); }
  std::uint64_t reads_bound() const { return reads_bound_; }

 private:
  Content content() const;  ///< of a snapshot
  void replay_call(const Plan& plan, const Entry& entry, unsigned thread);
  void add_pending(const Plan& plan);
  void bind_reads(const Plan& plan, const Entry& entry, unsigned thread);
  std::string name(std::uint32_t index) const;

  Round round_;
  PossibleValues<State> states_;
  SnapshotOracle snapshots_;
  std::uint64_t calls_ = 0, operations_ = 0, reads_bound_ = 0;
};

}  // namespace holdfast::proof::kill
