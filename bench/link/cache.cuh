// cache.cuh: the study `cache`: copies of values in GPU memory: searches of a skewed table with a part of its values cached,
// while the cache loads, and with all of them cached; then policies, sizes and skews. GPHash §4, "BktCache".
#pragma once

#include <atomic>
#include <thread>

#include "bench.cuh"

namespace holdfast::bench {

/// Copies of this part of the values, which load when they are told to.
inline CacheOptions cached(double ratio, CachePolicy policy = CachePolicy::lfu) {
  CacheOptions options;
  options.ratio = ratio;
  options.policy = policy;
  options.memory = std::uint64_t{32} << 30;
  options.load_every = ~std::uint64_t{0};
  return options;
}

/// Searches so often, and loads what was searched for.
inline void train(Bench& bench, const Draw& draw, unsigned batches, unsigned loads = 1) {
  for (unsigned i = 0; i < loads; ++i) {
    bench.search(draw, 4 * kMi, batches);
    bench.table().load_cache();
  }
}

/// A run of `find`, and which part of its rows copies answered.
inline void find_cached(Bench& bench, const std::string& work, const Draw& draw, std::uint64_t rows) {
  const std::uint64_t before = bench.table().stats().value_cache.hits;
  bench.find(work, draw, rows);
  bench.note("hits", static_cast<double>(bench.table().stats().value_cache.hits - before) /
                         static_cast<double>(bench.rows_searched()));
}

/// Throughput while a load goes on, and as long before it.
inline void find_while_loading(Bench& bench, const std::string& work, const Draw& draw, std::uint64_t rows) {
  std::vector<double> frozen, loading;
  for (unsigned turn = 0; turn < 3; ++turn) {
    std::atomic<bool> ended = false;
    std::thread loader;
    const double before = bench.rate_until(draw, rows, [n = 0u, rows]() mutable { return ++n * rows > 200 * kMi; });
    const auto start = Clock::now();
    loader = std::thread([&] {
      bench.table().load_cache();
      ended = true;
    });
    const double during = bench.rate_until(draw, rows, [&] { return ended.load(); });
    loader.join();
    say("load of %.0f ms", seconds_since(start) * 1e3);
    frozen.push_back(before);
    loading.push_back(during);
  }
  bench.note(work + ", frozen", rows, 1, frozen);
  bench.note(work + ", loading", rows, 1, loading);
  bench.note("loading_to_frozen", spread_of(ratio_of(loading, frozen)).median);
}

inline Json cache_study(Setup setup) {
  Json result;
  const Draw skewed = zipfian(setup.items, 0.99);
  {
    setup.cache = cached(0.2);
    Bench bench(setup);
    bench.make();
    bench.load();
    bench.search(skewed, 4 * kMi, 8);
    find_while_loading(bench, "find zipfian", skewed, 4 * kMi);
    train(bench, skewed, 150, 3);
    find_cached(bench, "find zipfian", skewed, 4 * kMi);
    find_cached(bench, "find zipfian", skewed, kMi);
    find_cached(bench, "find zipfian", skewed, kMi / 256);
    find_while_loading(bench, "find zipfian, trained", skewed, 4 * kMi);
    find_cached(bench, "find", bench.uniform(), 4 * kMi);
    bench.update("update zipfian", skewed, 4 * kMi);
    find_cached(bench, "find after updates", skewed, 4 * kMi);
    for (const std::uint64_t rows : {kMi / 32, kMi / 64, kMi / 128}) find_cached(bench, "find zipfian", skewed, rows);
    find_cached(bench, "find", bench.uniform(), kMi / 256);
    bench.verify();
    result = bench.result();
    result["failed"] = bench.failed();
  }
  bool failed = result["failed"];
  {
    setup.cache = cached(1);
    Bench bench(setup);
    bench.make();
    bench.load();
    for (const std::uint64_t rows : {16 * kMi, 4 * kMi, kMi, kMi / 16, kMi / 256})
      find_cached(bench, "find", bench.uniform(), rows);
    for (const std::uint64_t rows : {4 * kMi, kMi / 256}) find_cached(bench, "find zipfian", skewed, rows);
    bench.update("update", bench.uniform(), 4 * kMi);
    bench.verify();
    bench.reopen();
    bench.find("find after reopening", bench.uniform(), 4 * kMi);
    result["all_cached"] = bench.result();
    failed |= bench.failed();
  }
  if (setup.curves) {
    setup.cache = {};
    Bench bench(setup);
    bench.make();
    bench.load();
    for (const CachePolicy policy : {CachePolicy::lfu, CachePolicy::lru, CachePolicy::random}) {
      for (const double ratio : {0.05, 0.1, 0.2, 0.4}) {
        bench.cache(cached(ratio, policy));
        bench.reopen();
        for (const double theta : {0.6, 0.8, 0.99, 1.2}) {
          char work[80];
          std::snprintf(work, sizeof work, "find, %s, %.0f%%, theta %.2f", name(policy), 100 * ratio, theta);
          const Draw draw = zipfian(setup.items, theta);
          train(bench, draw, 8, 2);
          find_cached(bench, work, draw, 4 * kMi);
        }
      }
    }
    result["curves"] = bench.result();
    failed |= bench.failed();
  }
  result["failed"] = failed;
  return result;
}
inline const Study kCache("cache", cache_study);

}  // namespace holdfast::bench
