// pool_impl.hpp: a pool that is open in this process, and which of its tables are.
#pragma once

#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "holdfast/table.hpp"
#include "pool/pool_file.hpp"

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
  void require_own() const;  ///< throws TableClosed in a forked child
  /// Null if it is closed; waits for it if it is closing.
  std::shared_ptr<Table::Impl> find_open(std::uint32_t number) const;
  std::vector<std::shared_ptr<Table::Impl>> open_tables() const;  ///< by number
  /// Throws ObjectNotFound, which names the objects that there are.
  const memory::ObjectEntry& require(const memory::Directory& directory, const std::string& name) const;
  void require_closed(std::uint32_t number, const std::string& name, const char* what) const;

  /// Held while objects are opened, made, dropped or copied: not by who uses an open table.
  mutable std::mutex mutex_;
  std::shared_ptr<memory::PoolFile> file_;  ///< null: closed
  struct Opened {
    std::weak_ptr<Table::Impl> table;
    std::shared_future<void> ended;  ///< its handle may be gone, and the table be closing still
  };
  std::map<std::uint32_t, Opened> tables_;
};

}  // namespace holdfast
