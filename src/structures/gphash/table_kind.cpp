// table_kind.cpp: registers tables as a kind of object.
#include "structures/gphash/table_kind.hpp"

#include "holdfast/error.hpp"
#include "pool/kinds/open_object.hpp"
#include "structures/gphash/compact_table.hpp"
#include "structures/gphash/table_shape.hpp"

namespace holdfast {

namespace {

TableInfo table_info(const gphash::TableShape& shape, const pool::Directory& directory, std::uint32_t number) {
  TableInfo info;
  info.key_bytes = shape.key_bytes;
  info.value_bytes = shape.value_bytes;
  info.levels = shape.levels;
  info.hash_locations = shape.hash_locations;
  info.slots = shape.slots;
  info.top_level = shape.top_level;
  for (const pool::Extent& level : directory.extents_of(number, gphash::kLevelRole)) {
    info.total_slots += (std::uint64_t{1} << level.index) * shape.slots;
  }
  info.cells = shape.cells;
  info.cell_bytes = shape.cell_bytes;
  info.max_bytes = shape.max_bytes;
  info.created = shape.created;
  info.score = shape.score;
  info.resizing = shape.is_resizing;
  return info;
}

class TableKind final : public pool::ObjectKind {
 public:
  TableKind() : ObjectKind(1, gphash::kTableVersion, "table") {}

  std::string describe_extent(const pool::Extent& extent) const override {
    if (extent.role == gphash::kLevelRole) return "level " + std::to_string(extent.index);
    return extent.role == gphash::kHeapRole ? "heap" : ObjectKind::describe_extent(extent);
  }

  void describe(const pool::Directory& directory, const pool::ObjectEntry& entry, const pool::ObjectPage& page,
                ObjectInfo& info) const override {
    gphash::TableShape shape;
    info.damage = gphash::read_shape(directory, entry.number, page, shape);
    if (info.damage.empty()) info.table = table_info(shape, directory, entry.number);
  }

  CheckReport check(const std::shared_ptr<pool::PoolFile>& pool, const pool::ObjectEntry& entry,
                    const std::string& label) const override {
    const auto object = gphash::TableObject::open(pool, entry, {.label = label});
    const bool repairs = pool->writes_file();
    if (repairs && !object->was_clean()) object->mark_changed();
    const auto machine = gphash::make_cpu_machine(*object, {});
    CheckReport report = gphash::check(*machine, *object);
    pool->keep_space();
    if (repairs) object->sync();
    return report;
  }

  std::unique_ptr<pool::CompactCopy> compact(const std::shared_ptr<pool::PoolFile>& pool,
                                             const pool::ObjectEntry& entry, const pool::Quiesced* open,
                                             const pool::CompactHow& how) const override {
    if (open != nullptr) {
      return gphash::compact(static_cast<const gphash::TableObject&>(*open->object), open->items, how);
    }
    try {
      return gphash::compact(gphash::TableObject::open(pool, entry, {.label = pool->path(), .reserve = 0}), how);
    } catch (const Error&) {
      return nullptr;  // damaged, or not closed: its copy is too
    }
  }
};

}  // namespace

const pool::ObjectKind& kinds::table_kind() {
  static const TableKind kind;
  return kind;
}

CheckReport gphash::check(gphash::Machine& machine, const TableObject& object) {
  CheckReport report = machine.check();
  report.checked.push_back("every slot and cell");
  object.pool().require_whole();
  return report;
}

}  // namespace holdfast
