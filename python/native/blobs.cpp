// blobs.cpp: what batches and exports give of keys and values of any length, which Python converts to what the caller
// asked for: the classes holdfastdb._native.Blobs and DeviceBlobs.
#include <cstdint>

#include "native.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace holdfast::python {
namespace {

nb::typed<nb::list, nb::any> to_list(const HeldBlobs& blobs) {
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

void pack(const HeldBlobs& blobs, std::uintptr_t offsets, std::uintptr_t bytes) {
  const Unlocked released;
  blobs.pack(at<std::uint64_t>(offsets), at<std::byte>(bytes));
}

void present(const HeldBlobs& blobs, std::uintptr_t found) {
  for (std::size_t i = 0; i < blobs.size(); ++i) at<bool>(found)[i] = blobs.has(i);
}

}  // namespace

void bind_blobs(nb::module_& module) {
  nb::class_<HeldBlobs>(module, "Blobs")
      .def(nb::init<>())
      .def("__len__", &Blobs::size)
      .def("total_bytes", &Blobs::total_bytes)
      .def("to_list", &to_list, "A list of bytes, and of None for rows that have none.")
      .def("pack", &pack, "offsets"_a, "bytes"_a, "Writes (n + 1,) offsets and all bytes to these addresses.")
      .def("present", &present, "found"_a, "Writes (n,) bools to this address: the row has bytes.");
  nb::class_<HeldDeviceBlobs>(module, "DeviceBlobs")
      .def(nb::init<>())
      .def("__len__", &DeviceBlobs::size)
      .def("total_bytes", &DeviceBlobs::total_bytes)
      .def(
          "offsets_at", [](const HeldDeviceBlobs& blobs) { return reinterpret_cast<std::uintptr_t>(blobs.offsets()); },
          "The address of (n + 1,) offsets in GPU memory.")
      .def(
          "bytes_at", [](const HeldDeviceBlobs& blobs) { return reinterpret_cast<std::uintptr_t>(blobs.bytes()); },
          "The address of all bytes there.");
}

}  // namespace holdfast::python
