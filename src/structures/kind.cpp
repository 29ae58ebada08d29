// kind.cpp: describes and checks persistent hash tables, and verifies what a pool says of one before anything relies on it.
#include "structures/kind.hpp"

#include <cstring>

#include "structures/structure_object.hpp"

namespace holdfast::structures {

std::string StructureKind::read_stored(const pool::Directory& directory, std::uint32_t number,
                                       const pool::ObjectPage& page, Stored& stored) const {
  if (page.header_bytes != sizeof(Header)) return "its header has " + std::to_string(page.header_bytes) + " bytes";
  std::memcpy(&stored.header, page.header, sizeof(Header));
  if (const std::string what = flaw_in(stored.header); !what.empty()) return "it says that it has " + what;
  if (stored.header.reserved != 0) return "reserved bytes of its header are not zero";
  const auto extents = directory.extents_of(number, kCellsRole);
  if (extents.size() != 1 || directory.extents_of(number).size() != 2) {
    return "it has " + std::to_string(directory.extents_of(number).size()) + " extents, and not 2";
  }
  stored.extent = extents[0];
  stored.index = extents[0].index;
  if (stored.index >= kMostIndex || cells(stored.header, stored.index) > kMostCells) {
    return "it says that it has 2^" + std::to_string(stored.index) + " " + extent_name_ + ", more than 2^40 cells";
  }
  if (stored.index < least_index()) return "it says that it has fewer cells than a table has";
  if (stored.extent.bytes < bytes(stored.header, stored.index)) {
    return std::string("its extent is smaller than its ") + extent_name_;
  }
  return {};
}

std::uint16_t StructureKind::index_for(const Header& header, std::uint64_t least) const {
  std::uint16_t index = least_index();
  while (index < kMostIndex && cells(header, index) < least) ++index;
  return index;
}

std::string StructureKind::describe_extent(const pool::Extent& extent) const {
  return extent.role == kCellsRole ? extent_name_ : ObjectKind::describe_extent(extent);
}

void StructureKind::describe(const pool::Directory& directory, const pool::ObjectEntry& entry,
                             const pool::ObjectPage& page, ObjectInfo& info) const {
  Stored stored;
  info.damage = read_stored(directory, entry.number, page, stored);
}

CheckReport StructureKind::check(const std::shared_ptr<pool::PoolFile>& pool, const pool::ObjectEntry& entry,
                                 const std::string& label) const {
  const auto table = make_engine(StructureObject::open(*this, pool, entry, {.label = label}));
  CheckReport report = table->check();
  pool->keep_space();
  if (pool->writes_file()) table->close();
  return report;
}

}  // namespace holdfast::structures
