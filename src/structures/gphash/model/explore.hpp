// explore.hpp: runs a scenario in every order of its memory accesses, and crashes it at each. Rule 24.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "structures/gphash/model/oracle.hpp"
#include "structures/gphash/model/recovery.hpp"
#include "structures/gphash/model/world.hpp"

namespace holdfast::gphash::model {

/// Operations that a caller submits together.
struct Submission {
  std::vector<Operation> operations;
  bool as_run = false;     ///< one key, applied as one change; else operation by operation
  bool in_phases = false;  ///< a batch in phases; then only one caller changes anything (rule 14)
};

struct Scenario {
  std::string name;
  Flavour flavour = Flavour::power;
  ModelShape shape;
  std::vector<Operation> setup;  ///< one after another, before the callers start
  std::vector<std::vector<Submission>> callers;
  bool may_be_full = false;  ///< `no_space` is an answer
  bool grows = false;        ///< an insert without a slot grows the table (one caller)
  /// A bit for each caller whose batches of one operation take the CPU's path for one key, in the flavours of a CPU.
  unsigned single = 0;
};

struct ExploreCounts {
  std::uint64_t scenarios = 0;
  std::uint64_t executions = 0;  ///< schedules run, to their end or to a state seen before
  std::uint64_t states = 0;      ///< distinct states, each of them crashed
  std::uint64_t images = 0;      ///< crash images checked
  std::uint64_t sampled = 0;     ///< states with too many images to try all
  Recovery::Counts recovery;

  ExploreCounts& operator+=(const ExploreCounts& other);
};

/// Bounds of an exploration.
struct Bounds {
  std::uint64_t states = ~std::uint64_t{0};  ///< of one scenario; beyond, `complete` is false
  bool thorough = false;                     ///< Recovery's
};

struct Verdict {
  std::string failure;   ///< empty: none was found
  bool complete = true;  ///< everything within the bounds was tried
  ExploreCounts counts;
};

/// Everything that can happen in a scenario, until something goes wrong.
Verdict explore(const Scenario& scenario, const Bounds& bounds = {});

/// All keys of a scenario, and `fresh` others.
std::vector<std::uint64_t> keys_of(const Scenario& scenario, unsigned fresh);

}  // namespace holdfast::gphash::model
