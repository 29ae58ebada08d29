// pool.cpp: the public Pool, and how its tables are made, opened, renamed and dropped.
#include "holdfast/pool.hpp"

#include <exception>
#include <utility>

#include "pool/edit.hpp"
#include "pool/kinds/describe.hpp"
#include "structures/gphash/table_kind.hpp"
#include "table/checks.hpp"
#include "table/impl.hpp"
#include "table/pool_impl.hpp"
#include "table/predicate_thread.hpp"
#include "table/recovery/salvage.hpp"

namespace holdfast {

namespace {

/// A read-only open never writes the file; what is to be salvaged is recovered in private copies.
pool::Access access_for(const PoolOptions& options) {
  if (!options.read_only) return pool::Access::read_write;
  return options.salvage ? pool::Access::scratch : pool::Access::read_only;
}

void must_agree(const std::string& path, const char* what, std::uint32_t asked, std::uint32_t has) {
  if (asked == has) return;
  const auto length = [](std::uint32_t bytes) {
    return bytes == kVariableBytes ? "any length" : std::to_string(bytes) + " bytes";
  };
  throw PoolMismatch(path + " has " + what + " of " + length(has) + ", not " + length(asked) +
                     ": open it with its own sizes (holdfast info shows them), or create another table");
}

void must_agree(const gphash::TableObject& table, const OpenOptions& options) {
  const gphash::TableShape& shape = table.shape();
  if (options.key_bytes) must_agree(table.path(), "keys", *options.key_bytes, shape.key_bytes);
  if (options.value_bytes) must_agree(table.path(), "values", *options.value_bytes, shape.value_bytes);
}

gphash::TableUse use_for(const std::string& label, const table::Choice& choice, bool flush, bool salvage) {
  gphash::TableUse use{.label = label, .flush = flush, .salvage = salvage};
  if (choice.device >= 0) use.reserve = std::uint64_t{1} << 40;  // beside searches a heap on a GPU cannot move
  return use;
}

gphash::MachineOptions machine_options(const Runtime& runtime, const Gpu& gpu, const Tuning& tuning) {
  return {.threads = runtime.threads,
          .verify = runtime.verify,
          .moves = tuning.moves,
          .shared_bias = tuning.shared_bias,
          .device = 0,
          .gpu_memory = gpu.memory,
          .order_from = tuning.order_from,
          .time_phases = tuning.time_phases,
          .cache = gpu.cache,
          .calibrate = tuning.calibrate};
}

}  // namespace

Pool::Impl::Impl(std::shared_ptr<pool::PoolFile> file, const PoolOptions& how)
    : path(file->path()), options(how), file_(std::move(file)) {}

std::unique_lock<threads::Gate> Pool::Impl::pass() const {
  require_own();
  PredicateThread::refuse(this, path);
  return std::unique_lock(gate_);
}

void Pool::Impl::require_own() const {
  if (is_own()) return;
  throw ObjectClosed(path + " was opened by the parent of this process: open it here after the parent has closed it");
}

std::shared_ptr<pool::PoolFile> Pool::Impl::file() const {
  require_own();
  const std::lock_guard guard(file_mutex_);
  if (!file_) throw ObjectClosed(path + " is closed: open it again");
  return file_;
}

bool Pool::Impl::is_open() const {
  if (!is_own()) return false;
  const std::lock_guard guard(file_mutex_);
  return file_ != nullptr;
}

std::shared_ptr<pool::OpenObject> Pool::Impl::find_open(std::uint32_t number) const {
  const auto found = open_.find(number);
  if (found == open_.end()) return nullptr;
  if (auto object = found->second.object.lock()) return object->is_open() ? object : nullptr;
  found->second.ended.wait();  // else its closing would set the clean mark of who opens it now
  return nullptr;
}

Pool::Impl::Objects Pool::Impl::open_objects() const {
  Objects objects;
  for (const auto& [number, unused] : open_) {
    if (auto object = find_open(number)) objects.push_back(std::move(object));
  }
  return objects;
}

const pool::ObjectEntry& Pool::Impl::require(const pool::Directory& directory, const std::string& name) const {
  if (const pool::ObjectEntry* const entry = directory.find(name)) return *entry;
  throw ObjectNotFound(path + " has no object \"" + name + "\"; it has " + pool::names_in(directory));
}

void Pool::Impl::require_closed(std::uint32_t number, const std::string& name, const char* what) const {
  if (!find_open(number)) return;
  throw ObjectInUse(label_of(name) + " is open in this process, and " + what + ": close it first");
}

std::uint32_t Pool::Impl::replaced_by(const pool::Directory& directory, const std::string& name,
                                      std::uint32_t type) const {
  const pool::ObjectEntry* const there = directory.find(name);
  if (there == nullptr) return 0;
  pool::require_same_kind(*there, type, label_of(name));
  require_closed(there->number, name, "cannot be replaced meanwhile");
  return there->number;
}

std::shared_ptr<pool::OpenObject> Pool::Impl::create_object(const pool::ObjectKind& kind, const std::string& name,
                                                            bool overwrite, const std::string& label,
                                                            const pool::MakeObject& make) {
  const std::shared_ptr<pool::PoolFile> pool = file();
  pool->require_kept();
  const auto guard = pass();
  const std::uint32_t before = overwrite ? replaced_by(*pool->directory(), name, kind.type) : 0;
  pool::Edit edit(*pool);
  if (before != 0) edit.drop(before);
  std::shared_ptr<pool::OpenObject> made = make(edit, pool, label);
  open_[made->number] = {made, made->ended()};  // before the commit, behind which nothing may fail
  edit.commit();                                // what it replaces stays until then
  return made;
}

std::shared_ptr<pool::OpenObject> Pool::Impl::open_object(const std::string& name, const std::string& label,
                                                          const pool::ReopenObject& reopen) {
  const std::shared_ptr<pool::PoolFile> pool = file();
  const auto guard = pass();
  const auto directory = pool->directory();
  const pool::ObjectEntry& entry = require(*directory, name);
  require_closed(entry.number, name, "opens once at a time");
  std::shared_ptr<pool::OpenObject> opened = reopen(pool, entry, label);
  open_[entry.number] = {opened, opened->ended()};
  return opened;
}

std::shared_ptr<Table::Impl> Pool::Impl::create_table(const std::string& name, const CreateOptions& wanted,
                                                      const std::string& label) {
  const gphash::TableShape shape = table::shape_for(wanted.shape);
  table::check_cache(wanted.gpu.cache);
  table::check_device(wanted.runtime.device);
  table::check_verify(wanted.runtime, wanted.shape.value_bytes, label);
  const auto make = [&](pool::Edit& edit, const std::shared_ptr<pool::PoolFile>& pool, const std::string& its) {
    table::Choice choice = table::choose_machine(wanted.runtime.device, *pool);
    auto object =
        gphash::TableObject::create(edit, pool, name, shape, use_for(its, choice, wanted.tuning.flush, false));
    return std::make_shared<Table::Impl>(shared_from_this(), std::move(object), std::move(choice),
                                         machine_options(wanted.runtime, wanted.gpu, wanted.tuning), false);
  };
  return std::static_pointer_cast<Table::Impl>(create_object(kinds::table_kind(), name, wanted.overwrite, label, make));
}

std::shared_ptr<Table::Impl> Pool::Impl::open_table(const std::string& name, const OpenOptions& wanted,
                                                    const std::string& label) {
  table::check_cache(wanted.gpu.cache);
  const auto reopen = [&](const std::shared_ptr<pool::PoolFile>& pool, const pool::ObjectEntry& entry,
                          const std::string& its) {
    table::Choice choice = table::choose_machine(wanted.runtime.device, *pool);
    auto object = gphash::TableObject::open(
        pool, entry, use_for(its, choice, wanted.tuning.flush, wanted.salvage || options.salvage));
    must_agree(*object, wanted);
    table::check_verify(wanted.runtime, object->shape().value_bytes, its);
    const std::uint64_t left_out = pool->access() == pool::Access::scratch ? table::leave_out_damage(*object) : 0;
    auto opened = std::make_shared<Table::Impl>(shared_from_this(), std::move(object), std::move(choice),
                                                machine_options(wanted.runtime, wanted.gpu, wanted.tuning),
                                                wanted.read_only || options.read_only);
    opened->left_out = left_out;
    return opened;
  };
  return std::static_pointer_cast<Table::Impl>(open_object(name, label, reopen));
}

void Pool::Impl::rename(const std::string& name, const std::string& to, bool overwrite) {
  const std::shared_ptr<pool::PoolFile> pool = file();
  pool->require_kept();
  const auto guard = pass();
  pool::Edit edit(*pool);
  const pool::ObjectEntry entry = require(edit.directory(), name);
  const std::uint32_t replaced = overwrite && to != name ? replaced_by(edit.directory(), to, entry.type) : 0;
  if (replaced != 0) edit.drop(replaced);
  edit.rename(entry.number, to);
  edit.commit();
  if (replaced != 0) open_.erase(replaced);
}

void Pool::Impl::drop(const std::string& name) {
  const std::shared_ptr<pool::PoolFile> pool = file();
  pool->require_kept();
  const auto guard = pass();
  pool::Edit edit(*pool);
  const std::uint32_t number = require(edit.directory(), name).number;
  require_closed(number, name, "cannot be dropped meanwhile");
  edit.drop(number);
  edit.commit();
  open_.erase(number);
}

void Pool::Impl::close() {
  Objects objects;
  {
    const auto guard = pass();
    objects = open_objects();
  }
  std::exception_ptr failed;
  for (const auto& object : objects) {  // without the gate: their users may pass it before they end
    try {
      object->close();
    } catch (const Error&) {
      if (object->is_open()) throw;  // it is too early
      failed = std::current_exception();
    }
  }
  const auto guard = pass();
  {
    std::shared_ptr<pool::PoolFile> last;  // destroyed without the mutex
    const std::lock_guard closing(file_mutex_);
    last.swap(file_);
  }
  if (failed) std::rethrow_exception(failed);
}

Pool::Pool(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}

Pool Pool::create(const std::string& path, bool overwrite) {
  return create(path, overwrite, [](Pool&) {});
}

Pool Pool::create(const std::string& path, bool overwrite, const std::function<void(Pool&)>& fill) {
  pool::NewPool made(path, overwrite);
  Pool pool(std::make_shared<Impl>(made.pool(), PoolOptions{}));
  fill(pool);
  made.publish();
  return pool;
}

Pool Pool::open(const std::string& path, const PoolOptions& options) {
  return Pool(std::make_shared<Impl>(pool::PoolFile::open(path, access_for(options)), options));
}

Table Pool::create_table(const std::string& name, const CreateOptions& options) {
  return Table(impl_->create_table(name, options, impl_->label_of(name)));
}

Table Pool::table(const std::string& name, const OpenOptions& options) {
  return Table(impl_->open_table(name, options, impl_->label_of(name)));
}
Table Pool::table(const std::string& name) { return table(name, {}); }

std::vector<ObjectInfo> Pool::objects() const {
  const std::shared_ptr<pool::PoolFile> pool = impl_->file();
  // An object may go while its page is read, and another come there.
  constexpr int kAttempts = 100;
  // ends: after kAttempts
  for (int attempt = 1;; ++attempt) {
    const std::shared_ptr<const pool::Directory> directory = pool->directory();
    std::vector<ObjectInfo> objects = pool::describe(pool->file(), *directory);
    if (attempt == kAttempts || pool->directory() == directory) return objects;
  }
}

void Pool::rename(const std::string& name, const std::string& to, bool overwrite) {
  impl_->rename(name, to, overwrite);
}
void Pool::drop(const std::string& name) { impl_->drop(name); }
SnapshotResult Pool::snapshot(const std::string& path, const SnapshotOptions& options) {
  return impl_->snapshot(path, options);
}
CheckReport Pool::check() { return impl_->check(); }
CheckReport Pool::check(const std::string& name) { return impl_->check(name); }
void Pool::close() {
  if (impl_) impl_->close();
}
bool Pool::is_open() const { return impl_ && impl_->is_open(); }
const std::string& Pool::path() const { return impl_->path; }

Table Table::create(const std::string& path, const CreateOptions& options) {
  return create(path, options, [](Table&) {});
}

Table Table::create(const std::string& path, const CreateOptions& options, const std::function<void(Table&)>& fill) {
  table::shape_for(options.shape);  // bad arguments make no file
  table::check_cache(options.gpu.cache);
  table::check_device(options.runtime.device);
  table::check_verify(options.runtime, options.shape.value_bytes, path);
  pool::NewPool pool(path, options.overwrite);
  CreateOptions inner = options;
  inner.overwrite = false;
  auto impl = std::make_shared<Pool::Impl>(pool.pool(), PoolOptions{});
  Table table(impl->create_table(kTableName, inner, path));
  fill(table);
  pool.publish();
  return table;
}

Table Table::open(const std::string& path, const OpenOptions& options) {
  const PoolOptions how{.read_only = options.read_only, .salvage = options.salvage};
  auto impl = std::make_shared<Pool::Impl>(pool::PoolFile::open(path, access_for(how)), how);
  const auto directory = impl->file()->directory();
  if (directory->objects.empty()) {
    throw ObjectNotFound(path + " is a pool without objects: create a table in it (Pool::create_table, or in Python " +
                         "Table.open(path, create=True))");
  }
  if (directory->objects.size() != 1) {
    throw InvalidArgument(path + " has " + pool::names_in(*directory) +
                          ": open it as a pool, and one of its tables by name (on the command line POOL:NAME)");
  }
  return Table(impl->open_table(std::string(directory->objects[0].title()), options, path));
}

}  // namespace holdfast
