// report.cpp: what a campaign counted: whether it is enough, and as fields of a result file.
#include "proof/kill/report.hpp"

#include <cstdio>
#include <numeric>

namespace holdfast::proof::kill {
namespace {

std::uint64_t sum(const std::uint64_t (&counts)[kMostKinds]) {
  return std::accumulate(std::begin(counts), std::end(counts), std::uint64_t{0});
}

bool is_used(const AtFailpoint& at) { return at.all_kills() + at.all_missed() + at.recoveries != 0; }

void add_kinds(Results& results, const Campaign& campaign) {
  const auto kinds = campaign.subject().kinds();
  Results::Row row;
  for (unsigned kind = 0; kind < kinds.size(); ++kind) row.emplace_back(kinds[kind], campaign.counts().lives[kind]);
  results.add("kinds", row);
}

void add_failpoints(Results& results, const Campaign& campaign) {
  const auto kinds = campaign.subject().kinds();
  std::vector<std::pair<std::string, Results::Row>> failpoints;
  for (unsigned i = 1; i < kFailpoints; ++i) {
    const AtFailpoint& at = campaign.counts().at[i];
    if (!is_used(at)) continue;
    Results::Row row{{"kills", at.all_kills()}};
    for (unsigned kind = 0; kind < kinds.size(); ++kind) {
      if (at.kills[kind] != 0) row.emplace_back(kinds[kind], at.kills[kind]);
    }
    row.insert(row.end(), {{"missed", at.all_missed()},
                           {"recovery_kills", at.recoveries},
                           {"repaired_slots", at.mended.repaired},
                           {"finished_moves", at.mended.moved},
                           {"rehashed", at.mended.rehashed}});
    failpoints.emplace_back(name_of(static_cast<Failpoint>(i)), std::move(row));
  }
  results.add("failpoints", failpoints);
}

}  // namespace

Mended& Mended::operator+=(const Mended& more) {
  repaired += more.repaired;
  moved += more.moved;
  rehashed += more.rehashed;
  return *this;
}

std::uint64_t AtFailpoint::all_kills() const { return sum(kills); }
std::uint64_t AtFailpoint::all_missed() const { return sum(missed); }

std::string few(const std::string& what, std::uint64_t hits, std::uint64_t wanted) {
  if (hits >= wanted) return "";
  return "too few " + what + ": " + std::to_string(hits) + ", not " + std::to_string(wanted) + "\n";
}

std::string Campaign::lacking(std::uint64_t planned) const {
  const std::uint64_t random = planned * (100 - options_.stops) / 100;
  const std::string lines = few("kills at random fell inside an operation", counts_.inside, random / 2) +
                            few("recoveries were killed", counts_.recoveries_killed, planned / 4) +
                            few("writers stopped at failpoints", counts_.at_failpoints, planned * options_.stops / 200);
  return lines + subject_->lacking(counts_, planned);
}

std::string table_of(const Campaign& campaign) {
  const auto kinds = campaign.subject().kinds();
  char line[160];
  std::string text;
  const auto add = [&](const auto&... cells) {
    std::snprintf(line, sizeof line, cells...);
    text += line;
  };
  add("%-24s", "failpoint");
  for (const char* const kind : kinds) add("%12s", kind);
  add("%9s%9s%9s%9s%9s\n", "missed", "recovery", "repaired", "moves", "rehashed");
  for (unsigned i = 1; i < kFailpoints; ++i) {
    const AtFailpoint& at = campaign.counts().at[i];
    if (!is_used(at)) continue;
    add("%-24s", name_of(static_cast<Failpoint>(i)));
    for (unsigned kind = 0; kind < kinds.size(); ++kind) add("%12llu", static_cast<unsigned long long>(at.kills[kind]));
    for (const std::uint64_t n :
         {at.all_missed(), at.recoveries, at.mended.repaired, at.mended.moved, at.mended.rehashed}) {
      add("%9llu", static_cast<unsigned long long>(n));
    }
    text += "\n";
  }
  return text;
}

Results results_of(const Campaign& campaign) {
  const KillCounts& counts = campaign.counts();
  Results results;
  results.add("kills", counts.kills);
  results.add("kills_at_random", counts.at_random);
  results.add("kills_at_failpoints", counts.at_failpoints);
  results.add("inside", counts.inside);
  results.add("starting", counts.starting);
  results.add("recoveries", counts.recoveries);
  results.add("recoveries_killed", counts.recoveries_killed);
  results.add("recovery_kills", counts.recovery_kills);
  results.add("recovery_kills_at_failpoints", counts.recovery_stops);
  results.add("recoveries_at_another_address", counts.addresses);
  results.add("pools", counts.pools);
  results.add("pools_on_disk", counts.on_disk);
  results.add("pools_of_medium_file", counts.file_medium);
  campaign.subject().add_to(results);
  results.add("repaired_slots", counts.mended.repaired);
  results.add("finished_moves", counts.mended.moved);
  results.add("rehashed", counts.mended.rehashed);
  results.add("max_recovery_ms", counts.max_recovery_ms);
  results.add("seconds", counts.seconds);
  add_kinds(results, campaign);
  add_failpoints(results, campaign);
  return results;
}

}  // namespace holdfast::proof::kill
