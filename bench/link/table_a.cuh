// table_a.cuh: the study `table-a`: 37.7 M items of 8-byte keys and 128-byte values in 3·2^24 slots, operation by
// operation; and `phases`: what its changing batches spend their time on.
#pragma once

#include "bench.cuh"

namespace holdfast::bench {

/// Operations that change, and need the values that are there.
inline void change_with_values(Bench& bench, const Draw& skewed) {
  bench.accumulate("accumulate", bench.uniform(), 4 * kMi);
  bench.accumulate("accumulate zipfian", skewed, 4 * kMi);
  bench.find_or_insert("find_or_insert", bench.uniform(), 4 * kMi);
}

/// The result so far, and inserts into another table.
inline Json then_two_streams(Bench& bench) {
  Json result = bench.result();
  bench.make();
  bench.load_on_two_streams(4 * kMi, "insert, 2 streams");
  result["runs"] = bench.result()["runs"];
  return result;
}

/// Searches, and then changes if `setup` says so.
inline Json table_a(Bench& bench) {
  bench.make();
  bench.load();
  const Draw uniform = bench.uniform(), skewed = zipfian(bench.setup().items, 0.99);
  for (const std::uint64_t batch : {16 * kMi, 4 * kMi, kMi, kMi / 4, kMi / 16, kMi / 64, kMi / 256})
    bench.find("find", uniform, batch);
  for (const std::uint64_t batch : {4 * kMi, kMi, kMi / 256}) bench.find("find", uniform, batch, 2);
  bench.contains("contains", uniform, 4 * kMi, false);
  bench.contains("contains absent", uniform, 4 * kMi, true);
  bench.find("absent", uniform, 4 * kMi, 1, true);
  for (const std::uint64_t batch : {4 * kMi, kMi / 256}) bench.find("find zipfian", skewed, batch);
  if (!bench.setup().changes) return bench.result();
  bench.update("update", uniform, 4 * kMi);
  bench.update("update zipfian", skewed, 4 * kMi);
  bench.mixed("ycsb A", skewed, 4 * kMi, 10);
  change_with_values(bench, skewed);
  bench.find("find after updates", uniform, 4 * kMi);
  bench.erase("erase", 4 * kMi);
  bench.verify();
  bench.reopen();
  for (const std::uint64_t batch : {4 * kMi, kMi / 16, kMi / 256})
    bench.find("find after reopening", bench.uniform(), batch);
  return then_two_streams(bench);
}

inline Json table_a_study(const Setup& setup) {
  Bench bench(setup);
  Json result = table_a(bench);
  result["failed"] = bench.failed();
  return result;
}
inline const Study kTableA("table-a", table_a_study);

/// The changes of the same table, with the time that each of their phases takes.
inline Json phases_study(Setup setup) {
  setup.time_phases = true;
  Bench bench(setup);
  bench.make();
  bench.load();
  const Draw skewed = zipfian(setup.items, 0.99);
  bench.update("update", bench.uniform(), 4 * kMi);
  bench.update("update zipfian", skewed, 4 * kMi);
  bench.mixed("ycsb A", skewed, 4 * kMi, 10);
  change_with_values(bench, skewed);
  bench.erase("erase", 4 * kMi);
  bench.verify();
  Json result = then_two_streams(bench);
  result["failed"] = bench.failed();
  return result;
}
inline const Study kPhases("phases", phases_study);

}  // namespace holdfast::bench
