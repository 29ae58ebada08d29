// columns.cuh: the study `columns`: a column of the values beside whole ones: what is read of them, and what a change of a part costs.
#pragma once

#include <string>

#include "bench.cuh"

namespace holdfast::bench {

/// The first quarter of each value, of 4 Mi rows and of 4 Ki; all that is read is checked.
inline Json columns_study(Setup setup) {
  if (setup.value_bytes % 64 != 0)
    throw InvalidArgument("columns: values of " + std::to_string(setup.value_bytes) +
                          " bytes: give --value-bytes a multiple of 64, so that a quarter of one is whole sectors");
  setup.time_phases = true;
  Bench bench(setup);
  bench.make();
  bench.load();
  const auto measure = [&](std::uint32_t bytes) {
    const std::string what = ", " + std::to_string(bytes) + " of " + std::to_string(setup.value_bytes) + " bytes";
    for (const std::uint64_t rows : {4 * kMi, kMi / 256}) {
      bench.find("find" + what, bench.uniform(), rows);
      bench.update("assign" + what, bench.uniform(), rows);
      bench.accumulate("accumulate" + what, bench.uniform(), rows);
    }
  };
  measure(setup.value_bytes);
  bench.use_column(setup.value_bytes / 4);  // from now on, since the rest of what it changes keeps older versions
  measure(setup.value_bytes / 4);
  bench.verify();
  Json result = bench.result();
  result["failed"] = bench.failed();
  return result;
}
inline const Study kColumns("columns", columns_study);

}  // namespace holdfast::bench
