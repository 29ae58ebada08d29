// explore.hpp: linear probing, PFHT and path hashing in the model: their callers in every order, crashed at each access. Rule 24.
#pragma once

#include <cstdint>

#include "proof/explorer.hpp"
#include "structures/cells/step.hpp"
#include "structures/model/script.hpp"

namespace holdfast::cells::model {

using structures::model::Do;
using structures::model::Flavour;
using structures::model::InsertLosses;
using structures::model::Operation;
using structures::model::Persists;

enum class Scheme : std::uint8_t { linear, pfht, path };
inline constexpr Scheme kSchemes[] = {Scheme::linear, Scheme::pfht, Scheme::path};

/// Key 5 is all zero, and in the reserved cell. The others:
///
///   linear   of 8 cells: keys 0 to 2 address the last one, key 3 the first, key 4 the second
///   pfht     of 4 buckets of one cell, and 2 cells in the stash: keys 0, 2, 3, 4 have buckets 0 and 1, key 1 buckets 1 and 2
///   path     of 4 leaves: keys 0 to 3 have the paths from leaves 0 and 1, key 4 from 3 and 2
struct Scenario : structures::model::Script {
  Scheme scheme = Scheme::linear;
  bool logged = true;
};

inline Step& left_out = structures::model::left_out<Step>;

proof::Verdict explore(const Scenario& scenario, Flavour flavour);
/// Of an operation on a table in which `before` was done, alone.
Persists persists_of(const Scenario& scenario, const Operation& operation);
/// Of an insert of key 0 into a table in which `before` was done.
InsertLosses insert_losses(const Scenario& scenario);

}  // namespace holdfast::cells::model
