// counts.hpp: what a campaign is asked for, and what it counted, whatever its subject is.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "proof/kill/failpoints.hpp"

namespace holdfast::proof::kill {

struct Options {
  std::uint64_t kills = 60;  ///< of writers; up to ten times as many, until enough of them have hit something
  unsigned stops = ~0u;  ///< of a hundred of them, those that are to stop at a failpoint first; more: as many as usual
  double seconds = 0;    ///< stop after so long; 0: only after `kills`
  std::uint64_t seed = 1;
  std::string device = "cpu";  ///< of the writer
  std::string folder;          ///< of the pools; empty: /dev/shm, and at times the temporary folder
  unsigned again_ms = 0;       ///< a recovering child looks again after so long
  unsigned life_us = 0;        ///< a writer lives up to so long; 0: as its subject is quick
  bool large = false;          ///< large batches: Round::large
  bool keep = false;           ///< leave the pool of a violation
  bool progress = false;

  bool on_gpu() const { return device != "cpu"; }
};

/// What recoveries mended of tables.
struct Mended {
  std::uint64_t repaired = 0, moved = 0, rehashed = 0;
  Mended& operator+=(const Mended& more);
};

/// Kills at one failpoint, and what the recoveries after them mended.
struct AtFailpoint {
  std::uint64_t kills[kMostKinds] = {};
  std::uint64_t missed[kMostKinds] = {};  ///< writers that did not come there, and were killed nevertheless
  std::uint64_t recoveries = 0;           ///< killed there
  Mended mended;

  std::uint64_t all_kills() const;
  std::uint64_t all_missed() const;
};

struct KillCounts {
  std::uint64_t kills = 0;
  std::uint64_t at_random = 0;          ///< of writers that were to stop nowhere
  std::uint64_t at_failpoints = 0;      ///< of writers that had stopped
  std::uint64_t inside = 0;             ///< while a call ran
  std::uint64_t starting = 0;           ///< while the writer created or opened the pool
  std::uint64_t recoveries = 0;         ///< one for each kill, in as many processes as it takes
  std::uint64_t recoveries_killed = 0;  ///< of them, those in which a process was killed while it opened the pool
  std::uint64_t recovery_kills = 0;     ///< processes killed while they opened a pool
  std::uint64_t recovery_stops = 0;     ///< of them, at a failpoint
  std::uint64_t addresses = 0;          ///< recoveries at another address than the one before
  std::uint64_t lives[kMostKinds] = {};
  std::uint64_t pools = 0, on_disk = 0, file_medium = 0;
  Mended mended;
  AtFailpoint at[kFailpoints];
  double max_recovery_ms = 0;
  double seconds = 0;
  std::vector<std::string> violations;
};

/// A line if there were fewer than wanted, or "".
std::string few(const std::string& what, std::uint64_t hits, std::uint64_t wanted);

}  // namespace holdfast::proof::kill
