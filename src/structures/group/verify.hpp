// verify.hpp: finds what is damaged in a group hashing table. Items have no checksum: a bit that is flipped is noticed where the key of its
// cell belongs elsewhere, or is there already.
#pragma once

#include <string>

#include "holdfast/pool.hpp"
#include "structures/check_errors.hpp"
#include "structures/group/recover.hpp"

namespace holdfast::group {

template <class Item, class Memory>
void verify_group(const Memory& memory, const View& view, std::uint64_t number, structures::CheckErrors& errors) {
  const Shape& shape = view.shape;
  std::uint64_t* const group = view.group(number);
  const std::string where = "group " + std::to_string(number);
  for (std::uint32_t w = shape.occupancy_words(); w < shape.header_words(); ++w) {
    if (memory.load(group + w) == 0) continue;
    errors.add(where + ": word " + std::to_string(w) + ", behind its occupancy words, is not zero");
  }
  visit_cells(memory, view, group, [&](Cell cell) {
    const Target target = target_of(view, load_words<typename Item::Key>(memory, view.cell(group, cell)));
    if (target.number == number && (cell >= shape.group_size || cell == target.first)) return true;
    errors.add(where + ": occupancy word " + std::to_string(word_of(shape, cell)) +
               " is damaged: it has the bit of cell " + std::to_string(cell) + ", whose key belongs elsewhere");
    return true;
  });
  find_duplicates<Item>(memory, view, group, [&](Cell first, Cell second) {
    errors.add(where + ": occupancy words " + std::to_string(word_of(shape, first)) + " and " +
               std::to_string(word_of(shape, second)) + " are damaged: cells " + std::to_string(first) + " and " +
               std::to_string(second) + " have one key");
  });
}

/// Of an unchanging table.
template <class Item, class Memory>
CheckReport verify(const Memory& memory, const View& view) {
  CheckReport report;
  report.slots = view.shape.cells();
  structures::CheckErrors errors(report.errors);
  for (std::uint64_t number = 0; number < view.shape.groups; ++number) {
    verify_group<Item>(memory, view, number, errors);
    report.items += count_items(memory, view, number);
  }
  report.checked.push_back("the occupancy words, and the cell of every key; items have no checksum");
  return report;
}

}  // namespace holdfast::group
