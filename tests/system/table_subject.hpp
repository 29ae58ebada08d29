// table_subject.hpp: tables under crashes and faults: an operation as a list of steps, and what each makes of the pools in a folder.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "holdfast/table.hpp"
#include "items.hpp"
#include "proof/subject.hpp"

namespace holdfast::proof {

/// The pools in a folder, by name.
using World = std::map<std::string, PoolState>;

/// A folder, and the table that is open in it.
struct Scene {
  std::string folder;
  std::optional<Table> table = {};
  std::string name = {};  ///< of the table's file
  std::string path(const std::string& file) const { return folder + "/" + file; }
};

struct Step {
  std::string name;
  /// What there is afterwards if all goes well.
  std::function<World(const World&)> intended;
  /// Does it, and returns what there is afterwards: rows that said `no_space` are as before.
  std::function<World(Scene&, const World&)> act;
  bool makes_file = false;  ///< whole, or not at all: an error leaves everything as it was
};

Step create(const std::string& name, const Tables& tables, bool overwrite = false);
Step open(const std::string& name);
/// Keys first to last - 1 get values of this version.
Step put(std::uint64_t first, std::uint64_t last, std::uint64_t version);
/// The same by changes of this step, in a table with scores of steps.
Step put_at(std::uint64_t first, std::uint64_t last, std::uint64_t step);
Step describe(const std::string& text);
Step erase(std::uint64_t first, std::uint64_t last);
Step clear();
Step reserve(std::uint64_t items);
Step sync();
Step close();
Step snapshot(const std::string& target, bool overwrite = false);
Step verify();                              ///< Table::check
Step verify_file(const std::string& name);  ///< holdfast::check of a file that nobody has open
// The process is killed; of another kind of step than the others, only to begin with.
Step die();
Step die_growing(std::uint64_t first);  ///< puts keys from `first` on until levels grow, and dies in the middle of that

class TableSubject : public Subject {
 public:
  /// `before`: the steps that make what the operation begins with; the last of them closes.
  TableSubject(Tables tables, std::vector<Step> before, std::vector<Step> steps);

  void prepare(const std::string& folder) override;
  void run(const std::string& folder, const std::function<void()>& said) override;
  std::string check(const std::string& folder, unsigned steps, Crash crash) override;
  std::string go_on(const std::string& folder) override;

 private:
  void probe(Scene& scene, const Step& failed);
  std::string check_pool(const std::string& path, const PoolState* before, const PoolState* after, Crash crash);

  const Tables tables_;
  const std::vector<Step> before_, steps_;
  World first_;
  std::vector<World> worlds_;    ///< after so many steps of the run
  std::vector<World> intended_;  ///< after one more, if it goes well
  std::set<std::string> names_;  ///< of all pools that there may be
};

}  // namespace holdfast::proof
