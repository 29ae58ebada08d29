// subject.hpp: what a campaign kills: the calls of its writers, and the oracle that judges what they left.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "proof/kill/counts.hpp"
#include "proof/kill/shared.hpp"
#include "proof/runs/random.hpp"
#include "proof/runs/results.hpp"

namespace holdfast::proof::kill {

/// How quick a subject's writers are.
struct Pace {
  bool slow = false;              ///< lives are of any length; else mostly short, since much happens early in one
  std::uint64_t longest_us = 0;   ///< a life
  unsigned call_bits = 0;         ///< a call takes up to some 2^call_bits ns: the blow may fall anywhere in one
  std::uint64_t patience_us = 0;  ///< within which a writer comes to its failpoint, once it works
};

/// One subject of a campaign. It registers itself, with its children (registry.hpp). Of each pool: `begin_pool`, then of each life
/// `stops`, `begin_life`, `replay` when the writer is dead, `verify` when another process has reopened the pool; and `end_pool`.
class Subject {
 public:
  Subject(const Options& options, Shared& shared) : options_(options), shared_(shared) {}
  virtual ~Subject() = default;
  Subject(const Subject&) = delete;
  Subject& operator=(const Subject&) = delete;

  /// By which it counts lives, and kills at a failpoint. At most kMostKinds.
  virtual std::span<const char* const> kinds() const = 0;

  /// `stops`: the writers are to stop at failpoints. Returns how many lives the pool is to have.
  virtual std::uint64_t begin_pool(std::uint64_t seed, bool stops, Random& random) = 0;
  virtual void end_pool() = 0;
  /// Where the next writer may stop; `exists`: the pool is there.
  virtual std::vector<Stop> stops(bool exists) const = 0;
  /// Where a recovery may after a writer stopped at `at`, or nowhere.
  virtual RecoveryFailpoints mended_at(Failpoint at) const = 0;
  /// Gives the children their task. The page of failpoints is armed for `stop`, which may be none.
  virtual void begin_life(const Stop& stop, Random& random) = 0;

  // While a writer runs.
  virtual Pace pace() const = 0;
  virtual bool is_inside() const = 0;  ///< a call runs
  virtual bool is_full() const = 0;    ///< its journals are: it calls no more
  virtual void stopped() {}            ///< it has, at its failpoint, and lives still

  /// Replays the journals of the dead writer. Returns what is wrong with what was acknowledged.
  virtual std::vector<std::string> replay(bool stopped) = 0;
  virtual void forget_found() = 0;  ///< clears what the next recovering child writes to
  /// Compares what a recovering child found with what may be there, and takes it as the new state. Returns what is wrong.
  virtual std::vector<std::string> verify() = 0;
  virtual unsigned kind() const = 0;              ///< of the life that was verified
  virtual bool has_more() const { return true; }  ///< the pool is worth another life
  virtual std::string about() const = 0;          ///< the pool, for the report of a violation

  /// What `planned` kills were to hit and did not, beside what every campaign asks for. A line each, or "".
  virtual std::string lacking(const KillCounts& counts, std::uint64_t planned) const = 0;
  virtual void add_to(Results& results) const = 0;

 protected:
  const Options& options_;
  Shared& shared_;
};

}  // namespace holdfast::proof::kill
