// curves.cuh: the studies `batches`, `skew`, `keys` and `shapes`: throughput by batch size (with keys of 8 and of 32 bytes), by
// skew, by the bytes of a key, and by configuration.
#pragma once

#include <utility>

#include "bench.cuh"

namespace holdfast::bench {

/// Throughput, and the latency of a batch, by batch size: the micro workloads and YCSB A, B, C and F, zipfian 0.99.
inline void by_batch_size(Bench& bench) {
  const Draw uniform = bench.uniform(), skewed = zipfian(bench.setup().items, 0.99);
  for (std::uint64_t rows = 4096; rows <= 16 * kMi; rows *= 4) {
    bench.find("find", uniform, rows);
    bench.find("absent", uniform, rows, 1, true);
    bench.find("ycsb C", skewed, rows);
    if (rows > 4 * kMi) continue;  // updates of more keys than there are spare cells grow the heap instead
    bench.update("update", uniform, rows, 5);
    bench.mixed("ycsb A", skewed, rows, 10);
    bench.mixed("ycsb B", skewed, rows, 1);
    bench.read_modify_write("ycsb F", skewed, rows);
  }
  for (std::uint64_t rows = 4096; rows <= 4 * kMi; rows *= 4) {
    bench.erase("erase", rows);
    bench.insert_erased("insert", rows);
  }
}

/// GPHash Figures 5 and 6: keys of 8 bytes and of 32, a table each.
inline Json batches_study(Setup setup) {
  Json runs = Json::array();
  bool failed = false;
  for (const std::uint32_t bytes : {8u, 32u}) {
    setup.key_bytes = bytes;
    Bench bench(setup);
    bench.make();
    bench.use("keys of " + std::to_string(bytes) + " bytes");
    bench.load(4 * kMi, "load");
    by_batch_size(bench);
    bench.verify();
    failed |= bench.failed();
    bench.note_all("key_bytes", bytes);
    bench.give_runs(runs);
  }
  return {{"items", setup.items}, {"value_bytes", setup.value_bytes}, {"failed", failed}, {"runs", runs}};
}
inline const Study kBatches("batches", batches_study);

/// GPHash Figure 12b: finds, zipfian from 0 to 1.2.
inline Json skew_study(const Setup& setup) {
  Bench bench(setup);
  bench.make();
  bench.load();
  Json result;
  for (const double theta : {0.0, 0.2, 0.4, 0.6, 0.8, 0.9, 0.99, 1.1, 1.2}) {
    char work[40];
    std::snprintf(work, sizeof work, "find, theta %.2f", theta);
    const Draw draw = theta == 0 ? bench.uniform() : zipfian(setup.items, theta);
    for (const std::uint64_t rows : {4 * kMi, kMi / 256}) bench.find(work, draw, rows);
  }
  result = bench.result();
  result["failed"] = bench.failed();
  return result;
}
inline const Study kSkew("skew", skew_study);

/// GPHash Figure 12a: keys of 8 to 128 bytes. Each size has a table of its own, with the same items and values.
inline Json keys_study(Setup setup) {
  Json runs = Json::array();
  bool failed = false;
  for (const std::uint32_t bytes : {8u, 16u, 32u, 64u, 128u}) {
    setup.key_bytes = bytes;
    const std::string keys = ", keys of " + std::to_string(bytes) + " bytes";
    Bench bench(setup);
    bench.make();
    bench.load(4 * kMi, ("insert" + keys).c_str());
    for (const std::uint64_t rows : {4 * kMi, kMi, kMi / 256}) bench.find("find" + keys, bench.uniform(), rows);
    bench.contains("contains" + keys, bench.uniform(), 4 * kMi, false);
    bench.find("absent" + keys, bench.uniform(), 4 * kMi, 1, true);
    bench.update("update" + keys, bench.uniform(), 4 * kMi);
    bench.erase("erase" + keys, 4 * kMi);
    bench.verify();
    failed |= bench.failed();
    bench.give_runs(runs);
  }
  const std::vector<double> ratios =
      ratio_of(rates_of(runs, "find, keys of 128 bytes", 4 * kMi), rates_of(runs, "find, keys of 8 bytes", 4 * kMi));
  return {{"items", setup.items},
          {"value_bytes", setup.value_bytes},
          {"failed", failed},
          {"slower_by", 100 * (1 - spread_of(ratios).median)},  // %: finds with 128-byte keys, in batches of 4 Mi
          {"runs", runs}};
}
inline const Study kKeys("keys", keys_study);

/// How many items the table of a bench takes before it grows, in batches of 64 Ki.
inline std::uint64_t items_until_growth(Bench& bench) {
  const std::uint64_t slots = bench.table().slots();
  std::uint64_t items = 0;
  while (bench.table().slots() == slots) {
    items = bench.table().size();
    bench.insert_items(items, kMi / 16);
  }
  return items;
}

/// GPHash Figure 13: configurations of some 12.6 M slots: how full each gets, and how fast it is searched nearly that full.
inline Json shapes_study(Setup setup) {
  struct Configuration {
    std::uint32_t levels, hashes, slots;
  };
  constexpr Configuration kShapes[] = {{1, 2, 8}, {1, 2, 16}, {1, 4, 8}, {2, 1, 8}, {2, 1, 16},
                                       {2, 2, 4}, {2, 2, 8},  {4, 1, 8}, {4, 2, 2}, {4, 2, 4}};
  setup.spare = 0;
  Json shapes = Json::array();
  bool failed = false;
  for (const Configuration shape : kShapes) {
    setup.levels = shape.levels;
    setup.hash_locations = shape.hashes;
    setup.slots = shape.slots;
    setup.capacity = setup.items = 9 * kMi;
    std::uint64_t slots = 0, items = 0;
    {
      Bench bench(setup);
      bench.make();
      slots = bench.table().slots();
      items = items_until_growth(bench);
      failed |= bench.failed();
    }
    setup.items = items - items / 50;
    Bench bench(setup);
    bench.make();
    bench.load(kMi);
    bench.find("find", bench.uniform(), kMi);
    bench.find("absent", bench.uniform(), kMi, 1, true);
    failed |= bench.failed();
    Json result = bench.result();
    result["levels"] = shape.levels;
    result["hash_locations"] = shape.hashes;
    result["slots_a_bucket"] = shape.slots;
    result["load_factor"] = static_cast<double>(items) / static_cast<double>(slots);
    shapes.push_back(std::move(result));
  }
  return {{"value_bytes", setup.value_bytes}, {"failed", failed}, {"shapes", shapes}};
}
inline const Study kShapes("shapes", shapes_study);

}  // namespace holdfast::bench
