// pool_objects.cpp: makes and opens objects that are no tables, and knows which are open.
#include "table/objects/open_object.hpp"
#include "table/pool_impl.hpp"

namespace holdfast {

std::shared_ptr<table::OpenObject> Pool::Impl::create_object(const std::string& name, const memory::Kind& kind,
                                                             bool overwrite, const table::MakeObject& make) {
  const std::shared_ptr<memory::PoolFile> pool = file();
  pool->require_kept();
  const auto guard = pass();
  const auto type = static_cast<std::uint32_t>(kind.type);
  const std::uint32_t before = overwrite ? replaced_by(*pool->directory(), name, type) : 0;
  memory::Edit edit(*pool);
  if (before != 0) edit.drop(before);
  std::shared_ptr<table::OpenObject> made = make(edit, pool, label_of(name));
  objects_[made->number()] = made;  // before the commit, behind which nothing may fail
  edit.commit();
  return made;
}

std::shared_ptr<table::OpenObject> Pool::Impl::open_object(const std::string& name, const table::ReopenObject& reopen) {
  const std::shared_ptr<memory::PoolFile> pool = file();
  const auto guard = pass();
  const auto directory = pool->directory();
  const memory::ObjectEntry& entry = require(*directory, name);
  require_closed(entry.number, name, "opens once at a time");
  std::shared_ptr<table::OpenObject> opened = reopen(pool, entry, label_of(name));
  objects_[entry.number] = opened;
  return opened;
}

std::vector<std::shared_ptr<table::OpenObject>> Pool::Impl::open_objects() const {
  std::vector<std::shared_ptr<table::OpenObject>> objects;
  for (const auto& [number, object] : objects_) {
    if (auto open = object.lock(); open && open->is_open()) objects.push_back(std::move(open));
  }
  return objects;
}

bool Pool::Impl::is_object_open(std::uint32_t number) const {
  const auto found = objects_.find(number);
  if (found == objects_.end()) return false;
  const auto open = found->second.lock();
  return open && open->is_open();
}

}  // namespace holdfast
