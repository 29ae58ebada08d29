// structure_object.cpp: makes, opens and grows persistent hash tables of a pool.
#include "structures/structure_object.hpp"

#include <cstring>
#include <ctime>
#include <span>
#include <utility>

#include "core/failpoint.hpp"
#include "core/random.hpp"
#include "holdfast/error.hpp"

namespace holdfast::structures {

using pool::Edit;
using pool::Extent;
using pool::PoolFile;
using pool::Range;

StructureObject::StructureObject(const StructureKind& kind, std::shared_ptr<PoolFile> pool, std::uint32_t number,
                                 const ObjectUse& use)
    : Object(std::move(pool), number, use.label, use.flush), kind_(kind) {}

StructureObject::~StructureObject() {
  if (!forked()) system::unmap(cells_.address, cells_.mapped);
}

/// An extent of zeros, durably, that no directory names yet.
Range StructureObject::add_cells(Edit& edit, std::uint16_t index, Extent& extent) const {
  extent = edit.add(number(), kCellsRole, index, round_up(kind_.bytes(stored_.header, index), pool::kPage));
  Range range = pool().map(extent.offset, extent.bytes, true);
  if (!edit.is_fresh(extent)) {
    std::memset(range.address, 0, range.bytes);
    persist().flush(range.address, range.bytes);
    persist().fence();
  }
  return range;
}

std::unique_ptr<StructureObject> StructureObject::create(const StructureKind& kind, Edit& edit,
                                                         std::shared_ptr<PoolFile> pool, const std::string& name,
                                                         const NewTable& table, const ObjectUse& use) {
  const Header header = {table.seed != 0 ? table.seed : random_word(), table.item_bytes, table.group_size,
                         static_cast<std::uint64_t>(std::time(nullptr)), 0};
  std::string what = kind.flaw_in(header);
  if (what.empty() && table.cells == 0) what = "no cells; give at least one";
  if (what.empty() && table.cells > kMostCells) {
    what = std::to_string(table.cells) + " cells; a table has at most 2^40";
  }
  if (!what.empty()) throw InvalidArgument(use.label + " cannot be made with " + what);
  const std::uint32_t number = edit.create({.name = name, .type = kind.type, .type_version = kind.version});
  std::unique_ptr<StructureObject> object(new StructureObject(kind, std::move(pool), number, use));
  Stored& stored = object->stored_;
  stored.header = header;
  stored.index = kind.index_for(header, table.cells);
  object->make_pages(edit, 2 * pool::kPage, std::as_bytes(std::span(&stored.header, 1)));
  object->cells_ = object->add_cells(edit, stored.index, stored.extent);
  object->pool().settle(object->cells_);
  return object;
}

std::unique_ptr<StructureObject> StructureObject::open(const StructureKind& kind, std::shared_ptr<PoolFile> pool,
                                                       const pool::ObjectEntry& entry, const ObjectUse& use) {
  pool::require_kind(entry, kind, use.label);
  std::unique_ptr<StructureObject> object(new StructureObject(kind, std::move(pool), entry.number, use));
  object->map_pages();
  const auto directory = object->pool().directory();
  Stored& stored = object->stored_;
  if (const std::string what = kind.read_stored(*directory, entry.number, object->page(), stored); !what.empty()) {
    throw PoolCorrupt(use.label + " is damaged: " + what + "; restore it from a copy");
  }
  object->accept(true, use.salvage);
  object->cells_ = object->pool().map(stored.extent.offset, stored.extent.bytes, true);
  return object;
}

const std::byte* StructureObject::address_of(const Extent& extent) const {
  if (extent.role == pool::kPagesRole) return pages().address;
  return extent.role == kCellsRole ? cells_.address : nullptr;
}

void StructureObject::grow(const Fill& fill, const std::function<void()>& switched) {
  require_writable();
  Edit edit(pool());
  std::uint16_t index = stored_.index;
  Extent extent = {};
  Range range;
  const Extent old_extent = stored_.extent;
  try {
    for (bool is_filled = false; !is_filled;) {  // ends: a table of so many cells is full
      ++index;
      if (index >= kMostIndex || kind_.cells(stored_.header, index) > kMostCells) {
        throw NoSpace(path() + " has 2^40 cells, the most there are; use a second table");
      }
      range = add_cells(edit, index, extent);
      is_filled = fill(index, reinterpret_cast<std::uint64_t*>(range.address));
      if (is_filled) break;
      system::unmap(range.address, range.mapped);
      range = {};
      edit.free(number(), kCellsRole, index);
    }
    pool().settle(range);
    HOLDFAST_FAILPOINT(larger_filled);
    edit.free(number(), kCellsRole, stored_.index);
    edit.commit();
  } catch (...) {
    system::unmap(range.address, range.mapped);
    throw;
  }
  HOLDFAST_FAILPOINT(larger_committed);
  stored_.index = index;
  stored_.extent = extent;
  std::swap(cells_, range);
  switched();
  system::unmap(range.address, range.mapped);
  if (pool().writes_file()) pool().file().punch(old_extent.offset, old_extent.bytes);  // before another edit takes it
}

}  // namespace holdfast::structures
