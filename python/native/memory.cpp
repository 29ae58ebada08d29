// memory.cpp: the class holdfastdb._native.MemoryTable. Every call that may take long releases the interpreter lock.
#include "holdfast/memory_table.hpp"
#include "one_key.hpp"
#include "run.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace holdfast::python {
namespace {

HeldMemoryTable create(const MemoryOptions& options) {
  const Unlocked released;
  return HeldMemoryTable(MemoryTable(options));
}

Exported export_batch(HeldMemoryTable& table, std::uint64_t cursor, std::uintptr_t keys, std::uintptr_t values,
                      std::size_t n) {
  return exported(
      cursor, [&](std::uint64_t& at_item) { return table.export_batch(at_item, at<void>(keys), at<void>(values), n); });
}

Dict stats(const HeldMemoryTable& table) {
  MemoryStats s;
  {
    const Unlocked released;
    s = table.stats();
  }
  Dict result;
  result["size"] = s.space.size;
  result["slots"] = s.space.slots;
  result["bytes"] = s.space.bytes;
  result["growths"] = s.work.growths;
  result["operations"] = s.work.operations;
  result["lines"] = s.work.lines;
  result["threads"] = s.machine.threads;
  result["partitions"] = s.partitions.count;
  result["refused"] = s.partitions.refused;
  result["nodes"] = s.machine.nodes;
  result["interleaved"] = s.space.interleaved;
  result["tile"] = s.machine.tile;
  return result;
}

}  // namespace

void bind_memory_table(nb::module_& module) {
  const auto unlocked = nb::call_guard<Unlocked>();
  nb::class_<MemoryOptions>(module, "MemoryOptions")
      .def(nb::init<>())
      .def_rw("key_bytes", &MemoryOptions::key_bytes)
      .def_rw("value_bytes", &MemoryOptions::value_bytes)
      .def_rw("capacity", &MemoryOptions::capacity)
      .def_rw("threads", &MemoryOptions::threads)
      .def_rw("grows", &MemoryOptions::grows)
      .def_rw("huge_pages", &MemoryOptions::huge_pages)
      .def_rw("interleave", &MemoryOptions::interleave)
      .def_rw("seed", &MemoryOptions::seed)
      .def_rw("partitions", &MemoryOptions::partitions);
  nb::class_<HeldMemoryTable> table(module, "MemoryTable");
  bind_run(table);
  bind_one_key(table);
  table.def_static("create", &create, "options"_a)
      .def("export_batch", &export_batch, "cursor"_a, "keys"_a, "values"_a, "n"_a,
           "Returns (items written, next cursor).")
      .def("size", &MemoryTable::size, unlocked)
      .def("slots", &MemoryTable::slots, unlocked)
      .def("key_bytes", &MemoryTable::key_bytes)
      .def("value_bytes", &MemoryTable::value_bytes)
      .def("clear", &MemoryTable::clear, unlocked)
      .def("reserve", &MemoryTable::reserve, "items"_a, unlocked)
      .def("stats", &stats);
}

}  // namespace holdfast::python
