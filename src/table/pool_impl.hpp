// pool_impl.hpp: a pool that is open in this process, and which of its objects are.
#pragma once

#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "holdfast/table.hpp"
#include "pool/kinds/kind.hpp"
#include "pool/kinds/open_object.hpp"
#include "pool/pool_file.hpp"
#include "system/fork.hpp"
#include "threads/gate.hpp"

namespace holdfast {

class Pool::Impl : public std::enable_shared_from_this<Pool::Impl> {
 public:
  Impl(std::shared_ptr<pool::PoolFile> file, const PoolOptions& options);

  const std::string path;
  const PoolOptions options;

  /// Makes an object; with `overwrite` in place of one of its kind that is not open. `label` is how messages name it.
  std::shared_ptr<pool::OpenObject> create_object(const pool::ObjectKind& kind, const std::string& name, bool overwrite,
                                                  const std::string& label, const pool::MakeObject& make);
  /// Opens one that is not open.
  std::shared_ptr<pool::OpenObject> open_object(const std::string& name, const std::string& label,
                                                const pool::ReopenObject& reopen);
  std::shared_ptr<Table::Impl> create_table(const std::string& name, const CreateOptions& options,
                                            const std::string& label);
  std::shared_ptr<Table::Impl> open_table(const std::string& name, const OpenOptions& options,
                                          const std::string& label);
  void rename(const std::string& name, const std::string& to, bool overwrite);
  void drop(const std::string& name);
  SnapshotResult snapshot(const std::string& path, const SnapshotOptions& options);
  CheckReport check();
  CheckReport check(const std::string& name);
  void close();
  bool is_open() const;
  std::shared_ptr<pool::PoolFile> file() const;  ///< throws ObjectClosed

  std::string label_of(const std::string& name) const { return path + ":" + name; }

 private:
  using Objects = std::vector<std::shared_ptr<pool::OpenObject>>;
  bool is_own() const { return process_.is_this(); }
  void require_own() const;  ///< throws ObjectClosed in a forked child, where a thread may have held a lock at the fork
  /// Null if it is closed; waits for it if it is closing.
  std::shared_ptr<pool::OpenObject> find_open(std::uint32_t number) const;
  Objects open_objects() const;  ///< by number
  /// Throws ObjectNotFound, which names the objects that there are.
  const pool::ObjectEntry& require(const pool::Directory& directory, const std::string& name) const;
  CheckReport check_object(const std::shared_ptr<pool::PoolFile>& pool, const pool::ObjectEntry& entry,
                           const std::string& label) const;
  void refuse_wait_for_self() const;
  /// The number of the object that one of this type and name replaces; 0: none. Throws ObjectInUse, PoolMismatch.
  std::uint32_t replaced_by(const pool::Directory& directory, const std::string& name, std::uint32_t type) const;
  void require_closed(std::uint32_t number, const std::string& name, const char* what) const;

  /// The pool's gate. Throws ObjectClosed in a forked child, InvalidArgument where this thread would wait for itself.
  std::unique_lock<threads::Gate> pass() const;

  mutable threads::Gate gate_{threads::Gate::Rank::pool, this, nullptr};
  const system::OwningProcess process_;
  mutable std::mutex file_mutex_;         ///< guards what follows, for a moment: who looks at a pool passes no gate
  std::shared_ptr<pool::PoolFile> file_;  ///< null: closed
  struct Opened {
    std::weak_ptr<pool::OpenObject> object;
    std::shared_future<void> ended;  ///< its handle may be gone, and the object be closing still
  };
  std::map<std::uint32_t, Opened> open_;
};

/// For the public classes of kinds: an object of type `Object`, which derives from OpenObject, in a pool that is open.
struct PoolAccess {
  using Impl = Pool::Impl;
  static Pool::Impl& of(const Pool& pool) { return *pool.impl_; }

  template <class Object>
  static std::shared_ptr<Object> create(Pool& pool, const pool::ObjectKind& kind, const std::string& name,
                                        bool overwrite, const pool::MakeObject& make) {
    return std::static_pointer_cast<Object>(
        of(pool).create_object(kind, name, overwrite, of(pool).label_of(name), make));
  }
  template <class Object>
  static std::shared_ptr<Object> open(Pool& pool, const std::string& name, const pool::ReopenObject& reopen) {
    return std::static_pointer_cast<Object>(of(pool).open_object(name, of(pool).label_of(name), reopen));
  }
};

}  // namespace holdfast
