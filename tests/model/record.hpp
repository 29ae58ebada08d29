// record.hpp: keeps how much the model tests explored, compares it with what is committed, and writes it down.
#pragma once

#include <cstdint>
#include <string>

#include "structures/gphash/model/explore.hpp"

namespace holdfast::gphash::model {

/// HOLDFAST_MODEL=long or HOLDFAST_LONG=1: everything within the bounds of rule 24; else a part of it that takes seconds.
bool long_run();

/// Prints the counts of a suite, and fails the test if they are not those of tests/model/explored.hpp: then a bound or a scenario was
/// lost or gained, or the protocol makes other accesses. With HOLDFAST_RESULTS=FOLDER all that this program recorded is in
/// FOLDER/model.json, and `scripts/model-results --explored` takes it over from there.
void record(const std::string& suite, const std::string& flavour, const ExploreCounts& counts);
/// A mutant: who killed it, and after how many states; or that nobody did.
void record_mutant(const std::string& step, const std::string& killer, std::uint64_t states,
                   const std::string& why_not);

/// The same of a play over weak memory, of which only the executions are counted.
void record_play(const std::string& play, const std::string& variant, std::uint64_t executions);

}  // namespace holdfast::gphash::model
