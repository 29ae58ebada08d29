// crash_counts.hpp: runs the scenarios of a model, compares what it tried with the committed numbers, and leaves out each of its steps.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <iostream>
#include <string>

#include "proof/explorer.hpp"

namespace holdfast::proof {

/// A kind of memory that a model has, and its name.
template <class Flavour>
struct NamedFlavour {
  Flavour flavour;
  const char* name;
};

/// Explores all scenarios in one kind of memory, and expects exactly what is `known`. `about` says more of the scenarios.
template <class Scenarios, class Flavour>
void expect_counts(const Scenarios& scenarios, const NamedFlavour<Flavour>& memory, const CrashCounts& known,
                   const std::string& about = "") {
  CrashCounts all;
  for (const auto& scenario : scenarios) {
    const Verdict verdict = explore(scenario, memory.flavour);
    EXPECT_EQ(verdict.failure, "") << scenario.name << ", " << about << memory.name;
    all += verdict.counts;
  }
  std::cout << about << memory.name << ": " << all << "\n";
  EXPECT_EQ(all, known) << about << memory.name;
}

/// The first failure that a scenario shows in some kind of memory, and where; empty: none.
template <class Scenarios, class Flavour, std::size_t kFlavours>
std::string first_failure(const Scenarios& scenarios, const NamedFlavour<Flavour> (&memories)[kFlavours]) {
  for (const auto& scenario : scenarios) {
    for (const NamedFlavour<Flavour>& memory : memories) {
      const Verdict verdict = explore(scenario, memory.flavour);
      if (!verdict.failure.empty()) return scenario.name + ", " + memory.name + ": " + verdict.failure;
    }
  }
  return {};
}

/// Leaves out each step, one after another, and expects that `failure` then returns one.
template <class Step, class Failure>
void expect_steps_needed(Step& left_out, const Failure& failure) {
  for (unsigned step = 0; step < static_cast<unsigned>(Step::count); ++step) {
    left_out = static_cast<Step>(step);
    const std::string by = failure();
    left_out = Step::count;
    EXPECT_NE(by, "") << "nothing fails without step " << step;
    std::cout << step << ": " << by << "\n";
  }
}

}  // namespace holdfast::proof
