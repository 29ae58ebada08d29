// layout.cpp: verifies what a pool says of a store before anything relies on it.
#include "store/layout.hpp"

#include <cstring>

#include "heap/slab.hpp"

namespace holdfast::store {

std::string read_header(const pool::Directory& directory, std::uint32_t number, const pool::ObjectPage& page,
                        StoreHeader& header) {
  if (page.header_bytes != sizeof header) return "its header has " + std::to_string(page.header_bytes) + " bytes";
  std::memcpy(&header, page.header, sizeof header);
  if (header.reserved[0] != 0 || header.reserved[1] != 0) return "reserved bytes of its header are not zero";
  const auto pages = directory.extents_of(number, pool::kPagesRole);
  if (pages.size() != 1 || pages[0].bytes < kPagesBytes) return "its pages are too small for its record";
  std::uint64_t heap = 0;
  for (const pool::Extent& extent : directory.extents_of(number, kHeapRole)) heap += extent.bytes;
  if (heap < 2 * heap::kSlabBytes) return "its heap has " + std::to_string(heap) + " bytes, and needs at least 4 MiB";
  return {};
}

}  // namespace holdfast::store
