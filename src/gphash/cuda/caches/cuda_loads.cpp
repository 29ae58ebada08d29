// cuda_loads.cpp: when the caches of buckets and of values are loaded: as searches go on, or because somebody asks.
#include <mutex>

#include "gphash/cuda/cuda_machine.hpp"

namespace holdfast::machine::cuda {

void CudaMachine::begin_load(const CacheMaps& maps) {
  if (&maps == &cache_.maps()) return cache_.begin_load(last_change_, state_.data());
  values_.begin_load(ring_, last_change_, state_.data());
}

void CudaMachine::step_load(const CacheMaps& maps, bool paced) {
  if (&maps == &cache_.maps()) return cache_.step(last_change_, state_.data(), paced);
  values_.step(layout_, last_change_, state_.data(), paced);
}

/// Begins a load of each cache if it is time, or takes its next step, unless a change is being enqueued.
void CudaMachine::load_if_due(std::uint64_t rows) {
  bool due[2];
  {
    const std::lock_guard lock(launching_);
    due[0] = cache_.maps().is_due(rows);
    due[1] = values_.maps().is_due(rows);
    if (!due[0] && !due[1]) return;
  }
  const std::unique_lock change(changing_, std::try_to_lock);
  if (!change) return;
  const std::lock_guard lock(launching_);
  for (unsigned i = 0; i < 2; ++i) {
    const CacheMaps& maps = i == 0 ? cache_.maps() : values_.maps();
    if (!due[i]) continue;
    if (!maps.is_loading()) begin_load(maps);
    step_load(maps, true);
  }
}

void CudaMachine::load_cache() {
  const OnDevice on(options_.device);
  load_and_wait(cache_.maps());
  load_and_wait(values_.maps());
}

/// Holds nothing while it waits, so that batches go on.
void CudaMachine::load_and_wait(const CacheMaps& maps) {
  std::uint64_t mine = 0;  // which load
  for (bool more = true; more;) {
    {
      const std::lock_guard change(changing_);
      const std::lock_guard lock(launching_);
      require_working();
      if (mine == 0) {
        begin_load(maps);
        mine = maps.loads();
      }
      if (maps.loads() == mine) step_load(maps, false);
      more = maps.loads() == mine && maps.is_loading();
    }
    maps.wait();
  }
}

}  // namespace holdfast::machine::cuda
