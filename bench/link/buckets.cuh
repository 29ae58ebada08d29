// buckets.cuh: the study `buckets`: copies of a part of the buckets in GPU memory: searches by that part and by policy, of uniform and
// skewed keys; and what a load takes from searches that go on beside it. GPHash §3.3, §4 "BktCache".
#pragma once

#include "cache.cuh"

namespace holdfast::bench {

inline CacheOptions cached_buckets(double ratio, CachePolicy policy) {
  CacheOptions options;
  options.bucket_ratio = ratio;
  options.policy = policy;
  options.load_every = ~std::uint64_t{0};
  return options;
}

/// Runs `search`, and notes which part of its rows found its item in a copy.
template <class Search>
void with_hits(Bench& bench, const Search& search) {
  const std::uint64_t before = bench.table().stats().bucket_cache.hits;
  search();
  bench.note("hits", static_cast<double>(bench.table().stats().bucket_cache.hits - before) /
                         static_cast<double>(bench.rows_searched()));
}

inline void search_buckets(Bench& bench, const std::string& how, const Draw& draw) {
  for (const std::uint64_t rows : {4 * kMi, kMi / 256}) {
    with_hits(bench, [&] { bench.contains("contains, " + how, draw, rows, false); });
    with_hits(bench, [&] { bench.find("find, " + how, draw, rows); });
  }
}

inline Json buckets_study(const Setup& setup) {
  Bench bench(setup);
  bench.make();
  bench.load();
  const Draw uniform = bench.uniform(), skewed = zipfian(setup.items, 0.99);
  for (const double ratio : {0.0, 0.05, 0.1, 0.2, 0.4, 1.0}) {
    for (const CachePolicy policy : {CachePolicy::lfu, CachePolicy::lru, CachePolicy::random}) {
      const bool chooses = ratio > 0 && ratio < 1;
      if (!chooses && policy != CachePolicy::lfu) continue;
      bench.cache(cached_buckets(ratio, policy));
      bench.reopen();
      char how[60];
      std::snprintf(how, sizeof how, "%s, %.0f%%", chooses ? name(policy) : "no choice", 100 * ratio);
      search_buckets(bench, std::string("uniform, ") + how, uniform);
      if (chooses) train(bench, skewed, 8, 3);
      search_buckets(bench, std::string("zipfian, ") + how, skewed);
      if (policy == CachePolicy::lfu && (ratio == 0.2 || ratio == 0.4))
        find_while_loading(bench, std::string("find, zipfian, ") + how, skewed, 4 * kMi);
      if (policy == CachePolicy::lfu && ratio == 0.2) {
        bench.update("update, zipfian, 20%", skewed, kMi);
        bench.verify();
      }
    }
  }
  bench.verify();
  Json result = bench.result();
  result["failed"] = bench.failed();
  return result;
}
inline const Study kBuckets("buckets", buckets_study);

}  // namespace holdfast::bench
