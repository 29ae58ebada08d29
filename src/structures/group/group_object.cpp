// group_object.cpp: makes, opens and grows group hashing tables of a pool.
#include "structures/group/group_object.hpp"

#include <bit>
#include <cstring>
#include <ctime>
#include <span>
#include <utility>

#include "core/failpoint.hpp"
#include "core/random.hpp"
#include "holdfast/error.hpp"
#include "structures/group/group_kind.hpp"

namespace holdfast::group {

using memory::Edit;
using memory::Extent;
using memory::PoolFile;
using memory::Range;

namespace {

std::uint64_t groups_for(const NewTable& table) {
  const std::uint64_t of_group = 2 * std::uint64_t{table.group_size};
  return std::bit_ceil((table.cells + of_group - 1) / of_group);
}

std::uint16_t index_of(const Shape& shape) { return static_cast<std::uint16_t>(std::countr_zero(shape.groups)); }

}  // namespace

GroupObject::GroupObject(std::shared_ptr<PoolFile> pool, std::uint32_t number, const Use& use)
    : Object(std::move(pool), number, use.label, use.flush) {}

GroupObject::~GroupObject() {
  if (!forked()) system::unmap(groups_.address, groups_.mapped);
}

/// An extent of zeros, durably, that no directory names yet.
Range GroupObject::add_groups(Edit& edit, const Shape& shape, Extent& extent) const {
  extent = edit.add(number(), kGroupsRole, index_of(shape), round_up(shape.bytes(), memory::kPage));
  Range range = pool().map(extent.offset, extent.bytes, true);
  if (!edit.is_fresh(extent)) {
    std::memset(range.address, 0, range.bytes);
    persist().flush(range.address, range.bytes);
    persist().fence();
  }
  return range;
}

std::unique_ptr<GroupObject> GroupObject::create(Edit& edit, std::shared_ptr<PoolFile> pool, const std::string& name,
                                                 const NewTable& table, const Use& use) {
  std::string what = flaw_in(table.item_bytes, table.group_size);
  if (what.empty() && table.cells == 0) what = "no cells; give at least one";
  if (what.empty() && table.cells > kMostCells) {
    what = std::to_string(table.cells) + " cells; a table has at most 2^40";
  }
  if (!what.empty()) throw InvalidArgument(use.label + " cannot be made with " + what);
  const memory::ObjectKind& kind = kinds::group_kind();
  const std::uint32_t number = edit.create({.name = name, .type = kind.type, .type_version = kind.version});
  std::unique_ptr<GroupObject> object(new GroupObject(std::move(pool), number, use));
  Stored& stored = object->stored_;
  stored.header = {table.seed != 0 ? table.seed : random_word(), table.item_bytes, table.group_size,
                   static_cast<std::uint64_t>(std::time(nullptr)), 0};
  stored.shape = {groups_for(table), table.group_size, table.item_bytes / 8};
  object->make_pages(edit, 2 * memory::kPage, std::as_bytes(std::span(&stored.header, 1)));
  object->groups_ = object->add_groups(edit, stored.shape, stored.extent);
  object->pool().settle(object->groups_);
  return object;
}

std::unique_ptr<GroupObject> GroupObject::open(std::shared_ptr<PoolFile> pool, const memory::ObjectEntry& entry,
                                               const Use& use) {
  memory::require_kind(entry, kinds::group_kind(), use.label);
  std::unique_ptr<GroupObject> object(new GroupObject(std::move(pool), entry.number, use));
  object->map_pages();
  const auto directory = object->pool().directory();
  Stored& stored = object->stored_;
  if (const std::string what = read_stored(*directory, entry.number, object->page(), stored); !what.empty()) {
    throw PoolCorrupt(use.label + " is damaged: " + what + "; restore it from a copy");
  }
  object->accept(true, use.salvage);
  object->groups_ = object->pool().map(stored.extent.offset, stored.extent.bytes, true);
  return object;
}

View GroupObject::view(VersionLock* locks) const {
  return {stored_.shape, stored_.header.seed, reinterpret_cast<std::uint64_t*>(groups_.address), locks};
}

const std::byte* GroupObject::address_of(const Extent& extent) const {
  if (extent.role == memory::kPagesRole) return pages().address;
  return extent.role == kGroupsRole ? groups_.address : nullptr;
}

void GroupObject::grow(const Fill& fill, const std::function<void(const Shape&)>& switched) {
  require_writable();
  Edit edit(pool());
  Shape shape = stored_.shape;
  Extent extent = {};
  Range range;
  const Extent old_extent = stored_.extent;
  try {
    for (bool is_filled = false; !is_filled;) {  // ends: a table of so many cells is full
      shape.groups *= 2;
      if (shape.cells() > kMostCells) throw NoSpace(path() + " has 2^40 cells, the most there are; use a second table");
      range = add_groups(edit, shape, extent);
      is_filled = fill({shape, stored_.header.seed, reinterpret_cast<std::uint64_t*>(range.address), nullptr});
      if (is_filled) break;
      system::unmap(range.address, range.mapped);
      range = {};
      edit.free(number(), kGroupsRole, index_of(shape));
    }
    pool().settle(range);
    HOLDFAST_FAILPOINT(larger_filled);
    edit.free(number(), kGroupsRole, index_of(stored_.shape));
    edit.commit();
  } catch (...) {
    system::unmap(range.address, range.mapped);
    throw;
  }
  HOLDFAST_FAILPOINT(larger_committed);
  stored_.shape = shape;
  stored_.extent = extent;
  std::swap(groups_, range);
  switched(shape);
  system::unmap(range.address, range.mapped);
  if (pool().writes_file()) pool().file().punch(old_extent.offset, old_extent.bytes);  // before another edit takes it
}

}  // namespace holdfast::group
