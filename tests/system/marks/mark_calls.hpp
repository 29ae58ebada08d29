// mark_calls.hpp: every call that may change an object, and those that look as if they might, on objects of each kind.
#pragma once

#include <functional>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "holdfast/checkpoint.hpp"
#include "holdfast/store.hpp"
#include "holdfast/structures.hpp"
#include "holdfast/table.hpp"
#include "holdfast/transaction.hpp"

namespace holdfast::proof {

/// A pool `a.hold` that is open, and its objects that the calls are about.
struct MarkScene {
  std::string folder;
  std::optional<Pool> pool = {};
  std::optional<Table> table = {};
  std::optional<Region> region = {};
  std::optional<Log> log = {}, undo = {};
  std::optional<Checkpoint> checkpoint = {};
  std::optional<HashTable> hashed = {};
  std::optional<Store> store = {};
  std::string path() const { return folder + "/a.hold"; }
  void close();
};

struct MarkCall {
  const char*
      name;  ///< the method, and what else tells it from others: "run insert"; of another type: "Region::create"
  std::function<void(MarkScene&)> act;
};

/// A kind of object, and what it may be asked.
struct MarkKind {
  std::string name;
  std::string type = {};                      ///< the public class
  std::function<void(Pool&)> make = {};       ///< with some content, closed
  std::function<void(MarkScene&)> open = {};  ///< all of them
  std::function<void(MarkScene&)> sync = {};  ///< so that they are clean, and open
  std::vector<MarkCall> changes = {}, reads = {};
  std::vector<std::string> objects = {};  ///< names of those that change
};
void PrintTo(const MarkKind& kind, std::ostream* out);  ///< its name, for messages of tests

/// Tables of each kind, a region, logs of both kinds, a transaction.
std::vector<MarkKind> mark_kinds();

/// Changes of the pool itself, which has tables "old" and "other", and of a checkpoint, which has no mark to clear.
std::vector<MarkCall> pool_changes();
std::vector<MarkCall> pool_reads();
MarkKind checkpoint_kind();

MarkKind store_kind();

/// "Table::run", of a kind whose class is `type`.
std::string method_of(const std::string& type, const MarkCall& call);

}  // namespace holdfast::proof
