// record.cpp: one result file of everything that was explored, rewritten after each suite.
#include "record.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "explored.hpp"
#include "proof/runs/results.hpp"

namespace holdfast::gphash::model {

namespace {

struct Suite {
  std::string name, flavour;
  ExploreCounts counts;
};
struct Mutant {
  std::string step, killer, why_not;
  std::uint64_t states;
};
std::vector<Suite> suites;
std::vector<Mutant> mutants;

void write_down() {
  const char* const folder = std::getenv("HOLDFAST_RESULTS");
  if (folder == nullptr) return;
  proof::Results results("holdfast.model/1");
  results.add("run", std::string(long_run() ? "long" : "bounded"));
  for (const Suite& suite : suites) {
    const std::string prefix = suite.name + "." + suite.flavour + ".";
    results.add(prefix + "scenarios", suite.counts.scenarios);
    results.add(prefix + "executions", suite.counts.executions);
    results.add(prefix + "states", suite.counts.states);
    results.add(prefix + "crash_images", suite.counts.images);
    results.add(prefix + "states_with_sampled_images", suite.counts.sampled);
    results.add(prefix + "recoveries", suite.counts.recovery.recoveries);
    results.add(prefix + "images_of_crashes_in_recovery", suite.counts.recovery.crashed);
    results.add(prefix + "images_of_crashes_after_recovery", suite.counts.recovery.second_crashes);
  }
  std::uint64_t killed = 0, explained = 0;
  for (const Mutant& mutant : mutants) {
    const std::string prefix = "mutants." + mutant.step + ".";
    results.add(prefix + "killed_by", mutant.killer);
    results.add(prefix + "states", mutant.states);
    if (mutant.killer.empty()) results.add(prefix + "survives_because", mutant.why_not);
    killed += !mutant.killer.empty();
    explained += mutant.killer.empty() && !mutant.why_not.empty();
  }
  results.add("mutants", std::uint64_t{mutants.size()});
  results.add("mutants_killed", killed);
  results.add("mutants_explained", explained);
  results.add("mutants_neither_killed_nor_explained", mutants.size() - killed - explained);
  results.write(folder, "model.json");
}

std::array<std::uint64_t, 8> numbers(const ExploreCounts& c) {
  return {c.scenarios, c.executions,          c.states,           c.images,
          c.sampled,   c.recovery.recoveries, c.recovery.crashed, c.recovery.second_crashes};
}
std::array<std::uint64_t, 8> numbers(const Explored& e) {
  return {e.scenarios,
          e.executions,
          e.states,
          e.images,
          e.sampled,
          e.recoveries,
          e.crashed_in_recovery,
          e.crashed_after_recovery};
}

constexpr const char* kHowToRenew =
    "If the protocol or the scenarios changed on purpose, run these suites with HOLDFAST_RESULTS=FOLDER, and then\n"
    "scripts/model-results --explored FOLDER/*/model.json; say in the commit why the numbers are others.";

void compare(const std::string& suite, const std::string& flavour, const ExploreCounts& counts) {
  const std::string run = long_run() ? "long" : "bounded";
  for (const Explored& explored : kExplored) {
    if (run != explored.run || suite != explored.suite || flavour != explored.flavour) continue;
    EXPECT_EQ(numbers(counts), numbers(explored)) << suite << ", " << flavour << ", " << run << ". " << kHowToRenew;
    return;
  }
  ADD_FAILURE() << "tests/model/explored.hpp has no row for " << run << " " << suite << " " << flavour << ". "
                << kHowToRenew;
}

}  // namespace

bool long_run() {
  const char* const model = std::getenv("HOLDFAST_MODEL");
  const char* const all = std::getenv("HOLDFAST_LONG");
  return (model != nullptr && std::string_view(model) == "long") || (all != nullptr && std::string_view(all) == "1");
}

void record(const std::string& suite, const std::string& flavour, const ExploreCounts& c) {
  std::printf(
      "%s, %s: %llu scenarios, %llu executions, %llu states, %llu crash images, %llu recoveries, %llu images of "
      "crashes in "
      "them, %llu of crashes after them\n",
      suite.c_str(), flavour.c_str(), static_cast<unsigned long long>(c.scenarios),
      static_cast<unsigned long long>(c.executions), static_cast<unsigned long long>(c.states),
      static_cast<unsigned long long>(c.images), static_cast<unsigned long long>(c.recovery.recoveries),
      static_cast<unsigned long long>(c.recovery.crashed), static_cast<unsigned long long>(c.recovery.second_crashes));
  suites.push_back({suite, flavour, c});
  write_down();
  compare(suite, flavour, c);
}

void record_play(const std::string& play, const std::string& variant, std::uint64_t executions) {
  ExploreCounts counts;
  counts.scenarios = 1;
  counts.executions = executions;
  record(play, variant, counts);
}

void record_mutant(const std::string& step, const std::string& killer, std::uint64_t states,
                   const std::string& why_not) {
  std::printf("%-28s %s\n", step.c_str(),
              killer.empty() ? ("SURVIVES " + std::to_string(states) + " states: " + why_not).c_str()
                             : ("killed after " + std::to_string(states) + " states by: " + killer).c_str());
  mutants.push_back({step, killer, why_not, states});
  write_down();
}

}  // namespace holdfast::gphash::model
