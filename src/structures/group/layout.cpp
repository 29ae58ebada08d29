// layout.cpp: verifies what a pool says of a group hashing table before anything relies on it.
#include "structures/group/layout.hpp"

#include <bit>
#include <cstring>

namespace holdfast::group {

std::string flaw_in(std::uint32_t item_bytes, std::uint32_t group_size) {
  if (item_bytes != 16 && item_bytes != 32) {
    return "items of " + std::to_string(item_bytes) + " bytes; there are items of 16 bytes and of 32";
  }
  if (!std::has_single_bit(group_size) || group_size < kLeastGroup || group_size > kMostGroup) {
    return "groups of " + std::to_string(group_size) + " cells; a group has a power of two of cells, from 64 to 1024";
  }
  return {};
}

std::string read_stored(const memory::Directory& directory, std::uint32_t number, const memory::ObjectPage& page,
                        Stored& stored) {
  if (page.header_bytes != sizeof(Header)) return "its header has " + std::to_string(page.header_bytes) + " bytes";
  std::memcpy(&stored.header, page.header, sizeof(Header));
  if (const std::string what = flaw_in(stored.header.item_bytes, stored.header.group_size); !what.empty()) {
    return "it says that it has " + what;
  }
  if (stored.header.reserved != 0) return "reserved bytes of its header are not zero";
  const auto extents = directory.extents_of(number, kGroupsRole);
  if (extents.size() != 1 || directory.extents_of(number).size() != 2) {
    return "it has " + std::to_string(directory.extents_of(number).size()) + " extents, and not 2";
  }
  stored.extent = extents[0];
  if (extents[0].index >= 40) return "it says that it has 2^" + std::to_string(extents[0].index) + " groups";
  stored.shape = {std::uint64_t{1} << extents[0].index, stored.header.group_size, stored.header.item_bytes / 8};
  if (stored.shape.cells() > kMostCells) return "it says that it has more than 2^40 cells";
  if (extents[0].bytes < stored.shape.bytes()) return "its extent is smaller than its groups";
  return {};
}

}  // namespace holdfast::group
