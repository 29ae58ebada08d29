// campaign.hpp: kills writers and recoveries at random moments and at failpoints, and lets the subject judge what is left.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "proof/kill/process.hpp"
#include "proof/kill/registry.hpp"

namespace holdfast::proof::kill {

class Campaign {
 public:
  Campaign(Options options, const SubjectKind& kind);
  const KillCounts& run();

  const Options& options() const { return options_; }
  const SubjectKind& kind() const { return kind_; }
  const Subject& subject() const { return *subject_; }
  const KillCounts& counts() const { return counts_; }
  /// What `planned` kills were to hit and these did not: half of those at random a call, a quarter of all a recovery, and what
  /// the subject asks for. A line each, or "".
  std::string lacking(std::uint64_t planned) const;

 private:
  void run_pool(std::uint64_t seed);
  /// One writer, killed; one or more recoveries; returns false when the pool is not worth using further.
  bool run_life(std::uint32_t life, bool& exists);
  void begin_life(std::uint32_t life, bool creates);
  Child start_writer(bool stops);
  /// Kills a writer, waits for it, and counts. False: it did not end by that, which is noted.
  bool end_writer(Child& writer, const Stop& stop);
  std::uint64_t life_us(const Pace& pace);
  void kill_writer(Child& writer);
  /// Judges what a recovering child found; false: it is wrong, or the pool is gone.
  bool judge(const Stop& stop, bool was_made, bool& exists);
  void count_life(const Stop& stop);
  void remove_pool(const std::string& path);

  // stops.cpp
  /// Where the next writer stops: where few have.
  Stop choose_stop(bool exists);
  /// Where a recovery stops that mends what was left at `at`; often nowhere.
  Failpoint choose_mending(Failpoint at);
  void arm(Failpoint at, std::uint32_t skipped);
  void arm(const Stop& stop);
  /// Waits until a child has stopped; false: it did not within `patience_us`, counted from when `begun` is true.
  template <class Begun>
  bool wait_for_stop(Child& child, std::uint64_t patience_us, const Begun& begun);
  /// Kills a writer at the failpoint, or some time after it should have come there.
  void kill_at_failpoint(Child& writer, const Stop& stop);
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
  SubjectKind kind_;
  KillCounts counts_;
  Random random_;
  int descriptor_ = -1;
  Shared* shared_;
  std::unique_ptr<Subject> subject_;
  double recovery_ns_ = 100'000;  ///< what one takes, on average
  double aim_ = 0.8;              ///< the part of that in which a blow still comes in time on this machine
  std::uint64_t last_address_ = 0;
  std::uint64_t began_ns_;
  std::uint64_t pool_seed_ = 0;
  bool stops_ = false;  ///< the writers of this pool are to stop at failpoints
};

}  // namespace holdfast::proof::kill
