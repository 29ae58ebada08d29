// module.cpp: the module holdfastdb._native: functions on a pool by its path. The table is in table.cpp.
#include "native.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>

#include <optional>
#include <tuple>
#include <utility>

#include "core/both.hpp"
#include "holdfast/table.hpp"
#include "pool/pool_image.hpp"
#include "system/named_file.hpp"
#include "threads/gate.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace holdfast::python {
namespace {

Dict describe(const TableInfo& info) {
  Dict result;
  result["key_bytes"] = info.key_bytes;
  result["value_bytes"] = info.value_bytes;
  result["levels"] = info.levels;
  result["hash_locations"] = info.hash_locations;
  result["slots"] = info.slots;
  result["top_level"] = info.top_level;
  result["total_slots"] = info.total_slots;
  result["cells"] = info.cells;
  result["cell_bytes"] = info.cell_bytes;
  result["max_bytes"] = info.max_bytes;
  result["created"] = info.created;
  result["score"] = name(info.score);
  result["resizing"] = info.resizing;
  return result;
}

Dict describe(const ObjectInfo& info) {
  nb::list extents;
  for (const ExtentInfo& extent : info.extents) {
    nb::dict item;
    item["kind"] = extent.kind;
    item["offset"] = extent.offset;
    item["bytes"] = extent.bytes;
    extents.append(item);
  }
  Dict result;
  result["name"] = info.name;
  result["number"] = info.number;
  result["type"] = info.type;
  result["type_version"] = info.type_version;
  result["domain"] = name(info.domain);
  result["clean"] = info.clean;
  result["same_boot"] = info.same_boot;
  result["generation"] = info.generation;
  result["damage"] = info.damage;
  result["bytes"] = info.bytes;
  result["extents"] = extents;
  result["description"] = nb::bytes(info.description.data(), info.description.size());
  result["table"] = nb::none();
  if (info.type == "table" && info.damage.empty()) result["table"] = describe(info.table);
  return result;
}

Dict describe(const PoolInfo& info) {
  Dict result;
  result["path"] = info.path;
  result["medium"] = name(info.medium);
  result["domain"] = name(info.domain);
  result["version"] = info.version;
  result["pool_id"] = info.pool_id;
  result["created"] = info.created;
  result["file_bytes"] = info.file_bytes;
  result["free_bytes"] = info.free_bytes;
  result["generation"] = info.generation;
  result["valid_copies"] = info.valid_copies;
  result["owner"] = info.owner;
  result["objects"] = to_dicts(info.objects);
  return result;
}

Dict inspect_pool(const std::string& path) {
  PoolInfo info;
  {
    Unlocked released;
    info = inspect(path);
  }
  return describe(info);
}

Dict check_pool(const std::string& path, bool repair, const std::string& name) {
  CheckReport report;
  {
    Unlocked released;
    report = check(path, repair, name);
  }
  return to_dict(report);
}

/// A file by its device and number there.
using FileId = std::pair<std::uint64_t, std::uint64_t>;

void give_name(const std::string& temporary, const std::string& target, const std::optional<FileId>& replaced) {
  const Unlocked released;
  system::FileFacts file;
  if (replaced) std::tie(file.device, file.inode) = *replaced;
  system::give_name(temporary, target, replaced ? &file : nullptr);
}

bool is_pool(const std::string& path) {
  const Unlocked released;
  const system::File file = system::File::open(path, false);
  return file.facts().bytes != 0 && pool::looks_like_pool(file);
}

nb::typed<nb::tuple, int, nb::str> devices() {
  std::string why;
  int count = 0;
  {
    Unlocked released;
    count = cuda_devices(&why);
  }
  return nb::borrow<nb::typed<nb::tuple, int, nb::str>>(nb::make_tuple(count, why));
}

}  // namespace

Dicts to_dicts(const std::vector<ObjectInfo>& objects) {
  Dicts list;
  for (const ObjectInfo& object : objects) list.append(describe(object));
  return list;
}

Dict to_dict(const CheckReport& report) {
  const auto list_of = [](const std::vector<std::string>& texts) {
    nb::list list;
    for (const std::string& text : texts) list.append(text);
    return list;
  };
  Dict result;
  result["items"] = report.items;
  result["slots"] = report.slots;
  result["cells"] = report.cells;
  result["free_cells"] = report.free_cells;
  result["repaired_slots"] = report.repaired_slots;
  result["finished_moves"] = report.finished_moves;
  result["rehashed"] = report.rehashed;
  result["was_clean"] = report.was_clean;
  result["recovery_ms"] = report.recovery_ms;
  result["map_ms"] = report.map_ms;
  result["repairs"] = list_of(report.repairs);
  result["checked"] = list_of(report.checked);
  result["errors"] = list_of(report.errors);
  return result;
}

}  // namespace holdfast::python

NB_MODULE(_native, module) {
  using namespace holdfast::python;
  module.doc() = "The C++ library behind the package. Its interface may change; use the package's.";
  module.attr("version") = HOLDFAST_VERSION;
#if !defined(NDEBUG) && !defined(Py_LIMITED_API)
  holdfast::threads::Gate::before_waiting([] { HOLDFAST_ASSERT(PyGILState_Check() == 0); });
#endif
  // What a daemon thread holds when the program ends is never destroyed, nor what a forked child's missing threads held: no fault of
  // ours, and nothing that a user could mend. NB_DOMAIN keeps this to our modules.
  nb::set_leak_warnings(false);
  bind_errors(module);
  bind_blobs(module);
  bind_options(module);
  bind_batch(module);
  bind_table(module);
  bind_memory_table(module);
  bind_kmers(module);
  bind_pool(module);
  bind_checkpoint(module);
  bind_store(module);
  bind_store_memory(module);
  bind_cuda(module);
  module.def("inspect", &inspect_pool, "path"_a);
  module.def("check", &check_pool, "path"_a, "repair"_a, "name"_a, "Of one object, or of all if the name is empty.");
  module.def("is_pool", &is_pool, "path"_a, "Whether a regular file begins as a pool does.");
  module.def("give_name", &give_name, "temporary"_a, "target"_a, "replaced"_a.none(),
             "Renames a file, in place of the one of this device and number, or of none.");
  module.def("cuda_devices", &devices, "The number of GPUs that this build can use, and why.");
}
