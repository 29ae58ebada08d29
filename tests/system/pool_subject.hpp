// pool_subject.hpp: a pool of several tables under crashes and faults: they are made, renamed, replaced and dropped, each whole.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "items.hpp"
#include "proof/subject.hpp"

namespace holdfast::proof {

/// The tables of a pool, by name.
using Objects = std::map<std::string, PoolState>;

/// An open pool, and those of its tables that are.
struct PoolScene {
  std::optional<Pool> pool = {};
  std::map<std::string, Table> tables = {};
  Table& table(const std::string& name);
};

struct PoolStep {
  std::function<Objects(Objects)> intended;  ///< what there is afterwards
  std::function<void(PoolScene&)> act;
};

PoolStep add(const std::string& name, bool overwrite = false);  ///< and closes it
PoolStep put_in(const std::string& name, std::uint64_t first, std::uint64_t last, std::uint64_t version);
PoolStep sync_one(const std::string& name);
PoolStep close_one(const std::string& name);
PoolStep rename(const std::string& name, const std::string& to, bool overwrite = false);  ///< of one that is there
PoolStep drop(const std::string& name);
PoolStep close_all();

/// The pool has the tables `one`, of ten items, and `two`, of three.
class PoolSubject : public Subject {
 public:
  explicit PoolSubject(std::vector<PoolStep> steps) : steps_(std::move(steps)) {}

  void prepare(const std::string& folder) override;
  void run(const std::string& folder, const std::function<void()>& said) override;
  std::string check(const std::string& folder, unsigned steps, Crash crash) override;
  std::string go_on(const std::string& folder) override;

 private:
  void probe(PoolScene& scene);
  std::string check_table(Pool& pool, const std::string& name, const Objects& before, const Objects& after,
                          Crash crash);

  const std::vector<PoolStep> steps_;
  Objects first_;
  std::vector<Objects> objects_;   ///< after so many steps of the run
  std::vector<Objects> intended_;  ///< after one more, if it goes well
};

}  // namespace holdfast::proof
