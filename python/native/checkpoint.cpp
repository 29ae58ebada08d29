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

TensorView view_of(const Given& given, bool on_device) {
  const auto& [name, element, shape, address] = given;
  return {name, element_of(element), shape, at<const void>(address), on_device};
}

/// `on_gpu`: numbers of tensors that are in GPU memory.
SaveTicket save(HeldCheckpoint& checkpoint, std::uint64_t step, const std::vector<Given>& given, std::string_view text,
                bool wait, const std::vector<std::size_t>& on_gpu, bool stage, std::uintptr_t stream) {
  std::vector<TensorView> tensors;
  for (const Given& one : given) tensors.push_back(view_of(one, false));
  for (const std::size_t i : on_gpu) tensors.at(i).on_device = true;
  const Unlocked released;
  return checkpoint.save(step, tensors, text, {.wait = wait, .stage = stage, .stream = at<void>(stream)});
}

SavedState restore(const HeldCheckpoint& checkpoint, const std::vector<std::string>& prefixes, std::uint64_t sequence) {
  const Unlocked released;
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

/// `place(text, tensors)` makes the arrays that are filled: each with whether it is in GPU memory.
SavedState restore_to(const HeldCheckpoint& checkpoint, const nb::typed<nb::callable, nb::any(...)>& place,
                      std::uintptr_t stream, std::uint64_t sequence) {
  const Unlocked released;
  const auto placed = [&](const SavedState& state) {
    const Locked held;
    std::vector<TensorView> tensors;
    for (const auto& [given, on_gpu] :
         nb::cast<std::vector<std::tuple<Given, bool>>>(call_back(place, state.text, tensors_of(state)))) {
      tensors.push_back(view_of(given, on_gpu));
    }
    return tensors;
  };
  return checkpoint.restore_to(placed, at<void>(stream), sequence);
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
  const auto unlocked = nb::call_guard<Unlocked>();
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
            const Unlocked released;
            return HeldCheckpoint(Checkpoint::create(pool, name, {.copies = copies}));
          },
          "pool"_a, "name"_a, "copies"_a)
      .def_static(
          "open",
          [](HeldPool& pool, const std::string& name) {
            const Unlocked released;
            return HeldCheckpoint(Checkpoint::open(pool, name));
          },
          "pool"_a, "name"_a)
      .def("save", &save, "step"_a, "tensors"_a, "text"_a, "wait"_a, "on_gpu"_a = std::vector<std::size_t>(),
           "stage"_a = true, "stream"_a = 0)
      .def("restore_to", &restore_to, "place"_a, "stream"_a = 0, "sequence"_a = 0)
      .def("restore", &restore, "prefixes"_a, "sequence"_a = 0)
      .def("list", &list)
      .def("wait", &Checkpoint::wait, unlocked)
      .def("close", &Checkpoint::close, unlocked)
      .def("is_open", &Checkpoint::is_open);
}

}  // namespace holdfast::python
