// bucket_cache.hpp: keeps copies of the pool's buckets in GPU memory, as far as the budget goes. GPHash §3.3, rule 15.
#pragma once

#include <cstddef>
#include <cstdint>

#include "gpu/runtime.hpp"
#include "structures/gphash/cuda/cache_view.hpp"
#include "structures/gphash/cuda/caches/cache_maps.hpp"
#include "structures/gphash/cuda/kit.hpp"
#include "structures/gphash/cuda/scan_report.hpp"
#include "structures/gphash/cuda/state.hpp"
#include "structures/gphash/layout.hpp"
#include "structures/gphash/machine.hpp"

namespace holdfast::gphash::cuda {

/// Holds all addressed buckets (*resident*), some, by maps, or none. The caller is alone on the table, but for loads; work is
/// enqueued on a stream.
class BucketCache {
 public:
  /// Of the options, `gpu_memory`: bytes of GPU memory that it may take, kHalfOfFree for half of what is free now; and which part of
  /// all buckets it is to hold at most.
  explicit BucketCache(const MachineOptions& options);

  /// Caches what `layout` addresses, as far as the options and GPU memory go. Levels that it has not yet are copied from the pool at
  /// the speed of the link, but for the top one if it is `fresh`, which is empty.
  void cover(const Layout& layout, bool fresh, cudaStream_t stream);
  /// The pool's slots have been emptied as clear_slots does it. Each word of a copy equals the pool's (structures/gphash/protocol/phases.hpp), but for
  /// what stands behind the fingerprint of an empty slot.
  void clear(bool key_decides, cudaStream_t stream);
  /// Counts the slots whose copies do not say what the pool does.
  void compare(ScanReport* report, cudaStream_t stream) const;

  // Loads, bucket_load.cu; as CacheMaps has them.
  void begin_load(ChangeOrder& order, DeviceState* state) { maps_.begin_load(order, state, {}); }
  void step(ChangeOrder& order, DeviceState* state, bool paced);
  CacheMaps& maps() { return maps_; }
  const CacheMaps& maps() const { return maps_; }

  const CacheView& view() const { return view_; }
  /// Of all buckets, those that copies have space for.
  double ratio() const;
  std::uint64_t bytes() const;

 private:
  struct Part {
    const gphash::Slot* of = nullptr;
    std::uint64_t slots = 0;
    DeviceBuffer<std::uint64_t> words;  ///< keys, then words, then wide keys
    CachedSlots view(unsigned key_words) const;
  };
  Part take(const gphash::Slot* of, std::uint64_t slots, unsigned key_words, bool fresh, cudaStream_t stream);
  bool make_resident(const Layout& layout, bool fresh, cudaStream_t stream);
  void make_maps(const Layout& layout, bool fresh, std::uint64_t space, cudaStream_t stream);
  void drop();

  const double ratio_;
  std::uint64_t budget_;
  Part parts_[gphash::kMaxLevels + 1];  ///< of a cache with maps, one for all positions, and the reserved slot
  CacheMaps maps_;
  CacheView view_;
};

/// Copies slots of host memory into their arrays. Waits until it is done.
void load_slots(const CachedSlots& to, unsigned key_words, cudaStream_t stream);

}  // namespace holdfast::gphash::cuda
