// verify.hpp: finds what is damaged in a table of cells. Items have no checksum: a flipped bit is noticed where a key cannot be found in its
// cell any more, or where the count is wrong.
#pragma once

#include "holdfast/pool.hpp"
#include "structures/cells/table.hpp"
#include "structures/check_errors.hpp"

namespace holdfast::cells {

/// Of an unchanging table, which was recovered.
template <class Scheme, bool kLogged, class Item, class Memory>
CheckReport verify(const Memory& memory, const View& view) {
  CheckReport report;
  report.slots = view.shape.cells();
  const Cells<Item, Memory> cells(memory, view);
  {
    structures::CheckErrors errors(report.errors);
    if (const std::string what = flaw_in_log<kLogged>(memory, view); !what.empty()) errors.add(what);
    if (memory.load(view.words + word::kState) != 0)
      errors.add("its log entry is not void, although nothing changes it");
    const auto reserved = cells.key(view.shape.reserved());
    if (!(reserved == typename Item::Key{}) && !(reserved == stored_in_reserved<typename Item::Key>())) {
      errors.add("the reserved cell is damaged: its key is neither 0 nor 1");
    }
    for (Cell cell = 0; cell <= view.shape.reserved(); ++cell) {
      if (cells.is_empty(cell)) continue;
      ++report.items;
      if (cell == view.shape.reserved()) continue;
      const auto key = cells.key(cell);
      const Cell found = Scheme::find(cells, cells.hash_of(key), key);
      if (found == cell) continue;
      errors.add("cell " + std::to_string(cell) +
                 (found == kNoCell ? " has a key that a search does not find"
                                   : " and cell " + std::to_string(found) + " have one key"));
    }
    if (report.items != cells.count()) {
      errors.add("it says that it has " + std::to_string(cells.count()) + " items, and has " +
                 std::to_string(report.items));
    }
  }
  report.checked.push_back("the cell of every key, the count, the log entry; items have no checksum");
  return report;
}

}  // namespace holdfast::cells
