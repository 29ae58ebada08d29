// _native.hpp: what the parts of the Python module share. It is a thin binding: arrays come as addresses and sizes from
// the Python layer, which owns their lifetimes and has checked them.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <cstdint>

#include "holdfast/pool.hpp"
#include "holdfast/table.hpp"

namespace holdfast::python {

/// Adds `use_errors`, and translates C++ errors into the Python classes that it was given.
void bind_errors(nanobind::module_& module);

/// Adds the class `Table`.
void bind_table(nanobind::module_& module);

/// Adds the class `Blobs`, and to `Table` what runs over keys and values of any length.
void bind_pairs(nanobind::module_& module, nanobind::class_<Table>& table);

/// Adds the operations on selected items to it.
void bind_selection(nanobind::class_<Table>& table);

/// Adds the class `MemoryTable`.
void bind_memory_table(nanobind::module_& module);

/// Adds `order_streams` and `pointer_device`, which need CUDA and say so where the build has none.
void bind_cuda(nanobind::module_& module);

/// What lies at an address that Python gave.
template <class T>
T* at(std::uintptr_t address) {
  return reinterpret_cast<T*>(address);
}

using Dict = nanobind::typed<nanobind::dict, nanobind::str, nanobind::any>;

/// The report as a dict with the names of the C++ members.
Dict to_dict(const CheckReport& report);

}  // namespace holdfast::python
