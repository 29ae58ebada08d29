// bucket_cache.hpp: keeps copies of the pool's buckets in GPU memory, as far as the budget goes. GPHash §3.3.
#pragma once

#include <cstddef>
#include <cstdint>

#include "machine/cuda/cache_view.hpp"
#include "machine/cuda/runtime.hpp"
#include "machine/cuda/state.hpp"
#include "machine/layout.hpp"

namespace holdfast::machine::cuda {

/// Holds all addressed buckets (*resident*), or none. Whoever calls it is alone on the table; work is enqueued on a stream.
class BucketCache {
 public:
  /// `budget`: bytes of GPU memory that it may take; kHalfOfFree for half of what is free now.
  explicit BucketCache(std::uint64_t budget);

  /// Caches what `layout` addresses: levels that it has not yet are copied from the pool at the speed of the link, or are
  /// empty if `fresh`. Beyond the budget, or where GPU memory does not suffice, it lets go of everything.
  void cover(const Layout& layout, bool fresh, cudaStream_t stream);
  /// The pool's slots have been emptied as clear_slots does it. Each word of a copy equals the pool's (index/phases.hpp), but for
  /// what stands behind the fingerprint of an empty slot.
  void clear(bool key_decides, cudaStream_t stream);
  /// Counts the slots whose copies do not say what the pool does.
  void compare(ScanReport* report, cudaStream_t stream) const;

  const CacheView& view() const { return view_; }
  std::uint64_t bytes() const;

 private:
  struct Part {
    const index::Slot* of = nullptr;
    std::uint64_t slots = 0;
    DeviceBuffer<std::uint64_t> words;  ///< keys, then words, then wide keys
    CachedSlots view(unsigned key_words) const;
  };
  Part take(const index::Slot* of, std::uint64_t slots, unsigned key_words, bool fresh, cudaStream_t stream);
  void drop();

  std::uint64_t budget_;
  Part parts_[index::kMaxLevels + 1];
  CacheView view_;
};

/// Copies slots of host memory into their arrays. Waits until it is done.
void load_slots(const CachedSlots& to, unsigned key_words, cudaStream_t stream);

}  // namespace holdfast::machine::cuda
