// batch.cpp: the record holdfastdb._native.Batch, with the members and the defaults of include/holdfast/batch.hpp. Arrays are
// addresses, 0 for none; Python holds them, and the blobs, while the batch runs.
#include "holdfast/batch.hpp"

#include "native.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace holdfast::python {
namespace {

/// Adds a member that is an array.
template <class T>
void bind_array(nb::class_<Batch>& batch, const char* name, T* Batch::*array) {
  batch.def_prop_rw(
      name, [array](const Batch& of) { return reinterpret_cast<std::uintptr_t>(of.*array); },
      [array](Batch& of, std::uintptr_t address) { of.*array = at<T>(address); });
}

}  // namespace

void bind_batch(nb::module_& module) {
  nb::class_<Batch> batch(module, "Batch");
  batch.def(
      "__init__",
      [](Batch* made, unsigned op, std::size_t size, std::uintptr_t keys, std::uintptr_t statuses) {
        new (made) Batch{
            .op = static_cast<Op>(op), .size = size, .keys = at<const void>(keys), .statuses = at<Status>(statuses)};
      },
      "op"_a, "size"_a, "keys"_a, "statuses"_a);
  bind_array(batch, "values", &Batch::values);
  bind_array(batch, "out", &Batch::out);
  bind_array(batch, "found", &Batch::found);
  bind_array(batch, "scores", &Batch::scores);
  bind_array(batch, "mask", &Batch::mask);
  bind_array(batch, "ops", &Batch::ops);
  batch.def_rw("unique", &Batch::unique)
      .def(
          "set_column",
          [](Batch& of, std::uint32_t begin, std::uint32_t bytes) {
            of.column = Column{begin, bytes};
          },
          "begin"_a, "bytes"_a)
      .def(
          "set_accumulate",
          [](Batch& of, unsigned combine, unsigned element, double scale) {
            of.accumulate = Accumulate{static_cast<Combine>(combine), static_cast<Element>(element), scale};
          },
          "combine"_a, "element"_a, "scale"_a)
      .def(
          "set_variable",
          [](Batch& of, std::uintptr_t key_offsets, std::uintptr_t value_offsets, HeldBlobs* blobs,
             HeldDeviceBlobs* device_blobs) {
            of.variable = VariableLength{at<const std::uint64_t>(key_offsets), at<const std::uint64_t>(value_offsets),
                                         blobs, device_blobs};
          },
          "key_offsets"_a, "value_offsets"_a, "blobs"_a.none(), "device_blobs"_a.none())
      .def(
          "set_device", [](Batch& of, std::uintptr_t stream) { of.device = Device{at<void>(stream)}; }, "stream"_a);
}

}  // namespace holdfast::python
