// table_memory.cpp: changes a table's layout together with what covers it.
#include "structures/gphash/cuda/table/table_memory.hpp"

#include <utility>

#include "core/both.hpp"
#include "holdfast/error.hpp"
#include "structures/gphash/table_object.hpp"

namespace holdfast::gphash::cuda {

TableMemory::TableMemory(gphash::TableObject& pool, const MachineOptions& options)
    : registration_(pool),
      pairs_(pool.shape().key_bytes == kVariableBytes ? std::make_unique<SlabHeap>() : nullptr),
      cache_(options),
      values_(options) {
  if (pairs_ && options.cache.ratio != 0) {
    throw InvalidArgument("value_cache is for values of fixed length, and those of " + pool.path() +
                          " have any: leave it out");
  }
}

CacheView TableMemory::caches() const {
  CacheView view = cache_.view();
  view.values = values_.view();
  return view;
}

void TableMemory::set_levels(const Layout& layout, DeviceBuffer<std::uint64_t> tags, bool fresh, const Stream& stream) {
  HOLDFAST_ASSERT(layout.tags == tags.data());
  tags_ = std::move(tags);
  layout_ = layout;
  cache_.cover(layout_, fresh, stream);
  stream.wait("loading the bucket cache");
}

void TableMemory::cover_values(bool filled, cudaStream_t stream) {
  HOLDFAST_ASSERT(!pairs_);
  values_.cover(layout_, filled, cache_.view().partial(), stream);
}

}  // namespace holdfast::gphash::cuda
