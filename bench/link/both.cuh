// both.cuh: the study `both`: copies of a part of the buckets and of a part of the values together: searches of skewed and of uniform keys
// by how many rows a batch has, changes, and the same values with no bucket in GPU memory. GPHash §3.3.
#pragma once

#include "buckets.cuh"

namespace holdfast::bench {

inline CacheOptions cached_both(double buckets, double values) {
  CacheOptions options = cached(values);
  options.bucket_ratio = buckets;
  return options;
}

/// A run of `search`, and which parts of its rows copies of buckets and of values answered, and of those of values which without a look
/// into a bucket.
template <class Search>
void with_both_hits(Bench& bench, const Search& search) {
  const Stats before = bench.table().stats();
  search();
  const Stats now = bench.table().stats();
  const auto rows = static_cast<double>(bench.rows_searched());
  bench.note("bucket_hits", static_cast<double>(now.bucket_cache.hits - before.bucket_cache.hits) / rows);
  bench.note("value_hits", static_cast<double>(now.value_cache.hits - before.value_cache.hits) / rows);
  bench.note("directory_hits",
             static_cast<double>(now.value_cache.directory_hits - before.value_cache.directory_hits) / rows);
}

inline void search_both(Bench& bench, const std::string& how, const Draw& draw) {
  for (const std::uint64_t rows : {4 * kMi, kMi, kMi / 16, kMi / 256})
    with_both_hits(bench, [&] { bench.find("find, " + how, draw, rows); });
  for (const std::uint64_t rows : {4 * kMi, kMi / 256})
    with_both_hits(bench, [&] { bench.contains("contains, " + how, draw, rows, false); });
}

inline Json both_study(Setup setup) {
  const Draw skewed = zipfian(setup.items, 0.99);
  setup.cache = cached_both(0.2, 0.2);
  Bench bench(setup);
  bench.make();
  bench.load();
  train(bench, skewed, 100, 6);
  bench.search(skewed, 4 * kMi, 60);  // a key is known when it was searched for twice since its value was copied
  search_both(bench, "zipfian", skewed);
  with_both_hits(bench, [&] { bench.find("find, zipfian", skewed, 4 * kMi, 2); });
  find_while_loading(bench, "find, zipfian", skewed, 4 * kMi);
  search_both(bench, "uniform", bench.uniform());
  bench.update("update, zipfian", skewed, 4 * kMi);
  bench.update("update, uniform", bench.uniform(), 4 * kMi);
  with_both_hits(bench, [&] { bench.find("find after updates, zipfian", skewed, 4 * kMi); });
  bench.verify();
  bench.cache(cached_both(0, 0.2));
  bench.reopen();
  train(bench, skewed, 60, 2);
  search_both(bench, "zipfian, no bucket", skewed);
  bench.update("update, zipfian, no bucket", skewed, 4 * kMi);
  bench.verify();
  Json result = bench.result();
  result["failed"] = bench.failed();
  return result;
}
inline const Study kBoth("both", both_study);

}  // namespace holdfast::bench
