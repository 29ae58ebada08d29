// form_kind.hpp: makes a kind of object of a form: a scheme, with or without an undo log.
//
// A form has these members, all of them static; `group/form.hpp` and `cells/form.hpp` are examples:
//
//   kType, kVersion, kName, kExtentName    of the kind of object
//   kDurable                               whether a crash leaves every acknowledged change
//   kLeastIndex                            of the smallest table
//   Shape, View                            where the cells are; a View is {shape, seed, words, locks}
//   Table<Item, Memory>                    a PersistentTable, with `visit_some` besides
//   flaw_in(header)                        what is wrong with a header's sizes
//   shape(header, index)
//   flaw(memory, view)                     what is wrong with what recovery relies on
//   fill<Item>(memory, from, to)           copies a table into a larger one; false: an item found no cell
//   clear<Item>(memory, view)              removes every item, durably
//   verify<Item>(memory, view)             checks a table that nothing changes
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "structures/cpu_table.hpp"

namespace holdfast::structures {

template <class Form>
class FormKind final : public StructureKind {
 public:
  FormKind() : StructureKind(Form::kType, Form::kVersion, Form::kName, Form::kExtentName) {}

  std::string flaw_in(const Header& header) const override { return Form::flaw_in(header); }
  std::uint16_t least_index() const override { return Form::kLeastIndex; }
  std::uint64_t cells(const Header& header, std::uint16_t index) const override {
    return Form::shape(header, index).cells();
  }
  std::uint64_t bytes(const Header& header, std::uint16_t index) const override {
    return Form::shape(header, index).bytes();
  }
  bool is_durable() const override { return Form::kDurable; }
  std::unique_ptr<Engine> make_engine(std::unique_ptr<StructureObject> object) const override {
    if (object->header().item_bytes == Item16::kBytes) {
      return std::make_unique<CpuTable<Form, Item16>>(std::move(object));
    }
    return std::make_unique<CpuTable<Form, Item32>>(std::move(object));
  }
};

/// What is wrong with the size of items; empty: nothing.
inline std::string flaw_in_items(const Header& header) {
  if (header.item_bytes == Item16::kBytes || header.item_bytes == Item32::kBytes) return {};
  return "items of " + std::to_string(header.item_bytes) + " bytes; there are items of 16 bytes and of 32";
}

}  // namespace holdfast::structures
