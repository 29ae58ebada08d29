// against.cuh: the studies `rivals` and `factors`: Holdfast beside the indexes that GPHash is compared with (§4.2), on the same
// medium and in one run; and what each of its techniques adds (§4.4, Figure 9).
#pragma once

#include <thread>

#include "bench.cuh"
#include "buckets.cuh"
#include "cache.cuh"
#include "rivals/rivals.cuh"

namespace holdfast::bench {

/// Free cells of a rival, as many as a batch takes: from the second batch of updates on, they lie at random.
inline constexpr std::uint64_t kFree = 4 * kMi;
inline constexpr double kPatience = 0.8;  ///< seconds after which a run of these studies is not repeated

/// Find, update, erase and insert, in batches of 4 Ki to 4 Mi.
inline void all_operations(Bench& bench, const Draw& skewed) {
  for (const std::uint64_t rows : {4 * kMi, kMi, kMi / 16, kMi / 256}) {
    bench.find("find", bench.uniform(), rows);
    if (rows == 4 * kMi || rows == kMi / 256) bench.find("find zipfian", skewed, rows);
    bench.update("update", bench.uniform(), rows);
    bench.erase("erase", rows);
    bench.insert_erased("insert", rows);
  }
}

/// The same items, draws and checks, and another one that answers.
template <class Act>
void on_rival(const Setup& setup, const std::string& by, Json& runs, bool& failed,
              std::function<void(const Batch&)> run, const Act& act) {
  Bench bench(setup);
  bench.use(by, std::move(run));
  bench.load(4 * kMi, "load");
  act(bench);
  failed |= bench.failed();
  bench.give_runs(runs);
}

/// The words of a value, of whose cells each begins on a boundary of 16 bytes.
inline unsigned rival_words(const Setup& setup) {
  if (setup.value_bytes % 16 != 0)
    throw InvalidArgument("link: --value-bytes is no multiple of 16, as rivals have them");
  return setup.value_bytes / 8;
}

inline Json rivals_study(Setup setup) {
  setup.patience = kPatience;
  const unsigned words = rival_words(setup);
  const std::uint64_t cells = setup.items + kFree;
  const Draw skewed = zipfian(setup.items, 0.99);
  Json result, runs = Json::array();
  bool failed = false;
  {
    Bench bench(setup);
    bench.make();
    bench.use("Holdfast");
    bench.load(4 * kMi, "load");
    all_operations(bench, skewed);
    bench.open_on("cpu", std::max(1u, std::thread::hardware_concurrency()));
    bench.reopen();
    CpuRoad road(bench.table(), 4 * kMi, words);
    bench.use("by the CPU", [&](const Batch& batch) { road.run(batch); });
    all_operations(bench, skewed);
    result = bench.result();
    failed |= bench.failed();
    runs = result["runs"];
  }
  Arena arena(setup.pool, std::max(LevelRival<true>::bytes(setup.items, cells, words),
                                   SlabRival::bytes(setup.items, cells, words)));
  const auto all = [&](Bench& bench) { all_operations(bench, skewed); };
  {
    LevelRival<true> rival(arena, setup.items, cells, words);
    on_rival(
        setup, "warp-agnostic", runs, failed, [&](const Batch& batch) { rival.run(batch, false); }, all);
  }
  {
    SlabRival rival(arena, setup.items, cells, words);
    on_rival(
        setup, "chained slabs", runs, failed, [&](const Batch& batch) { rival.run(batch); }, all);
  }
  result["runs"] = runs;
  result["failed"] = failed;
  return result;
}
inline const Study kRivals("rivals", rivals_study);

/// What the figure of the paper runs: here finds and updates, uniform and skewed.
inline void measure_factor(Bench& bench, const Draw& skewed) {
  bench.find("find", bench.uniform(), 4 * kMi);
  bench.find("find zipfian", skewed, 4 * kMi);
  bench.update("update", bench.uniform(), 4 * kMi);
  bench.update("update zipfian", skewed, 4 * kMi);
}

inline Json factors_study(Setup setup) {
  setup.patience = kPatience;
  const unsigned words = rival_words(setup);
  const std::uint64_t cells = setup.items + kFree;
  const Draw skewed = zipfian(setup.items, 0.99);
  Json runs = Json::array();
  bool failed = false;
  {
    Arena arena(setup.pool, LevelRival<false>::bytes(setup.items, cells, words));
    const auto measure = [&](Bench& bench) { measure_factor(bench, skewed); };
    {
      LevelRival<false> rival(arena, setup.items, cells, words);
      const auto by_warps = [&](const Batch& batch) { rival.run(batch, true); };
      on_rival(
          setup, "baseline", runs, failed, [&](const Batch& batch) { rival.run(batch, batch.op == Op::insert); },
          [&](Bench& bench) {
            measure(bench);
            bench.use("+ warp-cooperative", by_warps);
            measure(bench);
          });
    }
    LevelRival<true> rival(arena, setup.items, cells, words);
    on_rival(
        setup, "+ in-place keys", runs, failed, [&](const Batch& batch) { rival.run(batch, true); }, measure);
  }
  constexpr std::uint64_t kNever = ~std::uint64_t{0};
  setup.gpu_memory = 0;
  setup.order_from = kNever;
  Bench bench(setup);
  bench.make();
  bench.use("+ tags in GPU memory");
  bench.load(4 * kMi, "load");
  measure_factor(bench, skewed);
  bench.open_with(kHalfOfFree, kNever);
  bench.cache(cached_buckets(0.2, CachePolicy::lfu));
  bench.reopen();
  bench.use("+ bucket cache 20%");
  train(bench, skewed, 2, 3);
  measure_factor(bench, skewed);
  bench.cache({});
  bench.reopen();
  bench.use("+ resident buckets");
  measure_factor(bench, skewed);
  bench.open_with(kHalfOfFree, 0);
  bench.reopen();
  bench.use("+ ordered phases");
  measure_factor(bench, skewed);
  bench.cache(cached(0.2));
  bench.reopen();
  bench.use("+ value cache 20%");
  train(bench, skewed, 60, 2);
  measure_factor(bench, skewed);
  bench.verify();
  failed |= bench.failed();
  bench.give_runs(runs);
  Json result = bench.result();
  result["runs"] = runs;
  result["failed"] = failed;
  return result;
}
inline const Study kFactors("factors", factors_study);

}  // namespace holdfast::bench
