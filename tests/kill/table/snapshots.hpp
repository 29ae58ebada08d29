// snapshots.hpp: what the file may hold that writers of a table put snapshots into, and whether it does.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kill/table/shared.hpp"

namespace holdfast::proof::kill {

/// Digests of the items of the thread that makes snapshots, by key (item_digest; 0: absent). Of others' items a snapshot has the
/// old or the new, which is not looked at.
using Content = std::vector<std::uint64_t>;

/// Of each life: `begin_life`, `taken` for each snapshot of its journal in order, `verify`.
class SnapshotOracle {
 public:
  void begin_life() { is_tidy_ = false; }
  /// One that was to hold `content`. If it was not acknowledged, the file is as before it, or whole.
  void taken(Content content, bool acknowledged);
  /// Compares what a child found. Returns what is wrong.
  std::vector<std::string> verify(const Round& round, const Found& found);
  /// The file was removed.
  void forget() { possible_ = {std::nullopt}; }

  /// Of this life the last one was acknowledged, so no temporary file is there.
  bool is_tidy() const { return is_tidy_; }
  std::uint64_t verified() const { return verified_; }
  std::uint64_t kept() const { return kept_; }  ///< of those not acknowledged, with a content of their own: whole
  std::uint64_t lost() const { return lost_; }  ///< the others of these

 private:
  std::vector<std::optional<Content>> possible_{
      std::nullopt};  ///< none: no file. The last one may be of a pending snapshot
  bool is_pending_ = false, is_tidy_ = false;
  std::uint64_t verified_ = 0, kept_ = 0, lost_ = 0;
};

}  // namespace holdfast::proof::kill
