// report.cpp: what the campaign counted: whether it is enough, and as fields of a result file.
#include "report.hpp"

#include <cstdio>
#include <numeric>

namespace holdfast::test::kill {
namespace {

std::uint64_t sum(const std::uint64_t (&counts)[kKinds]) {
  return std::accumulate(std::begin(counts), std::end(counts), std::uint64_t{0});
}

std::string few(const std::string& what, std::uint64_t hits, std::uint64_t wanted) {
  if (hits >= wanted) return "";
  return "too few " + what + ": " + std::to_string(hits) + ", not " + std::to_string(wanted) + "\n";
}

bool is_used(const AtFailpoint& at) { return at.all_kills() + at.all_missed() + at.recoveries != 0; }

/// Of the failpoints at which writers stop on this device, those at which none did.
std::string never_stopped_at(const Counts& counts, const Options& options) {
  std::string lines;
  for (unsigned i = 1; i < kFailpoints; ++i) {
    const FailpointFacts& facts = facts_of(static_cast<Failpoint>(i));
    const bool phases = facts.theme == Theme::phases;
    if (facts.theme == Theme::none || (phases && options.device == "cpu")) continue;
    if (options.large && options.device != "cpu" && !phases) continue;
    if (counts.at[i].all_kills() == 0) lines += std::string("no writer stopped at ") + facts.name + "\n";
  }
  return lines;
}

}  // namespace

std::uint64_t AtFailpoint::all_kills() const { return sum(kills); }
std::uint64_t AtFailpoint::all_missed() const { return sum(missed); }

std::string Counts::lacking(std::uint64_t planned, const Options& options) const {
  const bool on_gpu = options.device != "cpu";
  const std::uint64_t random = planned * (100 - options.stops) / 100;
  std::string lines = few("kills at random fell inside an operation", inside, random / 2) +
                      few("recoveries were killed", recoveries_killed, planned / 4);
  if (options.large) {
    lines += few("kills at random fell inside a large batch", inside_large, random / 4) +
             few("batches went in phases", phased, on_gpu ? planned / 4 : 0);
  }
  if (options.stops == 0) return lines;
  lines += few("writers stopped at failpoints", at_failpoints, planned * options.stops / 200);
  if (options.large || planned < (on_gpu ? 100 : 1000)) return lines;
  constexpr std::uint64_t kEach = 20;
  return lines + few("slots were repaired", repaired, kEach) + few("moves were finished", moved, kEach) +
         few("resizes were continued", continued, kEach) + never_stopped_at(*this, options);
}

std::string table_of(const Counts& counts) {
  char line[160];
  std::string text;
  const auto add = [&](const auto&... cells) {
    std::snprintf(line, sizeof line, cells...);
    text += line;
  };
  add("%-24s", "failpoint");
  for (unsigned kind = 0; kind < kKinds; ++kind) add("%9s", name_of(static_cast<Kind>(kind)));
  add("%9s%9s%9s%9s%9s\n", "missed", "recovery", "repaired", "moves", "rehashed");
  for (unsigned i = 1; i < kFailpoints; ++i) {
    const AtFailpoint& at = counts.at[i];
    if (!is_used(at)) continue;
    add("%-24s", facts_of(static_cast<Failpoint>(i)).name);
    for (const std::uint64_t kills : at.kills) add("%9llu", static_cast<unsigned long long>(kills));
    for (const std::uint64_t n : {at.all_missed(), at.recoveries, at.repaired, at.moved, at.rehashed}) {
      add("%9llu", static_cast<unsigned long long>(n));
    }
    text += "\n";
  }
  return text;
}

Results results_of(const Options& options, const Counts& counts) {
  Results results("holdfast.kill-test/2");
  results.add("device", options.device);
  results.add("seed", options.seed);
  results.add("kills", counts.kills);
  results.add("kills_at_random", counts.at_random);
  results.add("kills_at_failpoints", counts.at_failpoints);
  results.add("inside", counts.inside);
  if (options.large) results.add("inside_large_batches", counts.inside_large);
  if (options.device != "cpu") results.add("batches_in_phases", counts.phased);
  results.add("starting", counts.starting);
  results.add("recoveries", counts.recoveries);
  results.add("recoveries_killed", counts.recoveries_killed);
  results.add("recovery_kills", counts.recovery_kills);
  results.add("recovery_kills_at_failpoints", counts.recovery_stops);
  results.add("recoveries_at_another_address", counts.addresses);
  results.add("pools", counts.pools);
  results.add("pools_on_disk", counts.on_disk);
  results.add("pools_of_medium_file", counts.file_medium);
  results.add("calls", counts.calls);
  results.add("operations", counts.operations);
  results.add("keys_verified", counts.keys_verified);
  results.add("pending_kept", counts.pending_kept);
  results.add("pending_lost", counts.pending_lost);
  results.add("pending_reads_survived", counts.reads_bound);
  results.add("repaired_slots", counts.repaired);
  results.add("finished_moves", counts.moved);
  results.add("continued_resizes", counts.continued);
  results.add("rehashed", counts.rehashed);
  results.add("largest_items", counts.largest);
  results.add("max_recovery_ms", counts.max_recovery_ms);
  results.add("seconds", counts.seconds);
  results.add("violations", static_cast<std::uint64_t>(counts.violations.size()));
  Results::Row kinds;
  for (unsigned kind = 0; kind < kKinds; ++kind) {
    kinds.emplace_back(name_of(static_cast<Kind>(kind)), counts.lives[kind]);
  }
  results.add("kinds", kinds);
  std::vector<std::pair<std::string, Results::Row>> failpoints;
  for (unsigned i = 1; i < kFailpoints; ++i) {
    const AtFailpoint& at = counts.at[i];
    if (!is_used(at)) continue;
    Results::Row row{{"kills", at.all_kills()}};
    for (unsigned kind = 0; kind < kKinds; ++kind) {
      if (at.kills[kind] != 0) row.emplace_back(name_of(static_cast<Kind>(kind)), at.kills[kind]);
    }
    row.insert(row.end(), {{"missed", at.all_missed()},
                           {"recovery_kills", at.recoveries},
                           {"repaired_slots", at.repaired},
                           {"finished_moves", at.moved},
                           {"rehashed", at.rehashed}});
    failpoints.emplace_back(facts_of(static_cast<Failpoint>(i)).name, std::move(row));
  }
  results.add("failpoints", failpoints);
  return results;
}

}  // namespace holdfast::test::kill
