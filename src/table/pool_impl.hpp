// pool_impl.hpp: a pool that is open in this process, and which of its tables are.
#pragma once

#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/gate.hpp"
#include "holdfast/table.hpp"
#include "pool/medium/fork.hpp"
#include "pool/pool_file.hpp"
#include "table/objects/open_object.hpp"

namespace holdfast {

class Pool::Impl : public std::enable_shared_from_this<Pool::Impl> {
 public:
  Impl(std::shared_ptr<memory::PoolFile> file, const PoolOptions& options);

  const std::string path;
  const PoolOptions options;

  /// `label` is how messages name the table. `replace`: it may take the place of an object that nobody has open.
  std::shared_ptr<Table::Impl> create_table(const std::string& name, const CreateOptions& options,
                                            const std::string& label);
  std::shared_ptr<Table::Impl> open_table(const std::string& name, const OpenOptions& options,
                                          const std::string& label);
  /// The same for an object of another type.
  std::shared_ptr<table::OpenObject> create_object(const std::string& name, const memory::Kind& kind, bool overwrite,
                                                   const table::MakeObject& make);
  std::shared_ptr<table::OpenObject> open_object(const std::string& name, const table::ReopenObject& open);
  void rename(const std::string& name, const std::string& to, bool overwrite);
  void drop(const std::string& name);
  SnapshotResult snapshot(const std::string& path, const SnapshotOptions& options);
  CheckReport check();
  CheckReport check(const std::string& name);
  void close();
  bool is_open() const;
  std::shared_ptr<memory::PoolFile> file() const;  ///< throws TableClosed

  std::string label_of(const std::string& name) const { return path + ":" + name; }

 private:
  bool is_own() const { return process_.is_this(); }
  void require_own() const;  ///< throws TableClosed in a forked child, where somebody may have held a lock at the fork
  /// Null if it is closed; waits for it if it is closing.
  std::shared_ptr<Table::Impl> find_open(std::uint32_t number) const;
  std::vector<std::shared_ptr<Table::Impl>> open_tables() const;  ///< by number
  std::vector<std::shared_ptr<table::OpenObject>> open_objects() const;
  bool is_object_open(std::uint32_t number) const;
  /// Throws ObjectNotFound, which names the objects that there are.
  const memory::ObjectEntry& require(const memory::Directory& directory, const std::string& name) const;
  CheckReport check_object(const std::shared_ptr<memory::PoolFile>& pool, const memory::Directory& directory,
                           const memory::ObjectEntry& entry, const std::string& label) const;
  CheckReport check_table(const std::shared_ptr<memory::PoolFile>& pool, const memory::ObjectEntry& entry,
                          const std::string& label) const;
  void refuse_own_sessions() const;  ///< throws InvalidArgument where this thread began one that is open
  void require_closed(std::uint32_t number, const std::string& name, const char* what) const;
  /// The number of the object that one of kind `type` and of this name replaces; 0: none. Throws ObjectInUse, and PoolMismatch where
  /// it is of another kind.
  std::uint32_t replaced_by(const memory::Directory& directory, const std::string& name, std::uint32_t type) const;

  /// The pool's gate. Throws TableClosed in a forked child, InvalidArgument where this thread would wait for itself.
  std::unique_lock<Gate> pass() const;

  mutable Gate gate_{Gate::Rank::pool, this, nullptr};
  const memory::OwningProcess process_;
  mutable std::mutex file_mutex_;           ///< guards what follows, for a moment: who looks at a pool passes no gate
  std::shared_ptr<memory::PoolFile> file_;  ///< null: closed
  struct Opened {
    std::weak_ptr<Table::Impl> table;
    std::shared_future<void> ended;  ///< its handle may be gone, and the table be closing still
  };
  std::map<std::uint32_t, Opened> tables_;
  std::map<std::uint32_t, std::weak_ptr<table::OpenObject>> objects_;  ///< those that are no tables
};

}  // namespace holdfast
