// heap_object.hpp: an object of a pool that has a heap and nothing else.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "heap/mapped_heap.hpp"

namespace holdfast::heap {

inline constexpr std::uint16_t kRole = 7 | pool::kPiecesOfARange;

/// An object that has a heap and nothing else.
class HeapObject : public pool::Object {
 public:
  static std::unique_ptr<HeapObject> create(const std::shared_ptr<pool::PoolFile>& pool, std::uint64_t bytes,
                                            Limits limits) {
    pool::Edit edit(*pool);
    const std::uint32_t number = edit.create({.name = "heap", .type = 2000});
    std::unique_ptr<HeapObject> made(new HeapObject(pool, number, std::move(limits)));
    made->make_pages(edit, 2 * pool::kPage, {});
    made->heap.make(edit, bytes);
    edit.commit();
    return made;
  }
  static std::unique_ptr<HeapObject> open(const std::string& path, Limits limits,
                                          pool::Access access = pool::Access::read_write) {
    std::shared_ptr<pool::PoolFile> pool = pool::PoolFile::open(path, access);
    const std::uint32_t number = pool->directory()->objects.at(0).number;
    std::unique_ptr<HeapObject> made(new HeapObject(std::move(pool), number, std::move(limits)));
    made->map_pages();
    made->accept(true, false);
    made->heap.map();
    return made;
  }
  const std::byte* address_of(const pool::Extent& extent) const override {
    return extent.role == pool::kPagesRole ? pages().address : heap.address_of(extent);
  }
  /// How many extents the heap has.
  std::size_t pieces() const { return pool().directory()->extents_of(number(), kRole).size(); }
  /// What they have together.
  std::uint64_t extent_bytes() const {
    std::uint64_t bytes = 0;
    for (const pool::Extent& piece : pool().directory()->extents_of(number(), kRole)) bytes += piece.bytes;
    return bytes;
  }
  /// Gives another object the space behind the heap, so that its next piece is not adjacent.
  void end_adjacency(std::uint64_t bytes = kSlabBytes) const {
    pool::Edit edit(pool());
    const std::string name = "object " + std::to_string(edit.directory().next_number);
    const pool::Extent extent = edit.add(edit.create({.name = name, .type = 2001}), pool::kPagesRole, 0, bytes);
    const pool::Range range = pool().map(extent.offset, extent.bytes, false);
    try {
      pool().settle(range);
    } catch (...) {
      system::unmap(range.address, range.mapped);
      throw;
    }
    system::unmap(range.address, range.mapped);
    edit.commit();
  }

  MappedHeap heap;

 private:
  HeapObject(std::shared_ptr<pool::PoolFile> pool, std::uint32_t number, Limits limits)
      : Object(std::move(pool), number, "a heap", false), heap(*this, kRole, std::move(limits)) {}
};

}  // namespace holdfast::heap
