// cache_loads.hpp: the part of a machine that loads the caches of buckets and of values: while searches run, or because a caller asks.
#pragma once

#include <cstdint>

#include "structures/gphash/cuda/table/cuda_table.hpp"

namespace holdfast::gphash::cuda {

class CacheLoads {
 public:
  explicit CacheLoads(CudaTable& table) : table_(table) {}

  /// `rows` were searched: begins a load of each cache if it is time, or takes its next step, unless a change is being enqueued.
  void load_if_due(std::uint64_t rows);
  /// Both caches. Holds nothing while it waits, so that batches continue.
  void load_and_wait();
  /// What is in them, and how often it was asked for.
  void stats(Stats& stats) const;

 private:
  // `maps` are those of one of the caches.
  void load_and_wait(const CacheMaps& maps);
  void begin(const CacheMaps& maps);
  void step(const CacheMaps& maps, bool paced);

  CudaTable& table_;
};

}  // namespace holdfast::gphash::cuda
