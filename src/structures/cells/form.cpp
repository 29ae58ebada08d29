// form.cpp: the sizes of a table of cells.
#include "structures/cells/form.hpp"

#include "structures/form_kind.hpp"

namespace holdfast::cells {

std::string flaw_in(const structures::Header& header) {
  if (const std::string what = structures::flaw_in_items(header); !what.empty()) return what;
  if (header.group_size == 0) return {};
  return "groups of " + std::to_string(header.group_size) + " cells; this scheme has no groups";
}

}  // namespace holdfast::cells
