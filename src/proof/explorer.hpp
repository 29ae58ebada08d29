// explorer.hpp: runs callers in every order of their accesses to memory that they share, and crashes them at each. Rule 24.
#pragma once

#include <cstdint>
#include <ostream>
#include <string>
#include <unordered_set>
#include <vector>

#include "proof/fiber.hpp"

namespace holdfast::proof {

class Explorer;

inline constexpr unsigned kMostCallers = 32;

/// What is explored: callers, the memory that they share, and a check of what a crash leaves of it.
class Callers {
 public:
  virtual ~Callers() = default;
  virtual unsigned count() const = 0;
  /// Everything is as before the first access.
  virtual void restart() = 0;
  /// What a caller does; calls `access` before each of its accesses. Runs on a separate stack, and is abandoned where the order ends: it
  /// must hold no heap memory. Lets a holdfast::Error out when it has failed.
  virtual void run(unsigned caller) = 0;
  /// The next access is this caller's.
  virtual void resume(unsigned /*caller*/) {}
  /// It is made now: what the caller does began before it, if nothing had before.
  virtual void begin(unsigned /*caller*/) {}
  /// The caller waits for something that only another one can change.
  virtual bool is_blocked(unsigned /*caller*/) const { return false; }
  /// Of everything that the future depends on. States of one hash are the same.
  virtual std::uint64_t hash() const = 0;
  /// Crashes here: looks at all that can be left. Returns what is wrong; empty: nothing.
  virtual std::string crash() = 0;
  /// All callers have ended. Returns what is wrong.
  virtual std::string end() = 0;
  /// Says more of a failure: what was done until now.
  virtual std::string explain(const std::string& what) { return what; }

 protected:
  /// Before an access: other callers may go first. Does nothing outside an exploration.
  void access();

 private:
  friend class Explorer;
  Explorer* explorer_ = nullptr;
};

struct Explored {
  std::string failure;           ///< empty: none was found
  bool complete = true;          ///< everything was tried
  std::uint64_t executions = 0;  ///< orders run, to their end or to a state seen before
  std::uint64_t states = 0;      ///< distinct states, each of them crashed
};

/// Everything that can happen, until something goes wrong, or until there were `most_states`.
Explored explore(Callers& callers, std::uint64_t most_states = ~std::uint64_t{0});

/// What a model of a durable structure tried. A number that falls says that its proof has become weaker.
struct CrashCounts {
  std::uint64_t executions = 0, states = 0;  ///< as of Explored
  std::uint64_t images = 0;                  ///< that a crash left
  std::uint64_t recoveries = 0;              ///< runs of the recovery code
  std::uint64_t crashed_in_recovery = 0;     ///< images that a crash of a recovery left

  bool operator==(const CrashCounts&) const = default;
  CrashCounts& operator+=(const CrashCounts& other) {
    executions += other.executions;
    states += other.states;
    images += other.images;
    recoveries += other.recoveries;
    crashed_in_recovery += other.crashed_in_recovery;
    return *this;
  }
  /// As tests have it in their source.
  friend std::ostream& operator<<(std::ostream& to, const CrashCounts& counts) {
    return to << "{" << counts.executions << ", " << counts.states << ", " << counts.images << ", " << counts.recoveries
              << ", " << counts.crashed_in_recovery << "}";
  }
};

struct Verdict {
  std::string failure;  ///< empty: none was found
  CrashCounts counts;
};

/// Explores callers, whose member `counts` has what their crashes tried.
template <class CountingCallers>
Verdict judge(CountingCallers& callers) {
  const Explored explored = explore(callers);
  callers.counts.executions = explored.executions;
  callers.counts.states = explored.states;
  return {explored.failure, callers.counts};
}

}  // namespace holdfast::proof
