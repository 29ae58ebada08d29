// group_table.cpp: the public GroupTable.
#include <utility>
#include <vector>

#include "holdfast/structures.hpp"
#include "structures/group/cpu_table.hpp"
#include "structures/group/group_kind.hpp"
#include "table/pool_impl.hpp"

namespace holdfast {

class GroupTable::Impl : public memory::OpenObject {
 public:
  explicit Impl(std::unique_ptr<group::GroupObject> object)
      : OpenObject(object->number(), object->path()),
        header(object->header()),
        engine_(group::make_cpu_table(std::move(object))) {}
  ~Impl() override {
    try {
      close();
    } catch (const Error&) {
      // its next opening says what it lacks
    }
  }

  const group::Header header;

  bool is_open() const override { return !forked() && engine_->is_open(); }
  void close() override {
    if (!forked()) engine_->close();  // in a child its mappings and locks are the parent's
  }
  CheckReport check() override { return use().check(); }
  std::unique_ptr<memory::Quiesced> quiesce(const SnapshotOptions&) override {
    struct Still : memory::Quiesced {
      std::unique_ptr<structures::Engine::Still> held;
    };
    auto still = std::make_unique<Still>();
    still->held = engine_->keep_still();
    if (!still->held) return nullptr;
    still->object = &engine_->object();
    still->items = engine_->size();
    return still;
  }

  /// Throws ObjectClosed in a forked child.
  structures::Engine& use() const {
    if (forked()) throw ObjectClosed(path + " was opened by the parent of this process: open it here");
    return *engine_;
  }
  /// Throws InvalidArgument where items have no 16 bytes.
  structures::Engine& use_narrow() const {
    if (header.item_bytes == 16) return use();
    throw InvalidArgument(path + " has items of " + std::to_string(header.item_bytes) +
                          " bytes: give the addresses of keys and values of " + std::to_string(header.item_bytes / 2) +
                          " bytes");
  }

 private:
  const std::unique_ptr<structures::Engine> engine_;
};

GroupTable::GroupTable(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}

GroupTable GroupTable::create(Pool& pool, const std::string& name, const GroupTableOptions& options) {
  const group::NewTable table{options.item_bytes, options.group_size, options.cells, options.seed};
  const auto make = [&](memory::Edit& edit, const std::shared_ptr<memory::PoolFile>& file, const std::string& label) {
    return std::make_shared<Impl>(
        group::GroupObject::create(edit, file, name, table, {.label = label, .flush = options.flush}));
  };
  return GroupTable(PoolAccess::create<Impl>(pool, kinds::group_kind(), name, options.overwrite, make));
}

GroupTable GroupTable::open(Pool& pool, const std::string& name, const GroupTableOptions& options) {
  const auto reopen = [&](const std::shared_ptr<memory::PoolFile>& file, const memory::ObjectEntry& entry,
                          const std::string& label) {
    auto object = group::GroupObject::open(
        file, entry, {.label = label, .flush = options.flush, .salvage = PoolAccess::of(pool).options.salvage});
    const std::uint32_t has = object->header().item_bytes;
    if (options.item_bytes != 0 && options.item_bytes != has) {
      throw PoolMismatch(label + " has items of " + std::to_string(has) + " bytes, not " +
                         std::to_string(options.item_bytes) + ": open it with its own size, or with 0");
    }
    return std::make_shared<Impl>(std::move(object));
  };
  return GroupTable(PoolAccess::open<Impl>(pool, name, reopen));
}

Status GroupTable::insert(const void* key, const void* value) { return impl_->use().insert(key, value, false); }
Status GroupTable::insert_new(const void* key, const void* value) { return impl_->use().insert(key, value, true); }
Status GroupTable::assign(const void* key, const void* value) { return impl_->use().assign(key, value); }
Status GroupTable::find(const void* key, void* value) const { return impl_->use().find(key, value); }
Status GroupTable::erase(const void* key) { return impl_->use().erase(key); }

Status GroupTable::insert(std::uint64_t key, std::uint64_t value) {
  return impl_->use_narrow().insert(&key, &value, false);
}
Status GroupTable::insert_new(std::uint64_t key, std::uint64_t value) {
  return impl_->use_narrow().insert(&key, &value, true);
}
Status GroupTable::assign(std::uint64_t key, std::uint64_t value) { return impl_->use_narrow().assign(&key, &value); }
std::optional<std::uint64_t> GroupTable::find(std::uint64_t key) const {
  std::uint64_t value = 0;
  if (impl_->use_narrow().find(&key, &value) != Status::found) return std::nullopt;
  return value;
}
Status GroupTable::erase(std::uint64_t key) { return impl_->use_narrow().erase(&key); }

void GroupTable::for_each(const std::function<bool(const void* key, const void* value)>& visit) const {
  structures::Engine& table = impl_->use();
  const std::size_t bytes = key_bytes();
  std::vector<std::byte> keys(table.most() * bytes), values(table.most() * bytes);
  for (std::uint64_t cursor = 0; cursor != ~std::uint64_t{0};) {
    const std::size_t items = table.export_some(cursor, keys.data(), values.data());
    for (std::size_t i = 0; i < items; ++i) {
      if (!visit(keys.data() + i * bytes, values.data() + i * bytes)) return;
    }
  }
}

std::uint64_t GroupTable::size() const { return impl_->use().size(); }
std::uint64_t GroupTable::cells() const { return impl_->use().cells(); }
std::uint32_t GroupTable::key_bytes() const { return impl_->header.item_bytes / 2; }
std::uint32_t GroupTable::group_size() const { return impl_->header.group_size; }
void GroupTable::reserve(std::uint64_t cells) { impl_->use().reserve(cells); }
void GroupTable::clear() { impl_->use().clear(); }
Domain GroupTable::domain() const { return impl_->use().domain(); }
CheckReport GroupTable::check() const { return impl_->use().check(); }
void GroupTable::sync() { impl_->use().sync(); }
void GroupTable::close() {
  if (impl_) impl_->close();
}
bool GroupTable::is_open() const { return impl_ && impl_->is_open(); }

}  // namespace holdfast
