// pool_heap.cpp: the value heap grows: into what levels left behind, then behind the last extent.
#include <algorithm>

#include "core/both.hpp"
#include "core/checked.hpp"
#include "core/failpoint.hpp"
#include "memory/pool_impl.hpp"

namespace holdfast::memory {

namespace {

/// Parts of the file that the heap takes, in the order of their addresses, and the directory with them.
struct HeapGrowth {
  Layout layout;
  std::vector<Extent> parts = {};
  std::uint64_t bytes = 0;
  std::string reason = {};  ///< why there is no more

  void take(std::uint64_t offset, std::uint64_t size) {
    layout.add_heap(offset, size);
    parts.push_back({.offset = offset, .bytes = size, .kind = ExtentKind::heap, .level = 0});
    bytes += size;
  }
};

/// Takes up to `missing` bytes of free extents. Two entries stay for the part behind the last extent.
void take_free_parts(HeapGrowth& growth, std::uint64_t missing, std::uint64_t granule) {
  while (growth.bytes < missing && growth.layout.entries() + 2 < kExtents) {
    const auto part = growth.layout.take_some_free(missing - growth.bytes, granule);
    if (!part) return;
    growth.take(part->offset, part->bytes);
  }
}

}  // namespace

void Pool::grow_heap(std::uint64_t more) {
  const std::lock_guard guard(impl_->change_mutex);
  impl_->require_writable();
  const Superblock& block = impl_->block;
  if (block.cell_bytes == 0 || more == 0) throw InvalidArgument("this pool has no heap to grow, or by no cells");
  const std::uint64_t granule = impl_->granule();
  const Layout before(block);
  const std::uint64_t have = before.heap_bytes();
  const std::uint64_t limit = std::min(impl_->heap_reserved, block.max_bytes) - have;  // of address space
  const std::uint64_t wanted = std::min(checked_add(block.cells, more).value_or(kMaxCells), kMaxCells);
  const std::uint64_t wanted_bytes = std::max(wanted * block.cell_bytes, have);  // 2^40 cells of 2^16 bytes at most
  const std::uint64_t missing = std::min(impl_->rounded(wanted_bytes - have), limit / granule * granule);

  HeapGrowth growth{.layout = before};
  growth.reason = impl_->path + " has no address space left for more cells; create a pool with a larger max_bytes";
  take_free_parts(growth, missing, granule);
  for (std::uint64_t rest = missing - growth.bytes; rest != 0; rest = rest / 2 / granule * granule) {
    try {
      growth.take(impl_->make_heap_room(before, growth.layout, rest, have + growth.bytes), rest);
      break;
    } catch (const NoSpace& error) {
      growth.reason = error.what();
    }
  }
  Superblock next = block;
  next.cells = std::min(wanted, (have + growth.bytes) / block.cell_bytes);
  if (next.cells <= block.cells) {
    impl_->drop_room(before);
    throw NoSpace(growth.reason);
  }
  growth.layout.store(next);
  const std::size_t ranges_before = impl_->heap_ranges.size();
  impl_->map_heap_parts(before, growth.parts);
  HOLDFAST_FAILPOINT(heap_allocated);
  impl_->commit(next);
  for (std::size_t i = ranges_before; i < impl_->heap_ranges.size(); ++i) impl_->announce(impl_->heap_ranges[i]);
}

std::uint64_t Pool::Impl::make_heap_room(const Layout& before, const Layout& now, std::uint64_t bytes,
                                         std::uint64_t address) const {
  Layout trial = now;
  trial.add_heap(place_behind(rounded(before.end()), bytes, address, granule()), bytes);
  if (trial.entries() > kExtents) throw_too_many_pieces(path);
  return make_room(before, bytes, address);
}

void Pool::Impl::map_heap_parts(const Layout& before, const std::vector<Extent>& parts) {
  const std::uint64_t mapped_before = heap_mapped;
  const std::size_t ranges_before = heap_ranges.size();
  try {
    for (const Extent& part : parts) {
      std::byte* const at = heap + heap_mapped;
      heap_ranges.push_back(writes_file() ? map_extent(part.offset, part.bytes, false, at)
                                          : Range{map_private(file, part.bytes, at), part.bytes, part.bytes});
      heap_mapped += part.bytes;
      settle_room(heap_ranges.back());
    }
  } catch (...) {
    unmap_into_reserve(heap + mapped_before, heap_mapped - mapped_before);
    heap_ranges.resize(ranges_before);
    heap_mapped = mapped_before;
    drop_room(before);
    throw;
  }
}

}  // namespace holdfast::memory
