// checkpoint.cpp: the classes holdfastdb._native.Checkpoint, SaveTicket and SavedState. Tensors come and go as addresses.
#include "holdfast/checkpoint.hpp"

#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <tuple>

#include "native.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace holdfast::python {
namespace {

using HeldCheckpoint = Held<Checkpoint>;
/// Name, element type, shape and address.
using Given = std::tuple<std::string, std::string, std::vector<std::uint64_t>, std::uintptr_t>;

ElementType element_of(const std::string& wanted) {
  for (unsigned i = 1; bytes_of(static_cast<ElementType>(i)) != 0; ++i) {
    if (wanted == name(static_cast<ElementType>(i))) return static_cast<ElementType>(i);
  }
  throw InvalidArgument("a checkpoint knows no elements of type " + wanted);
}

SaveTicket save(HeldCheckpoint& checkpoint, std::uint64_t step, const std::vector<Given>& given, std::string_view text,
                bool wait) {
  std::vector<TensorView> tensors;
  for (const auto& [name, element, shape, address] : given) {
    tensors.push_back({name, element_of(element), shape, at<const void>(address)});
  }
  const nb::gil_scoped_release released;
  return checkpoint.save(step, tensors, text, {.wait = wait});
}

SavedState restore(const HeldCheckpoint& checkpoint, const std::vector<std::string>& prefixes, std::uint64_t sequence) {
  const nb::gil_scoped_release released;
  if (prefixes.empty()) return checkpoint.restore(nullptr, sequence);
  const auto wanted = [&](const SavedTensor& tensor) {
    for (const std::string& prefix : prefixes) {
      if (tensor.name.starts_with(prefix)) return true;
    }
    return false;
  };
  return checkpoint.restore(wanted, sequence);
}

std::vector<Given> tensors_of(const SavedState& state) {
  std::vector<Given> all;
  for (const SavedTensor& tensor : state.tensors) {
    all.emplace_back(tensor.name, name(tensor.element), tensor.shape, reinterpret_cast<std::uintptr_t>(tensor.data));
  }
  return all;
}

Dicts list(const HeldCheckpoint& checkpoint) {
  Dicts all;
  for (const SavedCopy& copy : checkpoint.list()) {
    Dict item;
    item["copy"] = copy.copy;
    item["step"] = copy.step;
    item["sequence"] = copy.sequence;
    item["created"] = copy.created;
    item["tensors"] = copy.tensors;
    item["bytes"] = copy.bytes;
    item["newest"] = copy.newest;
    all.append(item);
  }
  return all;
}

}  // namespace

void bind_checkpoint(nb::module_& module) {
  const auto unlocked = nb::call_guard<nb::gil_scoped_release>();
  nb::class_<SaveTicket>(module, "SaveTicket")
      .def("wait", &SaveTicket::wait, unlocked)
      .def("is_done", &SaveTicket::is_done);
  nb::class_<SavedState>(module, "SavedState")
      .def_ro("step", &SavedState::step)
      .def_ro("sequence", &SavedState::sequence)
      .def_ro("text", &SavedState::text)
      .def_ro("damage", &SavedState::damage)
      .def("tensors", &tensors_of);
  nb::class_<HeldCheckpoint>(module, "Checkpoint")
      .def_static(
          "create",
          [](HeldPool& pool, const std::string& name, unsigned copies) {
            const nb::gil_scoped_release released;
            return HeldCheckpoint(Checkpoint::create(pool, name, {.copies = copies}));
          },
          "pool"_a, "name"_a, "copies"_a)
      .def_static(
          "open",
          [](HeldPool& pool, const std::string& name) {
            const nb::gil_scoped_release released;
            return HeldCheckpoint(Checkpoint::open(pool, name));
          },
          "pool"_a, "name"_a)
      .def("save", &save, "step"_a, "tensors"_a, "text"_a, "wait"_a)
      .def("restore", &restore, "prefixes"_a, "sequence"_a = 0)
      .def("list", &list)
      .def("wait", &Checkpoint::wait, unlocked)
      .def("close", &Checkpoint::close, unlocked)
      .def("is_open", &Checkpoint::is_open);
}

}  // namespace holdfast::python
