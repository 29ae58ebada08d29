// region_kind.cpp: registers regions as a kind of object.
#include "log/check.hpp"
#include "log/data_object.hpp"
#include "log/kinds.hpp"
#include "pool/kinds/describe.hpp"

namespace holdfast {

namespace {

class RegionKind final : public pool::ObjectKind {
 public:
  RegionKind() : ObjectKind(3, 1, "region") {}

  void describe(const pool::Directory& directory, const pool::ObjectEntry& entry, const pool::ObjectPage& page,
                ObjectInfo& info) const override {
    info.damage = log::flaw_in(directory, entry, page, sizeof(log::DataHeader));
  }

  CheckReport check(const std::shared_ptr<pool::PoolFile>& pool, const pool::ObjectEntry& entry,
                    const std::string& label) const override {
    return log::report_on_region(pool::describe_intact(*pool, entry, *this, label).clean);
  }
};

}  // namespace

const pool::ObjectKind& kinds::region_kind() {
  static const RegionKind kind;
  return kind;
}

}  // namespace holdfast
