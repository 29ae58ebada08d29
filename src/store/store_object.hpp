// store_object.hpp: a store as an object of a pool: its record, and a heap that grows where it is.
#pragma once

#include <memory>
#include <string>

#include "heap/mapped_heap.hpp"
#include "pool/object.hpp"
#include "store/layout.hpp"

namespace holdfast::store {

struct StoreUse {
  std::string label;        ///< for messages
  std::uint64_t seed = 0;   ///< of a new store; 0: a random one
  bool flush = false;       ///< flush and fence as domain `power` asks, on any medium
  bool salvage = false;     ///< open it after a power cut all the same
  std::uint64_t limit = 0;  ///< of a new store's heap, in bytes; 0: none
};

class StoreObject : public pool::Object {
 public:
  /// Throws ObjectExists, NoSpace, MediumError. It is there when `edit` is committed.
  static std::unique_ptr<StoreObject> create(pool::Edit& edit, std::shared_ptr<pool::PoolFile> pool,
                                             const std::string& name, const StoreUse& use);
  /// Throws PoolMismatch, PoolVersion, PoolCorrupt, PowerLost, ReadOnly, MediumError.
  static std::unique_ptr<StoreObject> open(std::shared_ptr<pool::PoolFile> pool, const pool::ObjectEntry& entry,
                                           const StoreUse& use);

  const StoreHeader& header() const { return header_; }
  bool salvages() const { return salvages_; }
  std::uint64_t* record() const { return reinterpret_cast<std::uint64_t*>(behind_pages()); }
  heap::View heap() const { return heap_.view(); }
  std::uint64_t heap_bytes() const { return heap_.bytes(); }  ///< of its extents
  /// As heap::MappedHeap.
  void on_range(heap::MappedHeap::OnRange mapped, heap::MappedHeap::OnRange unmapping) {
    heap_.on_range(std::move(mapped), std::move(unmapping));
  }
  const std::byte* address_of(const pool::Extent& extent) const override;
  /// How large the heap can become while the store is open.
  std::uint64_t most_bytes() const { return heap_.reserved(); }

  /// Adds at least one slab, and more while the heap is large, but none beyond `limit` bytes (0: none), durably. False: the medium has no space, or
  /// the limit is reached. One caller at a time; others may use what is mapped.
  bool grow(std::uint64_t limit);

 private:
  StoreObject(std::shared_ptr<pool::PoolFile> pool, std::uint32_t number, const StoreUse& use);
  void zero_directories();

  StoreHeader header_ = {};
  const bool salvages_;
  heap::MappedHeap heap_;
};

}  // namespace holdfast::store
