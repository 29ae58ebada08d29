// group_kind.cpp: registers group hashing tables as a kind of object.
#include "structures/group/group_kind.hpp"

#include "pool/kinds/describe.hpp"
#include "structures/group/cpu_table.hpp"

namespace holdfast {

namespace {

class GroupKind final : public memory::ObjectKind {
 public:
  GroupKind() : ObjectKind(8, group::kTableVersion, "group table") {}

  std::string describe_extent(const memory::Extent& extent) const override {
    return extent.role == group::kGroupsRole ? "groups" : ObjectKind::describe_extent(extent);
  }
  void describe(const memory::Directory& directory, const memory::ObjectEntry& entry, const memory::ObjectPage& page,
                ObjectInfo& info) const override {
    group::Stored stored;
    info.damage = group::read_stored(directory, entry.number, page, stored);
  }
  CheckReport check(const std::shared_ptr<memory::PoolFile>& pool, const memory::ObjectEntry& entry,
                    const std::string& label) const override {
    const auto table = group::make_cpu_table(group::GroupObject::open(pool, entry, {.label = label}));
    CheckReport report = table->check();
    pool->keep_space();
    if (pool->writes_file()) table->close();
    return report;
  }
};

}  // namespace

const memory::ObjectKind& kinds::group_kind() {
  static const GroupKind kind;
  return kind;
}

}  // namespace holdfast
