// structures.cpp: the public classes of persistent hash tables.
#include <utility>
#include <vector>

#include "holdfast/structures.hpp"
#include "structures/group/form.hpp"
#include "structures/linear/linear_form.hpp"
#include "structures/path/path_form.hpp"
#include "structures/pfht/pfht_form.hpp"
#include "structures/structure_object.hpp"
#include "table/pool_impl.hpp"

namespace holdfast {

class HashTable::Impl : public pool::OpenObject {
 public:
  explicit Impl(std::unique_ptr<structures::StructureObject> object)
      : OpenObject(object->number(), object->path()),
        header(object->header()),
        is_durable(object->kind().is_durable()),
        engine_(make_engine(std::move(object))) {}
  ~Impl() override {
    try {
      close();
    } catch (const Error&) {
      // its next opening says what it lacks
    }
  }

  const structures::Header header;
  const bool is_durable;  ///< it survives crashes

  bool is_open() const override { return !forked() && engine_->is_open(); }
  void close() override {
    if (!forked()) engine_->close();  // in a child its mappings and locks are the parent's
  }
  CheckReport check() override { return use().check(); }
  std::unique_ptr<pool::Quiesced> quiesce(const SnapshotOptions&) override {
    struct Still : pool::Quiesced {
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
  static std::unique_ptr<structures::Engine> make_engine(std::unique_ptr<structures::StructureObject> object) {
    const structures::StructureKind& kind = object->kind();
    return kind.make_engine(std::move(object));
  }

  const std::unique_ptr<structures::Engine> engine_;
};

HashTable::HashTable(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}

/// The parts of `create` and `open` that all schemes share.
struct HashTable::Access {
  static std::shared_ptr<Impl> create(Pool& pool, const structures::StructureKind& kind, const std::string& name,
                                      const structures::NewTable& table, bool overwrite, bool flush) {
    const auto make = [&](pool::Edit& edit, const std::shared_ptr<pool::PoolFile>& file, const std::string& label) {
      return std::make_shared<Impl>(
          structures::StructureObject::create(kind, edit, file, name, table, {.label = label, .flush = flush}));
    };
    return PoolAccess::create<Impl>(pool, kind, name, overwrite, make);
  }
  /// `kinds`: the one that opens it is that of the object, or else the first.
  static std::shared_ptr<Impl> open(Pool& pool, std::initializer_list<const structures::StructureKind*> kinds,
                                    const std::string& name, std::uint32_t item_bytes, bool flush) {
    const auto reopen = [&](const std::shared_ptr<pool::PoolFile>& file, const pool::ObjectEntry& entry,
                            const std::string& label) {
      const structures::StructureKind* kind = *kinds.begin();
      for (const structures::StructureKind* const one : kinds) {
        if (one->type == entry.type) kind = one;
      }
      auto object = structures::StructureObject::open(
          *kind, file, entry, {.label = label, .flush = flush, .salvage = PoolAccess::of(pool).options.salvage});
      const std::uint32_t has = object->header().item_bytes;
      if (item_bytes != 0 && item_bytes != has) {
        throw PoolMismatch(label + " has items of " + std::to_string(has) + " bytes, not " +
                           std::to_string(item_bytes) + ": open it with that size, or with 0");
      }
      return std::make_shared<Impl>(std::move(object));
    };
    return PoolAccess::open<Impl>(pool, name, reopen);
  }
  /// One of the schemes that have a log or not.
  static std::shared_ptr<Impl> create(Pool& pool, const structures::StructureKind& kind, const std::string& name,
                                      const SchemeTableOptions& options) {
    return create(pool, kind, name, {.item_bytes = options.item_bytes, .cells = options.cells, .seed = options.seed},
                  options.overwrite, options.flush);
  }
};

GroupTable GroupTable::create(Pool& pool, const std::string& name, const GroupTableOptions& options) {
  return GroupTable(Access::create(pool, group::kind(), name,
                                   {options.item_bytes, options.group_size, options.cells, options.seed},
                                   options.overwrite, options.flush));
}
GroupTable GroupTable::open(Pool& pool, const std::string& name, const GroupTableOptions& options) {
  return GroupTable(Access::open(pool, {&group::kind()}, name, options.item_bytes, options.flush));
}
std::uint32_t GroupTable::group_size() const { return impl_->header.group_size; }

LinearTable LinearTable::create(Pool& pool, const std::string& name, const SchemeTableOptions& options) {
  return LinearTable(
      Access::create(pool, options.undo_log ? linear::logged_kind() : linear::plain_kind(), name, options));
}
LinearTable LinearTable::open(Pool& pool, const std::string& name, const SchemeTableOptions& options) {
  return LinearTable(
      Access::open(pool, {&linear::logged_kind(), &linear::plain_kind()}, name, options.item_bytes, options.flush));
}

PfhtTable PfhtTable::create(Pool& pool, const std::string& name, const SchemeTableOptions& options) {
  return PfhtTable(Access::create(pool, options.undo_log ? pfht::logged_kind() : pfht::plain_kind(), name, options));
}
PfhtTable PfhtTable::open(Pool& pool, const std::string& name, const SchemeTableOptions& options) {
  return PfhtTable(
      Access::open(pool, {&pfht::logged_kind(), &pfht::plain_kind()}, name, options.item_bytes, options.flush));
}

PathTable PathTable::create(Pool& pool, const std::string& name, const SchemeTableOptions& options) {
  return PathTable(Access::create(pool, options.undo_log ? path::logged_kind() : path::plain_kind(), name, options));
}
PathTable PathTable::open(Pool& pool, const std::string& name, const SchemeTableOptions& options) {
  return PathTable(
      Access::open(pool, {&path::logged_kind(), &path::plain_kind()}, name, options.item_bytes, options.flush));
}

Status HashTable::insert(const void* key, const void* value) { return impl_->use().insert(key, value, false); }
Status HashTable::insert_new(const void* key, const void* value) { return impl_->use().insert(key, value, true); }
Status HashTable::assign(const void* key, const void* value) { return impl_->use().assign(key, value); }
Status HashTable::find(const void* key, void* value) const { return impl_->use().find(key, value); }
Status HashTable::erase(const void* key) { return impl_->use().erase(key); }

Status HashTable::insert(std::uint64_t key, std::uint64_t value) {
  return impl_->use_narrow().insert(&key, &value, false);
}
Status HashTable::insert_new(std::uint64_t key, std::uint64_t value) {
  return impl_->use_narrow().insert(&key, &value, true);
}
Status HashTable::assign(std::uint64_t key, std::uint64_t value) { return impl_->use_narrow().assign(&key, &value); }
std::optional<std::uint64_t> HashTable::find(std::uint64_t key) const {
  std::uint64_t value = 0;
  if (impl_->use_narrow().find(&key, &value) != Status::found) return std::nullopt;
  return value;
}
Status HashTable::erase(std::uint64_t key) { return impl_->use_narrow().erase(&key); }

void HashTable::for_each(const std::function<bool(const void* key, const void* value)>& visit) const {
  structures::Engine& table = impl_->use();
  const std::size_t bytes = key_bytes();
  std::vector<std::byte> keys, values;
  for (std::uint64_t cursor = 0; cursor != ~std::uint64_t{0};) {
    keys.clear();
    values.clear();
    table.export_some(cursor, keys, values);
    for (std::size_t at = 0; at < keys.size(); at += bytes) {
      if (!visit(keys.data() + at, values.data() + at)) return;
    }
  }
}

std::uint64_t HashTable::size() const { return impl_->use().size(); }
std::uint64_t HashTable::cells() const { return impl_->use().cells(); }
bool HashTable::survives_crashes() const { return impl_->is_durable; }
std::uint32_t HashTable::key_bytes() const { return impl_->header.item_bytes / 2; }
void HashTable::reserve(std::uint64_t cells) { impl_->use().reserve(cells); }
void HashTable::clear() { impl_->use().clear(); }
Domain HashTable::domain() const { return impl_->use().domain(); }
CheckReport HashTable::check() const { return impl_->use().check(); }
void HashTable::sync() { impl_->use().sync(); }
void HashTable::close() {
  if (impl_) impl_->close();
}
bool HashTable::is_open() const { return impl_ && impl_->is_open(); }

}  // namespace holdfast
