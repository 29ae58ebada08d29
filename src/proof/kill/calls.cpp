// calls.cpp: the base of subjects whose writer makes calls of several kinds.
#include "proof/kill/calls.hpp"

namespace holdfast::proof::kill {

SubjectOfCalls::SubjectOfCalls(const Options& options, Shared& shared, CallState& calls,
                               std::span<const char* const> kinds, std::span<const Stop> stops)
    : Subject(options, shared), calls_(calls), kinds_(kinds), stops_(stops) {}

std::vector<Stop> SubjectOfCalls::stops(bool exists) const {
  std::vector<Stop> some;
  for (const Stop& stop : stops_) {
    if (!exists || stop.kind != 0) some.push_back(stop);
  }
  return some;
}

void SubjectOfCalls::begin_life(const Stop& stop, Random& random) {
  const bool stops = stop.at != Failpoint::none;
  calls_.stop_in = stops ? stop.kind : static_cast<std::uint32_t>(kinds_.size() - 1);
  calls_.stop_from = static_cast<std::uint32_t>(first_stop(random));
  calls_.stop_at = 0;
  if (stops && stop.kind != 0) {
    calls_.stop_at = static_cast<std::uint32_t>(stop.at);
    shared_.failpoints.armed = 0;  // the writer arms it, in calls of that kind
  }
  calls_.inside = calls_.full = calls_.begun = 0;
}

std::string SubjectOfCalls::never_stopped(const KillCounts& counts) const {
  std::string lines;
  for (const Stop& stop : stops_) {
    if (counts.at[static_cast<unsigned>(stop.at)].kills[stop.kind] != 0) continue;
    lines += std::string("no writer stopped at ") + name_of(stop.at) + " in " + kinds_[stop.kind] + "\n";
  }
  return lines;
}

}  // namespace holdfast::proof::kill
