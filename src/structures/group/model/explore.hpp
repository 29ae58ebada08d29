// explore.hpp: callers of a group hashing table in every order of their accesses, crashed at each, and again in recovery. Rule 24.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "proof/explorer.hpp"
#include "structures/group/model/oracle.hpp"
#include "structures/group/model/world.hpp"

namespace holdfast::group::model {

/// Each caller does its operations one after another. Keys 0 to 3 address the same cell of level 1 of group 0, key 4 another cell of that
/// group, key 5 another group, where there are two.
struct Scenario {
  std::string name;
  bool wide = false;         ///< items of 32 bytes
  std::uint64_t groups = 1;  ///< of the first table; the larger one has twice as many
  std::uint32_t group_size = 2;
  std::vector<Operation> before;  ///< done before the callers begin
  std::vector<std::vector<Operation>> callers;
};

proof::Verdict explore(const Scenario& scenario, Flavour flavour);

/// Flushes and fences of an operation on a table in which `before` was done, alone.
struct Persists {
  std::uint64_t flushes, fences;
};
Persists persists_of(const Scenario& scenario, const Operation& operation);

}  // namespace holdfast::group::model
