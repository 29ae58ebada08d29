// table_object.cpp: makes, opens and closes a table's part of a pool, and lets its levels come and go.
#include "structures/gphash/table_object.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <ctime>
#include <span>
#include <utility>

#include "core/checksum.hpp"
#include "core/failpoint.hpp"
#include "core/random.hpp"
#include "holdfast/error.hpp"
#include "structures/gphash/table_kind.hpp"

namespace holdfast::gphash {

using pool::Edit;
using pool::Extent;
using pool::Range;

namespace {

std::uint64_t heap_bytes_for(const TableShape& shape) {
  if (shape.cell_bytes == 0) return 0;
  const std::uint64_t bytes = shape.cells * shape.cell_bytes;  // at most 2^40 × 2^21, checked before
  if (shape.cells > kMaxHeapBytes / shape.cell_bytes || (shape.max_bytes != 0 && bytes > shape.max_bytes)) {
    throw InvalidArgument(std::to_string(shape.cells) + " cells of " + std::to_string(shape.cell_bytes) +
                          " bytes do not fit into max_bytes; give a larger one");
  }
  return bytes;
}

/// Of a table to be made: all that does not depend on the medium.
TableShape completed(TableShape shape) {
  check_shape(shape);
  if (shape.seed == 0) shape.seed = random_word();
  shape.created = static_cast<std::uint64_t>(std::time(nullptr));
  shape.cell_bytes = cell_bytes_of(shape.value_bytes, shape.score);
  if (shape.cell_bytes == 0) shape.cells = 0;
  shape.is_resizing = false;
  return shape;
}

}  // namespace

TableObject::TableObject(std::shared_ptr<pool::PoolFile> pool, std::uint32_t number, const TableUse& use)
    : Object(std::move(pool), number, use.label, use.flush), least_reserve_(use.reserve) {}

TableObject::~TableObject() {
  if (forked()) return;  // the mappings never came along
  for (Range& level : levels_) withdraw(level);
  heap_.reset();
  if (unmapping_) unmapping_(pages().address, pages().bytes);
}

std::unique_ptr<TableObject> TableObject::create(Edit& edit, std::shared_ptr<pool::PoolFile> pool,
                                                 const std::string& name, TableShape shape, const TableUse& use) {
  shape = completed(shape);
  const std::uint32_t number =
      edit.create({.name = name, .type = kinds::table_kind().type, .type_version = kTableVersion});
  std::unique_ptr<TableObject> table(new TableObject(std::move(pool), number, use));
  table->make(edit, shape);
  return table;
}

std::unique_ptr<TableObject> TableObject::create(std::shared_ptr<pool::PoolFile> pool, const std::string& name,
                                                 const TableShape& shape, const TableUse& use) {
  Edit edit(*pool);
  auto table = create(edit, pool, name, shape, use);
  edit.commit();
  return table;
}

void TableObject::make(Edit& edit, const TableShape& shape) {
  const std::uint64_t heap_bytes = pool().rounded(heap_bytes_for(shape));
  shape_ = shape;
  if (shape.max_bytes != 0) shape_.max_bytes = std::max(round_up(shape.max_bytes, pool::kPage), heap_bytes);
  const TableHeader header = header_of(shape_);
  make_pages(edit, kPagesBytes, std::as_bytes(std::span(&header, 1)));
  if (shape.score == Score::step) note_step(0);
  for (unsigned level = shape.top_level + 1 - shape.levels; level <= shape.top_level; ++level)
    add_level_to(edit, level);
  if (heap_bytes == 0) return;
  add_heap().make(edit, heap_bytes);
  shape_.cells = std::min(heap_bytes / shape_.cell_bytes, kMaxCells);
}

std::unique_ptr<TableObject> TableObject::open(std::shared_ptr<pool::PoolFile> pool, const pool::ObjectEntry& entry,
                                               const TableUse& use) {
  pool::require_kind(entry, kinds::table_kind(), use.label);
  std::unique_ptr<TableObject> table(new TableObject(std::move(pool), entry.number, use));
  table->map_pages(use.salvage);
  const auto directory = table->pool().directory();
  if (const std::string what = read_shape(*directory, entry.number, table->page(), table->shape_); !what.empty()) {
    throw PoolCorrupt(use.label + " is damaged: " + what + "; restore it from a copy");
  }
  table->accept(!table->shape_.is_resizing, use.salvage);
  table->map_all();
  if (table->shape_.score == Score::step) table->read_step();
  return table;
}

void TableObject::map_all() {
  const auto start = std::chrono::steady_clock::now();
  const auto directory = pool().directory();
  for (const Extent& level : directory->extents_of(number(), kLevelRole)) {
    levels_[level.index] = pool().map(level.offset, level.bytes, true);
  }
  if (shape_.cell_bytes != 0) add_heap().map();
  map_ms_ = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

gphash::Slot* TableObject::level(unsigned number) const {
  return number > kMaxLevel ? nullptr : reinterpret_cast<gphash::Slot*>(levels_[number].address);
}

gphash::Slot* TableObject::reserved_slot() const { return reinterpret_cast<gphash::Slot*>(behind_pages()); }

StepRecord* TableObject::step_record() const { return reinterpret_cast<StepRecord*>(pages().address + kStepOffset); }

std::optional<std::uint64_t> TableObject::noted_step() const {
  if (!step_is_noted_.load(std::memory_order_acquire)) return std::nullopt;
  return largest_step_.load(std::memory_order_relaxed);
}

void TableObject::read_step() {
  const StepRecord record = *step_record();
  if (record.checksum != checksum(&record.step, sizeof record.step)) return;
  largest_step_.store(record.step, std::memory_order_relaxed);
  step_is_noted_.store(true, std::memory_order_release);
}

void TableObject::note_step(std::uint64_t step) {
  const auto is_noted = [&] {
    return step_is_noted_.load(std::memory_order_acquire) && step <= largest_step_.load(std::memory_order_acquire);
  };
  if (is_noted()) return;
  const std::lock_guard guard(step_mutex_);
  if (is_noted()) return;
  const std::uint64_t next = std::max(step, largest_step_.load(std::memory_order_relaxed));
  StepRecord* const record = step_record();
  std::atomic_ref(record->step).store(next, std::memory_order_relaxed);
  std::atomic_ref(record->checksum).store(checksum(&next, sizeof next), std::memory_order_relaxed);
  persist().flush(record, sizeof *record);
  persist().fence();
  largest_step_.store(next, std::memory_order_release);
  step_is_noted_.store(true, std::memory_order_release);
}

/// Gives level `number` an extent, maps it, and makes it zero, durably.
void TableObject::add_level_to(Edit& edit, unsigned number) {
  const Extent extent = edit.add(this->number(), kLevelRole, static_cast<std::uint16_t>(number),
                                 level_bytes(number, shape_.slots, shape_.key_bytes));
  Range& range = levels_[number];
  range = pool().map(extent.offset, extent.bytes, true);
  if (!edit.is_fresh(extent)) {
    std::memset(range.address, 0, range.bytes);
    persist().flush(range.address, range.bytes);
    persist().fence();
  }
  pool().settle(range);
}

void TableObject::add_level(unsigned number) {
  if (number != shape_.top_level + 1) {
    throw InvalidArgument("level " + std::to_string(number) + " does not follow the top level, " +
                          std::to_string(shape_.top_level));
  }
  require_writable();
  if (number > kMaxLevel) throw NoSpace(path() + " has the largest level there is; use a second table");
  Edit edit(pool());
  try {
    add_level_to(edit, number);
    HOLDFAST_FAILPOINT(level_allocated);
    edit.commit();
  } catch (...) {
    system::unmap(levels_[number].address, levels_[number].mapped);
    levels_[number] = {};
    throw;
  }
  HOLDFAST_FAILPOINT(level_added);
  shape_.top_level = number;
  shape_.is_resizing = true;
  announce(levels_[number]);
}

void TableObject::release_level(unsigned number) {
  require_writable();
  const unsigned bottom = shape_.top_level + 1 - shape_.levels;
  if (number >= bottom || levels_[number].address == nullptr ||
      (number > 0 && levels_[number - 1].address != nullptr)) {
    throw InvalidArgument("level " + std::to_string(number) + " is addressed, or is not the lowest one");
  }
  Edit edit(pool());
  edit.free(this->number(), kLevelRole, static_cast<std::uint16_t>(number));
  HOLDFAST_FAILPOINT(level_drained);
  edit.commit();
  HOLDFAST_FAILPOINT(level_released);
  withdraw(levels_[number]);
  shape_.is_resizing = number + 1 < bottom;
}

void TableObject::announce(const Range& range) const {
  if (mapped_ && range.bytes != 0) mapped_(range.address, range.bytes);
}

void TableObject::withdraw(Range& range) const {
  if (range.bytes == 0) return;
  if (unmapping_) unmapping_(range.address, range.bytes);
  system::unmap(range.address, range.mapped);
  range = {};
}

void TableObject::on_extent(std::function<void(void*, std::size_t)> mapped,
                            std::function<void(void*, std::size_t)> unmapping) {
  mapped_ = std::move(mapped);
  unmapping_ = std::move(unmapping);
  announce(pages());
  for (const Range& level : levels_) announce(level);
  if (heap_) heap_->on_range(mapped_, unmapping_);
}

const std::byte* TableObject::address_of(const Extent& extent) const {
  if (extent.role == pool::kPagesRole) return pages().address;
  if (extent.role == kLevelRole) return levels_[extent.index].address;
  return heap_ ? heap_->address_of(extent) : nullptr;
}

}  // namespace holdfast::gphash
