// pool.cpp: the class holdfastdb._native.Pool. Every call that waits for others or for the disk releases the
// interpreter lock: a snapshot holds the pool's own lock while it asks Python for its progress.
#include "holdfast/pool.hpp"
#include "holdfast/table.hpp"
#include "native.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace holdfast::python {
namespace {

HeldPool create(const std::string& path, bool overwrite) {
  Unlocked released;
  return HeldPool(Pool::create(path, overwrite));
}

HeldPool open(const std::string& path, bool read_only, bool salvage) {
  Unlocked released;
  return HeldPool(Pool::open(path, {.read_only = read_only, .salvage = salvage}));
}

HeldTable create_table(HeldPool& pool, const std::string& name, const CreateOptions& options) {
  Unlocked released;
  return HeldTable(pool.create_table(name, options));
}

HeldTable table(HeldPool& pool, const std::string& name, const OpenOptions& options) {
  Unlocked released;
  return HeldTable(pool.table(name, options));
}

Dicts objects(const HeldPool& pool) {
  std::vector<ObjectInfo> found;
  {
    Unlocked released;
    found = pool.objects();
  }
  return to_dicts(found);
}

Dict snapshot(HeldPool& pool, const std::string& path, bool overwrite, unsigned threads, bool wait_for_sessions,
              const nb::object& progress) {
  const SnapshotOptions options = snapshot_options(overwrite, threads, wait_for_sessions, progress);
  SnapshotResult taken;
  {
    Unlocked released;
    taken = pool.snapshot(path, options);
  }
  return to_dict(taken);
}

Dict check_objects(HeldPool& pool, const std::string& name) {
  CheckReport report;
  {
    Unlocked released;
    report = name.empty() ? pool.check() : pool.check(name);
  }
  return to_dict(report);
}

}  // namespace

Dict to_dict(const SnapshotResult& taken) {
  Dict result;
  result["items"] = taken.items;
  result["damaged"] = taken.damaged;
  result["bytes"] = taken.bytes;
  result["written"] = taken.written;
  result["held_ms"] = taken.held_ms;
  result["total_ms"] = taken.total_ms;
  nb::list left_out;
  for (const std::string& name : taken.left_out) left_out.append(name);
  result["left_out"] = nb::tuple(left_out);
  return result;
}

SnapshotOptions snapshot_options(bool overwrite, unsigned threads, bool wait_for_sessions, const nb::object& progress) {
  SnapshotOptions options;
  options.overwrite = overwrite;
  options.threads = threads;
  options.wait_for_sessions = wait_for_sessions;
  options.progress = [progress = nb::handle(progress)](std::uint64_t done,
                                                       std::uint64_t total) {  // the caller holds it
    const Locked acquired;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
    if (!progress.is_none()) call_back(progress, done, total);
  };
  return options;
}

void bind_pool(nb::module_& module) {
  const auto unlocked = nb::call_guard<Unlocked>();
  nb::class_<HeldPool>(module, "Pool")
      .def_static("create", &create, "path"_a, "overwrite"_a)
      .def_static("open", &open, "path"_a, "read_only"_a, "salvage"_a)
      .def("create_table", &create_table, "name"_a, "options"_a)
      .def("table", &table, "name"_a, "options"_a)
      .def("objects", &objects)
      .def("rename", &Pool::rename, "name"_a, "to"_a, "overwrite"_a, unlocked)
      .def("drop", &Pool::drop, "name"_a, unlocked)
      .def("snapshot", &snapshot, "path"_a, "overwrite"_a, "threads"_a, "wait_for_sessions"_a, "progress"_a.none(),
           "Copies all objects into a new pool file.")
      .def("check", &check_objects, "name"_a, "Of one object, or of all if the name is empty.")
      .def("close", &Pool::close, unlocked)
      .def("is_open", &Pool::is_open, unlocked);
}

}  // namespace holdfast::python
