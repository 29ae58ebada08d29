// table.cpp: the class holdfastdb._native.Table. Every call that may take long releases the interpreter lock.
#include "holdfast/table.hpp"
#include "native.hpp"
#include "one_key.hpp"
#include "run.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace holdfast::python {
namespace {

/// `fill` takes the table before the file has its name.
nb::typed<nb::object, HeldTable> create(const std::string& path, const CreateOptions& options, const nb::object& fill) {
  nb::object made;
  {
    const Unlocked released;
    Table::create(path, options, [&](Table& table) {
      const Locked acquired;
      made = nb::cast(HeldTable(std::move(table)));
      if (!fill.is_none()) call_back(fill, made);
    });
  }
  return nb::borrow<nb::typed<nb::object, HeldTable>>(made);
}

HeldTable open(const std::string& path, const OpenOptions& options) {
  Unlocked released;
  return HeldTable(Table::open(path, options));
}

/// Items of fixed length go to the addresses, others to the blobs.
Exported export_batch(HeldTable& table, std::uint64_t cursor, std::uintptr_t keys, std::uintptr_t values,
                      std::uintptr_t scores, std::size_t n, HeldBlobs* key_blobs, HeldBlobs* value_blobs) {
  return exported(cursor, [&](std::uint64_t& at_item) {
    if (key_blobs != nullptr) return table.export_pairs(at_item, key_blobs, value_blobs, n);
    return table.export_batch(at_item, at<void>(keys), at<void>(values), n, at<std::uint64_t>(scores));
  });
}

Dict stats(const HeldTable& table) {
  Stats s;
  {
    Unlocked released;
    s = table.stats();
  }
  Dict result;
  result["path"] = s.place.path;
  result["object"] = s.place.object;
  result["device"] = s.machine.device;
  result["device_reason"] = s.machine.reason;
  result["medium"] = name(s.place.medium);
  result["domain"] = name(s.place.domain);
  result["score"] = name(s.space.score);
  result["size"] = s.space.size;
  result["slots"] = s.space.slots;
  result["cells"] = s.space.cells;
  result["free_cells"] = s.space.free_cells;
  result["moves"] = s.work.moves;
  result["resizes"] = s.growth.resizes;
  result["heap_growths"] = s.growth.heap_growths;
  result["heap_bytes"] = s.pairs.heap_bytes;
  result["slab_bytes"] = s.pairs.slab_bytes;
  result["live_bytes"] = s.pairs.live_bytes;
  result["rounding_bytes"] = s.pairs.rounding_bytes;
  result["claim_misses"] = s.work.claim_misses;
  result["retries"] = s.work.retries;
  result["unordered_rows"] = s.search.unordered_rows;
  result["cluster_rows"] = s.search.cluster_rows;
  result["gather_share"] = s.search.gather_share;
  result["calibration_ms"] = s.search.calibration_ms;
  result["cached_bytes"] = s.bucket_cache.bytes;
  result["cached_ratio"] = s.bucket_cache.ratio;
  result["bucket_hits"] = s.bucket_cache.hits;
  result["bucket_loads"] = s.bucket_cache.loads;
  result["cached_value_bytes"] = s.value_cache.bytes;
  result["cached_value_ratio"] = s.value_cache.ratio;
  result["cached_values"] = s.value_cache.values;
  result["cache_hits"] = s.value_cache.hits;
  result["directory_hits"] = s.value_cache.directory_hits;
  result["cache_loads"] = s.value_cache.loads;
  result["cache_policy"] = s.value_cache.policy;
  result["map_ms"] = s.recovery.map_ms;
  result["recovery_ms"] = s.recovery.recovery_ms;
  result["last_resize_ms"] = s.growth.last_resize_ms;
  result["last_resize_alloc_ms"] = s.growth.last_resize_alloc_ms;
  result["repaired_slots"] = s.recovery.repaired_slots;
  result["finished_moves"] = s.recovery.finished_moves;
  result["rehashed"] = s.recovery.rehashed;
  result["left_out"] = s.recovery.left_out;
  result["was_clean"] = s.recovery.was_clean;
  result["flush_instruction"] = s.machine.flush_instruction;
  result["tile"] = s.machine.tile;
  result["threads"] = s.machine.threads;
  return result;
}

Dict snapshot(HeldTable& table, const std::string& path, bool overwrite, unsigned threads, const nb::object& progress) {
  const SnapshotOptions options = snapshot_options(overwrite, threads, true, progress);
  SnapshotResult taken;
  {
    Unlocked released;
    taken = table.snapshot(path, options);
  }
  return to_dict(taken);
}

Dict check_table(HeldTable& table) {
  CheckReport report;
  {
    Unlocked released;
    report = table.check();
  }
  return to_dict(report);
}

}  // namespace

void bind_table(nb::module_& module) {
  const auto unlocked = nb::call_guard<Unlocked>();
  module.attr("table_name") = kTableName;
  module.attr("default_capacity") = CreateOptions{}.shape.capacity;
  nb::class_<HeldTable> table(module, "Table");
  bind_run(table);
  bind_one_key(table);
  table.def_static("create", &create, "path"_a, "options"_a, "fill"_a.none())
      .def_static("open", &open, "path"_a, "options"_a)
      .def("export_batch", &export_batch, "cursor"_a, "keys"_a, "values"_a, "scores"_a, "n"_a,
           "key_blobs"_a.none() = nb::none(), "value_blobs"_a.none() = nb::none(),
           "Returns (items written, next cursor).")
      .def("end_export", &Table::end_export, "cursor"_a, unlocked)
      .def("size", &Table::size, unlocked)
      .def("slots", &Table::slots, unlocked)
      .def("load_factor", &Table::load_factor, unlocked)
      .def("key_bytes", &Table::key_bytes)
      .def("value_bytes", &Table::value_bytes)
      .def("score", [](const HeldTable& table) { return std::string(name(table.score())); })
      .def("step", &Table::step)
      .def("set_step", &Table::set_step, "step"_a, unlocked)
      .def("description",
           [](const HeldTable& table) {
             std::string text;
             {
               const Unlocked released;
               text = table.description();
             }
             return nb::bytes(text.data(), text.size());
           })
      .def(
          "describe",
          [](HeldTable& table, const nb::bytes& text) {
            const std::string_view given(text.c_str(), text.size());
            const Unlocked released;
            table.describe(given);
          },
          "text"_a)
      .def("is_open", &Table::is_open, unlocked)
      .def("on_gpu", &Table::on_gpu, unlocked)
      .def("clear", &Table::clear, unlocked)
      .def("reserve", &Table::reserve, "items"_a, unlocked)
      .def("load_cache", &Table::load_cache, unlocked)
      .def("snapshot", &snapshot, "path"_a, "overwrite"_a, "threads"_a, "progress"_a.none(),
           "Copies the table into a new pool file.")
      .def("sync", &Table::sync, unlocked)
      .def("close", &Table::close, unlocked)
      .def("check", &check_table)
      .def("stats", &stats);
  bind_selection(table);
}

}  // namespace holdfast::python
