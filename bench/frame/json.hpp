// json.hpp: what programs print of their figures, for a result file.
#pragma once

#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "frame/timing.hpp"

namespace holdfast::bench {

using Json = nlohmann::ordered_json;

/// A figure's repetitions as result files have them.
inline Json spread(std::vector<double> repetitions) {
  const Spread all = spread_of(std::move(repetitions));
  return {{"median", all.median}, {"low", all.low}, {"high", all.high}, {"all", all.all}};
}

}  // namespace holdfast::bench
