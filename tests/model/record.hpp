// record.hpp: keeps how much the model tests explored, compares it with what is committed, and writes it down.
#pragma once

#include <cstdint>
#include <string>

#include "machine/model/explore.hpp"

namespace holdfast::machine::model {

/// HOLDFAST_MODEL=long or HOLDFAST_LONG=1: everything within the bounds of RULES.md 24; else a part of it that takes seconds.
bool long_run();

/// Prints the counts of a suite. With HOLDFAST_RESULTS=FOLDER all that this program recorded is
/// in FOLDER/<machine>/model.json.
void record(const std::string& suite, const std::string& flavour, const Counts& counts);
/// A mutant: who killed it, and after how many states; or that nobody did.
void record_mutant(const std::string& step, const std::string& killer, std::uint64_t states,
                   const std::string& why_not);

/// Fails the test if less was explored than tests/model/minimum.hpp says: then a bound fell, or a scenario was lost.
void check_minimum(const std::string& suite, const std::string& flavour, const Counts& counts);

}  // namespace holdfast::machine::model
