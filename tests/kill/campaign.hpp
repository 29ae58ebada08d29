// campaign.hpp: kills writers and recoveries at random moments and at failpoints, and lets the oracle judge what is left.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "failpoints.hpp"
#include "oracle.hpp"
#include "process.hpp"
#include "shared.hpp"
#include "support/random.hpp"

namespace holdfast::test::kill {

struct Options {
  std::uint64_t kills = 60;  ///< of writers; up to ten times as many, until enough of them have hit something
  unsigned stops = ~0u;  ///< of a hundred of them, those that are to stop at a failpoint first; more: as many as usual
  double seconds = 0;    ///< stop after so long; 0: only after `kills`
  std::uint64_t seed = 1;
  std::string device = "cpu";  ///< of the writer
  std::string folder;          ///< of the pools; empty: /dev/shm, and at times the temporary folder
  unsigned again_ms = 0;       ///< a recovering child looks again after so long
  unsigned life_us = 0;        ///< a writer lives up to so long; 0: 6 ms; with large batches or a GPU 200 ms
  bool large = false;          ///< large batches: Round::large
  bool keep = false;           ///< leave the pool of a violation
  bool progress = false;
};

/// Kills at one failpoint, and what the recoveries after them mended.
struct AtFailpoint {
  std::uint64_t kills[kKinds] = {};
  std::uint64_t missed[kKinds] = {};  ///< writers that did not come there, and were killed nevertheless
  std::uint64_t recoveries = 0;       ///< killed there
  std::uint64_t repaired = 0, moved = 0, rehashed = 0;

  std::uint64_t all_kills() const;
  std::uint64_t all_missed() const;
};

struct Counts {
  std::uint64_t kills = 0;
  std::uint64_t at_random = 0;          ///< of writers that were to stop nowhere
  std::uint64_t at_failpoints = 0;      ///< of writers that had stopped
  std::uint64_t inside = 0;             ///< while a call of the table ran
  std::uint64_t inside_large = 0;       ///< of them, while one of kLargeBatch operations and more did
  std::uint64_t starting = 0;           ///< while the writer created or opened the pool
  std::uint64_t phased = 0;             ///< batches that the killed writers had changed in phases
  std::uint64_t recoveries = 0;         ///< one for each kill, in as many processes as it takes
  std::uint64_t recoveries_killed = 0;  ///< of them, those in which a process was killed while it opened the pool
  std::uint64_t recovery_kills = 0;     ///< processes killed while they opened a pool
  std::uint64_t recovery_stops = 0;     ///< of them, at a failpoint
  std::uint64_t addresses = 0;          ///< recoveries at another address than the one before
  std::uint64_t lives[kKinds] = {};
  std::uint64_t pools = 0, on_disk = 0, file_medium = 0;
  std::uint64_t calls = 0, operations = 0;
  std::uint64_t keys_verified = 0;
  std::uint64_t pending_kept = 0, pending_lost = 0;  ///< keys of unacknowledged calls that hold a new or the old state
  std::uint64_t reads_bound = 0;                     ///< reads of unacknowledged changes that had to survive
  std::uint64_t repaired = 0, moved = 0, rehashed = 0;  ///< slots that recoveries mended
  std::uint64_t continued = 0;                          ///< resizes in which a writer had stopped
  AtFailpoint at[kFailpoints];
  std::uint64_t largest = 0;  ///< items in a pool
  double max_recovery_ms = 0;
  double seconds = 0;
  std::vector<std::string> violations;

  /// What `planned` kills were to hit and these did not: half of those at random an operation, with `large` a quarter of them a
  /// large batch, a quarter of all a recovery; on a GPU large batches go in phases; and of 1,000, or of 100 on a GPU, each
  /// failpoint, and at least 20 slots to repair, moves to finish, and resizes to continue. A line each, or "".
  std::string lacking(std::uint64_t planned, const Options& options) const;
};

class Campaign {
 public:
  explicit Campaign(Options options);
  Counts run();

 private:
  void run_pool(std::uint64_t seed);
  /// The next pool's: of which there were the fewest kills.
  Theme next_theme() const;
  Kind next_kind(Theme theme) const;
  std::uint64_t lives_of(const Round& round);
  /// One writer, killed; one or more recoveries; returns false when the pool is not worth going on with.
  bool run_life(const Round& round, std::uint32_t life, Oracle& oracle, bool& exists);
  void begin_life(const Round& round, std::uint32_t life, bool creates);
  std::uint64_t life_us(const Round& round);
  void kill_writer(Child& writer);
  void count_life(const Found& found, Failpoint at, Kind kind);

  // stops.cpp
  /// The failpoint at which the next writer of a themed pool stops: one at which few have.
  Failpoint choose_failpoint(const Round& round, bool exists);
  /// One at which a recovery stops that mends what was left at `at`; often none.
  Failpoint choose_mending(Failpoint at);
  void arm(Failpoint at, std::uint32_t skipped);
  void prepare_stop(Failpoint at);
  /// Waits until a child has stopped; false: it did not within `patience_us`, counted from when `begun` is true.
  template <class Begun>
  bool wait_for_stop(Child& child, std::uint64_t patience_us, const Begun& begun);
  /// Kills a writer at the failpoint, or some time after it should have come there.
  void kill_at_failpoint(Child& writer, Failpoint at, Kind kind);
  /// Starts a recovery and kills it at the failpoint; false: it did not come there, and is killed nevertheless.
  bool kill_mending(Failpoint at);

  /// True if the blow fell while the pool was being opened.
  bool kill_recovery(Child& recovery);
  /// Kills some of the recoveries, and some of those that follow.
  void kill_recoveries(Child& recovery, bool killed_before);
  /// Waits until a recovering child has verified the pool; false: it failed or hung, which is noted.
  bool wait_for_verified(Child& recovery);
  Child start_recovery(bool waits, bool with_failpoints = false);
  void violation(const std::string& what);
  bool over() const;

  Options options_;
  Counts counts_;
  Random random_;
  int descriptor_ = -1;
  Shared* shared_;
  double recovery_ns_ = 100'000;  ///< what one takes, on average
  double aim_ = 0.8;              ///< the part of that in which a blow still comes in time on this machine
  std::uint64_t last_address_ = 0;
  std::uint64_t began_ns_;
  std::uint64_t pool_seed_ = 0;
  bool stopped_in_resize_ = false;  ///< the last writer
  std::uint64_t kills_of_[kThemes][kKinds] = {};
};

}  // namespace holdfast::test::kill
