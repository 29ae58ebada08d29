// table_memory.hpp: where a table is, for the GPU: its layout, the pool's extents, and what GPU memory holds of it.
#pragma once

#include <cstdint>
#include <memory>

#include "gpu/runtime.hpp"
#include "heap/cuda/slab_heap.hpp"
#include "structures/gphash/cuda/caches/bucket_cache.hpp"
#include "structures/gphash/cuda/caches/value_cache.hpp"
#include "structures/gphash/cuda/kit.hpp"
#include "structures/gphash/cuda/registration.hpp"
#include "structures/gphash/layout.hpp"
#include "structures/gphash/machine.hpp"

namespace holdfast::gphash::cuda {

/// The GPU can follow every address of the layout, for as long as this lives; the tags, caches and slabs cover the levels and cells of
/// the layout. So the layout changes only here. The caller of what is not const is alone on the table, and then gives kernels the layout
/// and the caches (TableKernels::set_layout).
class TableMemory {
 public:
  /// Without levels and cells yet. Throws MediumError if the pool cannot be mapped, InvalidArgument for a cache that its values cannot
  /// have.
  TableMemory(gphash::TableObject& pool, const MachineOptions& options);

  const Layout& layout() const { return layout_; }
  BucketCache& cache() { return cache_; }
  const BucketCache& cache() const { return cache_; }
  ValueCache& values() { return values_; }
  const ValueCache& values() const { return values_; }
  SlabHeap* pairs() const { return pairs_.get(); }  ///< null: keys and values have fixed lengths
  /// The caller holds what keeps the layout still.
  CacheView caches() const;
  /// Throws MediumError if an extent that the pool added could not be mapped.
  void require_mapped() const { registration_.require_complete(); }

  /// Addresses the levels of `layout`, whose tags are `tags`. `fresh`: its top level is empty. Waits.
  void set_levels(const Layout& layout, DeviceBuffer<std::uint64_t> tags, bool fresh, const Stream& stream);
  /// The heap has so many cells now; what covers them is the caller's to extend.
  void set_cells(std::uint64_t cells) { layout_.cells = cells; }
  /// `filled` says whether values are worth copying.
  void cover_values(bool filled, cudaStream_t stream);

 private:
  Registration registration_;
  const std::unique_ptr<SlabHeap> pairs_;
  DeviceBuffer<std::uint64_t> tags_;
  Layout layout_;
  BucketCache cache_;
  ValueCache values_;
};

}  // namespace holdfast::gphash::cuda
