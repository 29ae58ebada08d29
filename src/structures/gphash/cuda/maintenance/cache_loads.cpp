// cache_loads.cpp: begins loads of the caches of buckets and of values, and takes their steps.
#include "structures/gphash/cuda/maintenance/cache_loads.hpp"

#include <mutex>

namespace holdfast::gphash::cuda {

void CacheLoads::begin(const CacheMaps& maps) {
  if (&maps == &table_.memory.cache().maps())
    return table_.memory.cache().begin_load(table_.order, table_.state.words());
  table_.memory.values().begin_load(table_.state.ring(), table_.order, table_.state.words());
}

void CacheLoads::step(const CacheMaps& maps, bool paced) {
  if (&maps == &table_.memory.cache().maps())
    return table_.memory.cache().step(table_.order, table_.state.words(), paced);
  table_.memory.values().step(table_.layout(), table_.order, table_.state.words(), paced);
}

void CacheLoads::load_if_due(std::uint64_t rows) {
  bool due[2];
  {
    const std::lock_guard lock(table_.order.launching());
    due[0] = table_.memory.cache().maps().is_due(rows);
    due[1] = table_.memory.values().maps().is_due(rows);
    if (!due[0] && !due[1]) return;
  }
  const std::unique_lock change(table_.order.changing(), std::try_to_lock);
  if (!change) return;
  const std::lock_guard lock(table_.order.launching());
  for (unsigned i = 0; i < 2; ++i) {
    const CacheMaps& maps = i == 0 ? table_.memory.cache().maps() : table_.memory.values().maps();
    if (!due[i]) continue;
    if (!maps.is_loading()) begin(maps);
    step(maps, true);
  }
}

void CacheLoads::load_and_wait() {
  const OnDevice on(table_.options.device);
  load_and_wait(table_.memory.cache().maps());
  load_and_wait(table_.memory.values().maps());
}

void CacheLoads::load_and_wait(const CacheMaps& maps) {
  std::uint64_t mine = 0;  // which load
  for (bool more = true; more;) {
    {
      const std::lock_guard change(table_.order.changing());
      const std::lock_guard lock(table_.order.launching());
      table_.order.require_working();
      if (mine == 0) {
        begin(maps);
        mine = maps.loads();
      }
      if (maps.loads() == mine) step(maps, false);
      more = maps.loads() == mine && maps.is_loading();
    }
    maps.wait();
  }
}

void CacheLoads::stats(Stats& stats) const {
  const PositionState copies = table_.state.read(table_.memory.values().maps());
  const PositionState buckets = table_.state.read(table_.memory.cache().maps());
  const std::lock_guard lock(table_.order.launching());
  stats.bucket_cache.bytes = table_.memory.cache().bytes();
  stats.bucket_cache.ratio = table_.memory.cache().ratio();
  stats.bucket_cache.hits = buckets.hits;
  stats.bucket_cache.loads = table_.memory.cache().maps().loads();
  const ValueView& values = table_.memory.values().view();
  stats.value_cache.bytes = table_.memory.values().bytes();
  stats.value_cache.ratio =
      values.any() ? static_cast<double>(values.positions) / static_cast<double>(table_.layout().cells) : 0;
  stats.value_cache.values = values.resident()  ? values.positions
                             : copies.tail == 0 ? 0
                                                : values.positions - (copies.retired_end - copies.head);
  stats.value_cache.hits = copies.hits + copies.directory_hits;
  stats.value_cache.directory_hits = copies.directory_hits;
  stats.value_cache.loads = table_.memory.values().maps().loads();
  if (values.any() || table_.memory.cache().view().buckets.map != nullptr)
    stats.value_cache.policy = name(table_.memory.values().maps().policy());
}

}  // namespace holdfast::gphash::cuda
