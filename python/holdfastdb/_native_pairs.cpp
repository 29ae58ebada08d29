// _native_pairs.cpp: batches and exports of keys and values of any length. Results are Blobs, which Python turns into what the
// caller asked for.
#include <cstdint>
#include <string_view>

#include "_native.hpp"
#include "_native_interrupt.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace holdfast::python {
namespace {

using Ran = nb::typed<nb::tuple, bool, nb::any>;
using Exported = nb::typed<nb::tuple, std::size_t, std::uint64_t>;

Ran run(HeldTable& table, std::size_t size, unsigned op, std::uintptr_t ops, std::uintptr_t keys,
        std::uintptr_t key_offsets, std::uintptr_t values, std::uintptr_t value_offsets, Blobs* blobs,
        DeviceBlobs* device_blobs, std::uintptr_t statuses, std::uintptr_t found, std::uintptr_t mask, bool unique,
        bool on_device, std::uintptr_t stream, bool interruptible) {
  Interrupt interrupt;
  Batch batch;
  batch.size = size;
  batch.op = static_cast<Op>(op);
  batch.ops = at<const std::uint8_t>(ops);
  batch.keys = at<const void>(keys);
  batch.key_offsets = at<const std::uint64_t>(key_offsets);
  batch.values = at<const void>(values);
  batch.value_offsets = at<const std::uint64_t>(value_offsets);
  batch.blobs = blobs;
  batch.device_blobs = device_blobs;
  batch.statuses = at<Status>(statuses);
  batch.found = at<bool>(found);
  batch.mask = at<const std::uint8_t>(mask);
  batch.unique = unique;
  batch.on_device = on_device;
  batch.stream = at<void>(stream);
  if (interruptible) batch.stop = [&interrupt] { return interrupt(); };
  BatchResult result;
  {
    nb::gil_scoped_release released;
    result = table.run(batch);
  }
  return nb::borrow<Ran>(nb::make_tuple(result.stopped, interrupt.raised()));
}

Exported export_pairs(HeldTable& table, std::uint64_t cursor, Blobs* keys, Blobs* values, std::size_t n) {
  std::size_t count = 0;
  {
    nb::gil_scoped_release released;
    count = table.export_pairs(cursor, keys, values, n);
  }
  return nb::borrow<Exported>(nb::make_tuple(count, cursor));
}

nb::typed<nb::list, nb::any> to_list(const Blobs& blobs) {
  nb::list list;
  for (std::size_t i = 0; i < blobs.size(); ++i) {
    if (blobs.has(i)) {
      list.append(nb::bytes(blobs[i].data(), blobs[i].size()));
    } else {
      list.append(nb::none());
    }
  }
  return nb::borrow<nb::typed<nb::list, nb::any>>(list);
}

void pack(const Blobs& blobs, std::uintptr_t offsets, std::uintptr_t bytes) {
  const nb::gil_scoped_release released;
  blobs.pack(at<std::uint64_t>(offsets), at<std::byte>(bytes));
}

void present(const Blobs& blobs, std::uintptr_t found) {
  for (std::size_t i = 0; i < blobs.size(); ++i) at<bool>(found)[i] = blobs.has(i);
}

}  // namespace

void bind_pairs(nb::module_& module, nb::class_<HeldTable>& table) {
  nb::class_<Blobs>(module, "Blobs")
      .def(nb::init<>())
      .def("__len__", &Blobs::size)
      .def("total_bytes", &Blobs::total_bytes)
      .def("to_list", &to_list, "A list of bytes, and of None for rows that have none.")
      .def("pack", &pack, "offsets"_a, "bytes"_a, "Writes (n + 1,) offsets and all bytes to these addresses.")
      .def("present", &present, "found"_a, "Writes (n,) bools to this address: the row has bytes.");
  nb::class_<DeviceBlobs>(module, "DeviceBlobs")
      .def(nb::init<>())
      .def("__len__", &DeviceBlobs::size)
      .def("total_bytes", &DeviceBlobs::total_bytes)
      .def(
          "offsets_at", [](const DeviceBlobs& blobs) { return reinterpret_cast<std::uintptr_t>(blobs.offsets()); },
          "The address of (n + 1,) offsets in GPU memory.")
      .def(
          "bytes_at", [](const DeviceBlobs& blobs) { return reinterpret_cast<std::uintptr_t>(blobs.bytes()); },
          "The address of all bytes there.");
  table
      .def("run_pairs", &run, "size"_a, "op"_a, "ops"_a, "keys"_a, "key_offsets"_a, "values"_a, "value_offsets"_a,
           "blobs"_a.none(), "device_blobs"_a.none(), "statuses"_a, "found"_a, "mask"_a, "unique"_a, "on_device"_a,
           "stream"_a, "interruptible"_a,
           "Runs a batch over keys and values of any length; arrays are addresses, 0 for none. Returns (stopped, "
           "raised).")
      .def("export_pairs", &export_pairs, "cursor"_a, "keys"_a.none(), "values"_a.none(), "n"_a,
           "Returns (items, next cursor).");
}

}  // namespace holdfast::python
