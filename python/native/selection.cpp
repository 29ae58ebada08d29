// selection.cpp: erase_if, size_if and export_if of holdfastdb._native.Table.
#include <nanobind/stl/optional.h>

#include <optional>

#include "holdfast/table.hpp"
#include "native.hpp"
#include "run.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace holdfast::python {
namespace {

using Key = std::optional<nb::bytes>;

nb::object view_of(const void* at, std::size_t bytes, int flags) {
  static char none[1];
  char* const from = bytes == 0 ? none : static_cast<char*>(const_cast<void*>(at));
  PyObject* const view = PyMemoryView_FromMemory(from, static_cast<Py_ssize_t>(bytes), flags);
  if (view == nullptr) throw nb::python_error();
  return nb::steal(view);
}

using Range = nb::typed<nb::tuple, std::uint64_t, std::uint64_t>;

/// The selection that Python means. `where(keys, values, keep)` gets the bytes of some items, and writes a byte each.
Selection select(const HeldTable& table, const Key& first, const Key& last, const Range& score,
                 const nb::object& where) {
  Selection selection;
  if (first) selection.first = first->c_str();
  if (last) selection.last = last->c_str();
  selection.least_score = nb::cast<std::uint64_t>(score[0]);
  selection.greatest_score = nb::cast<std::uint64_t>(score[1]);
  selection.progress = [] {
    const Locked acquired;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
  };
  if (where.is_none()) return selection;
  selection.where_all = [&where, key_bytes = table.key_bytes(), value_bytes = table.value_bytes()](
                            const void* keys, const void* values, std::size_t n, bool* keep) {
    const Locked acquired;
    call_back(where, view_of(keys, n * key_bytes, PyBUF_READ), view_of(values, n * value_bytes, PyBUF_READ),
              view_of(keep, n, PyBUF_WRITE));
  };
  return selection;
}

std::uint64_t erase_if(HeldTable& table, const Key& first, const Key& last, const Range& score,
                       const nb::object& where) {
  const Selection selection = select(table, first, last, score, where);
  const Unlocked released;
  return table.erase_if(selection);
}

std::uint64_t size_if(HeldTable& table, const Key& first, const Key& last, const Range& score,
                      const nb::object& where) {
  const Selection selection = select(table, first, last, score, where);
  const Unlocked released;
  return table.size_if(selection);
}

Exported export_if(HeldTable& table, const Key& first, const Key& last, const Range& score, const nb::object& where,
                   std::uint64_t cursor, std::uintptr_t keys, std::uintptr_t values, std::uintptr_t scores,
                   std::size_t n) {
  const Selection selection = select(table, first, last, score, where);
  return exported(cursor, [&](std::uint64_t& at_item) {
    return table.export_if(selection, at_item, at<void>(keys), at<void>(values), n, at<std::uint64_t>(scores));
  });
}

}  // namespace

void bind_selection(nb::class_<HeldTable>& table) {
  table
      .def("erase_if", &erase_if, "first"_a.none(), "last"_a.none(), "score"_a, "where"_a.none(),
           "Erases the items with keys from first to last that `where(keys, values, keep)` leaves in.")
      .def("size_if", &size_if, "first"_a.none(), "last"_a.none(), "score"_a, "where"_a.none())
      .def("export_if", &export_if, "first"_a.none(), "last"_a.none(), "score"_a, "where"_a.none(), "cursor"_a,
           "keys"_a, "values"_a, "scores"_a, "n"_a, "Returns (items written, next cursor).");
}

}  // namespace holdfast::python
