// one_key.hpp: one key a call, given as a whole number or bytes, without arrays. What else a key or value may be is for the
// Python layer: then these answer NotImplemented, and nothing has been done.
#pragma once

#include <cstring>
#include <optional>
#include <string_view>
#include <type_traits>

#include "holdfast/table.hpp"
#include "native.hpp"

namespace holdfast::python {

inline std::string_view bytes_in(nanobind::handle object) {
  return {PyBytes_AsString(object.ptr()), static_cast<std::size_t>(PyBytes_Size(object.ptr()))};
}

/// A batch of one row, whose key and value are Python objects that the caller holds.
class OneRow {
 public:
  OneRow(Op op, std::uint32_t key_bytes, std::uint32_t value_bytes) : key_bytes_(key_bytes), value_bytes_(value_bytes) {
    batch.op = op;
    batch.size = 1;
    batch.statuses = &status;
    if (any_length()) batch.variable.emplace().key_offsets = key_offsets_;
  }
  OneRow(const OneRow&) = delete;
  OneRow& operator=(const OneRow&) = delete;

  bool any_length() const { return key_bytes_ == kVariableBytes; }

  /// False if the key is for the Python layer.
  bool take_key(nanobind::handle key) {
    if (PyBytes_CheckExact(key.ptr())) {
      const std::string_view bytes = bytes_in(key);
      if (any_length() ? bytes.size() >= kLong : bytes.size() != key_bytes_) return false;
      batch.keys = bytes.data();
      key_offsets_[1] = bytes.size();
      return true;
    }
    if (key_bytes_ != sizeof number_ || !PyLong_CheckExact(key.ptr())) return false;
    number_ = PyLong_AsUnsignedLongLong(key.ptr());
    if (number_ == ~std::uint64_t{0} && PyErr_Occurred() != nullptr) return PyErr_Clear(), false;
    batch.keys = &number_;
    return true;
  }
  bool take_value(nanobind::handle value) {
    if (!PyBytes_CheckExact(value.ptr())) return false;
    const std::string_view bytes = bytes_in(value);
    if (any_length() ? bytes.size() >= kLong : bytes.size() != value_bytes_ || value_bytes_ == 0) return false;
    if (any_length()) batch.variable->value_offsets = value_offsets_;
    batch.values = bytes.data();
    value_offsets_[1] = bytes.size();
    return true;
  }

  /// A durable table is tried first with the interpreter lock, since that never waits for a thread that may need it.
  template <class AnyTable>
  void run(AnyTable& table) {
    if constexpr (std::is_base_of_v<Table, AnyTable>) {
      BatchResult result;
      if (table.try_run(batch, result) == 1) return;
    }
    const Unlocked released;
    table.run(batch);
  }

  Batch batch;
  Status status = Status::not_run;

 private:
  static constexpr std::size_t kLong = 1 << 16;  // refused in the words of the Python layer

  const std::uint32_t key_bytes_, value_bytes_;
  std::uint64_t number_ = 0;
  std::uint64_t key_offsets_[2] = {}, value_offsets_[2] = {};
};

/// The value's bytes, or None.
template <class AnyTable>
nanobind::object find_one(AnyTable& table, nanobind::handle key) {
  OneRow row(Op::find, table.key_bytes(), table.value_bytes());
  if (!row.take_key(key)) return nanobind::borrow(Py_NotImplemented);
  thread_local Blobs blobs;  // no allocation from the second call on
  nanobind::object value;
  if (row.any_length()) {
    row.batch.variable->blobs = &blobs;
  } else {
    value = nanobind::steal(PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(table.value_bytes())));
    if (!value.is_valid()) throw nanobind::python_error();
    row.batch.out = PyBytes_AsString(value.ptr());
  }
  row.run(table);
  if (row.status != Status::found) return nanobind::none();
  if (!row.any_length()) return value;
  return nanobind::bytes(blobs[0].data(), blobs[0].size());
}

/// Runs an operation without a value, or with one. The status's code.
template <class AnyTable>
nanobind::object run_one(AnyTable& table, Op op, nanobind::handle key, std::optional<nanobind::handle> value) {
  OneRow row(op, table.key_bytes(), table.value_bytes());
  if (!row.take_key(key) || (value && !row.take_value(*value))) return nanobind::borrow(Py_NotImplemented);
  row.run(table);
  return nanobind::int_(static_cast<int>(row.status));
}

/// Adds the methods `find_one`, `has_one`, `put_one` and `erase_one`.
template <class AnyTable>
void bind_one_key(nanobind::class_<AnyTable>& table) {
  using namespace nanobind::literals;
  table.def("find_one", &find_one<AnyTable>, "key"_a.none(), "Returns the value, None, or NotImplemented.")
      .def(
          "has_one",
          [](AnyTable& self, nanobind::handle key) -> nanobind::object {
            const nanobind::object status = run_one(self, Op::contains, key, {});
            if (status.ptr() == Py_NotImplemented) return status;
            return nanobind::bool_(nanobind::cast<int>(status) == static_cast<int>(Status::found));
          },
          "key"_a.none(), "Returns whether the key is there, or NotImplemented.")
      .def(
          "put_one",
          [](AnyTable& self, nanobind::handle key, nanobind::handle value) {
            return run_one(self, Op::insert_or_assign, key, value);
          },
          "key"_a.none(), "value"_a.none(), "Inserts or assigns. Returns the status's code, or NotImplemented.")
      .def(
          "erase_one", [](AnyTable& self, nanobind::handle key) { return run_one(self, Op::erase, key, {}); },
          "key"_a.none(), "Returns the status's code, or NotImplemented.");
}

}  // namespace holdfast::python
