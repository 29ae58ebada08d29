// calibration.cuh: the study `calibration`: what measuring at open is worth. Seven pools, each opened in turn with it and without,
// and searched in batches of several sizes.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "bench.cuh"

namespace holdfast::bench {

struct CalibratedPool {
  const char* name;
  std::uint32_t key_bytes, value_bytes;
  std::uint64_t items;
  std::uint32_t levels, hashes, slots;
};

inline constexpr std::uint64_t kCalibratedBatches[] = {kMi / 1024, kMi / 256, kMi / 64, kMi / 16, kMi};

/// The rates of each batch size, an opening of each kind a repetition; their medians, and that of their ratios.
inline Json with_and_without(const std::string& pool, const Json& runs) {
  Json rates = Json::array();
  for (const std::uint64_t rows : kCalibratedBatches) {
    const auto openings = [&](const char* work) {
      std::vector<double> of;
      for (const Json& run : runs) {
        if (run["work"] == work && run["batch"] == rows) of.push_back(run["mops"]["median"].get<double>());
      }
      return of;
    };
    const std::vector<double> with = openings("with"), without = openings("without");
    if (with.empty() || with.size() != without.size()) continue;  // left out, for want of time
    const double ratio = spread_of(ratio_of(with, without)).median;
    say("%-20s %8llu rows: %.3f", pool.c_str(), static_cast<unsigned long long>(rows), ratio);
    rates.push_back(
        {{"batch", rows}, {"with", spread_of(with).median}, {"without", spread_of(without).median}, {"ratio", ratio}});
  }
  return rates;
}

/// Opens the pool in turn with calibration and without, and searches it; returns what each calibration chose.
inline Json open_alternately(Bench& bench, unsigned pairs) {
  Json chosen = Json::array();
  for (unsigned pair = 0; pair < pairs; ++pair) {
    for (const bool calibrate : {pair % 2 == 0, pair % 2 != 0}) {
      bench.calibrate(calibrate);
      bench.reopen();
      const Stats stats = bench.table().stats();
      if (calibrate) {
        chosen.push_back({{"unordered_rows", stats.search.unordered_rows},
                          {"cluster_rows", stats.search.cluster_rows},
                          {"gather_share", stats.search.gather_share},
                          {"ms", stats.search.calibration_ms}});
      }
      for (const std::uint64_t rows : kCalibratedBatches)
        bench.find(calibrate ? "with" : "without", bench.uniform(), rows);
    }
  }
  return chosen;
}

inline Json calibration_study(Setup setup) {
  constexpr CalibratedPool kPools[] = {
      {"4.8 GB", 8, 128, 36 * kMi, 2, 2, 8},
      {"1.2 GB", 8, 128, 9 * kMi, 2, 2, 8},
      {"values of 16 bytes", 8, 16, 36 * kMi, 2, 2, 8},
      {"values of 512 bytes", 8, 512, 9 * kMi, 2, 2, 8},
      {"keys of 32 bytes", 32, 128, 18 * kMi, 2, 2, 8},
      {"one level", 8, 128, 9 * kMi, 1, 4, 8},
      {"16 GB", 8, 128, 120 * kMi, 2, 2, 8},
  };
  constexpr unsigned kPairs = 3;
  Json pools = Json::array();
  bool failed = false;
  for (const CalibratedPool& pool : kPools) {
    setup.key_bytes = pool.key_bytes;
    setup.value_bytes = pool.value_bytes;
    setup.items = setup.capacity = pool.items;
    setup.levels = pool.levels;
    setup.hash_locations = pool.hashes;
    setup.slots = pool.slots;
    setup.spare = 0;
    say("-- %s", pool.name);
    Bench bench(setup);
    bench.make();
    bench.load();
    Json chosen = open_alternately(bench, kPairs), runs = Json::array();
    bench.give_runs(runs);
    failed |= bench.failed();
    pools.push_back({{"pool", pool.name},
                     {"items", pool.items},
                     {"key_bytes", pool.key_bytes},
                     {"value_bytes", pool.value_bytes},
                     {"chosen", std::move(chosen)},
                     {"rates", with_and_without(pool.name, runs)}});
  }
  return {{"pairs", kPairs}, {"failed", failed}, {"pools", std::move(pools)}};
}
inline const Study kCalibration("calibration", calibration_study);

}  // namespace holdfast::bench
