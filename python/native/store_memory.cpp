// store_memory.cpp: the classes holdfastdb._native.StoreReservation, StoreLease and StoreTransfer. Arrays come as addresses.
#include "holdfast/store_memory.hpp"

#include <vector>

#include "native.hpp"
#include "store_rows.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace holdfast::python {
namespace {

using HeldStore = Held<Store>;
using HeldReservation = Held<StoreReservation>;
using HeldLease = Held<StoreLease>;

/// `numbers`: (5, size) rows, offsets, addresses, bytes, and whether each is on a GPU.
template <class Part>
std::vector<Part> parts_at(std::size_t size, std::uintptr_t numbers) {
  const auto* const words = at<const std::uint64_t>(numbers);
  std::vector<Part> parts(size);
  for (std::size_t i = 0; i < size; ++i) {
    parts[i] = {words[i], words[size + i], at<std::byte>(words[2 * size + i]), words[3 * size + i],
                words[4 * size + i] != 0};
  }
  return parts;
}

nb::bytes value_of(HeldLease& lease, std::size_t row) {
  const std::uint64_t bytes = lease.bytes(row);
  nb::bytes value(nullptr, bytes);
  const StoreTarget all[] = {{row, 0, PyBytes_AsString(value.ptr()), bytes}};
  const Unlocked guard;
  lease.copy_out(all);
  return value;
}

}  // namespace

void bind_store_memory(nb::module_& module) {
  const auto unlocked = nb::call_guard<Unlocked>();
  nb::class_<StoreTransfer>(module, "StoreTransfer")
      .def("poll", &StoreTransfer::poll, unlocked)
      .def("wait", &StoreTransfer::wait, unlocked);
  nb::class_<HeldReservation>(module, "StoreReservation")
      .def_static(
          "of",
          [](HeldStore& store, std::size_t size, std::uintptr_t keys, std::uintptr_t offsets, std::uintptr_t bytes,
             std::size_t items, std::uintptr_t flags, std::uintptr_t expiries) {
            const Unlocked guard;
            return HeldReservation(store.reserve(rows_at(size, keys, offsets), {at<const std::uint64_t>(bytes), size},
                                                 items_at(items, flags, expiries)));
          },
          "store"_a, "size"_a, "keys"_a, "offsets"_a, "bytes"_a, "items"_a, "flags"_a, "expiries"_a)
      .def("size", &StoreReservation::size)
      .def("has", &StoreReservation::has, "row"_a)
      .def(
          "copy_in",
          [](HeldReservation& rows, std::size_t size, std::uintptr_t numbers, std::uintptr_t stream) {
            const Unlocked guard;
            return rows.copy_in(parts_at<StoreSource>(size, numbers), at<void>(stream));
          },
          "size"_a, "numbers"_a, "stream"_a)
      .def(
          "commit",
          [](HeldReservation& rows, std::size_t row) {
            const Unlocked guard;
            return static_cast<unsigned>(rows.commit(row));
          },
          "row"_a)
      .def("abort", &StoreReservation::abort, "row"_a, unlocked);
  nb::class_<HeldLease>(module, "StoreLease")
      .def_static(
          "of",
          [](HeldStore& store, std::size_t size, std::uintptr_t keys, std::uintptr_t offsets, bool present) {
            const Unlocked guard;
            const StoreRows rows = rows_at(size, keys, offsets);
            return HeldLease(present ? store.lease_present(rows) : store.lease(rows));
          },
          "store"_a, "size"_a, "keys"_a, "offsets"_a, "present"_a, "Of these keys; or up to the first that is absent.")
      .def_static(
          "lookup",
          [](const HeldStore& store, std::size_t size, std::uintptr_t keys, std::uintptr_t offsets) {
            const Unlocked guard;
            return store.lookup(rows_at(size, keys, offsets));
          },
          "store"_a, "size"_a, "keys"_a, "offsets"_a)
      .def("size", &StoreLease::size)
      .def("has", &StoreLease::has, "row"_a)
      .def("value_bytes", &StoreLease::bytes, "row"_a)
      .def("value", &value_of, "row"_a)
      .def(
          "copy_out",
          [](HeldLease& rows, std::size_t size, std::uintptr_t numbers, std::uintptr_t stream) {
            const Unlocked guard;
            return rows.copy_out(parts_at<StoreTarget>(size, numbers), at<void>(stream));
          },
          "size"_a, "numbers"_a, "stream"_a)
      .def("release", &StoreLease::release, "row"_a, unlocked);
}

}  // namespace holdfast::python
