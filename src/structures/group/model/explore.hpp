// explore.hpp: group hashing in the model: its callers in every order, crashed at each access. Rule 24.
#pragma once

#include <cstdint>

#include "proof/explorer.hpp"
#include "structures/group/step.hpp"
#include "structures/model/script.hpp"

namespace holdfast::group::model {

using structures::model::Do;
using structures::model::Flavour;
using structures::model::Operation;
using structures::model::Persists;

/// Keys 0 to 3 address the same cell of level 1 of group 0, key 4 another cell of that group, key 5 another group, where there are two.
struct Scenario : structures::model::Script {
  std::uint64_t groups = 1;  ///< of the first table; the larger one has twice as many
  std::uint32_t group_size = 2;
};

inline Step& left_out = structures::model::left_out<Step>;

proof::Verdict explore(const Scenario& scenario, Flavour flavour);
/// Of an operation on a table in which `before` was done, alone.
Persists persists_of(const Scenario& scenario, const Operation& operation);

}  // namespace holdfast::group::model
