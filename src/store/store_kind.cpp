// store_kind.cpp: registers stores as a kind of object.
#include "store/store_kind.hpp"

#include "store/open_store.hpp"

namespace holdfast {

namespace {

class StoreKind final : public pool::ObjectKind {
 public:
  StoreKind() : ObjectKind(7, store::kStoreVersion, "store") {}

  std::string describe_extent(const pool::Extent& extent) const override {
    return extent.role == store::kHeapRole ? "heap" : ObjectKind::describe_extent(extent);
  }
  void describe(const pool::Directory& directory, const pool::ObjectEntry& entry, const pool::ObjectPage& page,
                ObjectInfo& info) const override {
    store::StoreHeader header;
    info.damage = store::read_header(directory, entry.number, page, header);
  }
  CheckReport check(const std::shared_ptr<pool::PoolFile>& pool, const pool::ObjectEntry& entry,
                    const std::string& label) const override {
    store::OpenStore store(store::StoreObject::open(pool, entry, {.label = label}), {});
    CheckReport report = store.check();
    pool->keep_space();
    if (pool->writes_file()) store.close();
    return report;
  }
};

}  // namespace

const pool::ObjectKind& kinds::store_kind() {
  static const StoreKind kind;
  return kind;
}

}  // namespace holdfast
