// group_kind.cpp: registers group hashing tables as a kind of object.
#include "structures/form_kind.hpp"
#include "structures/group/form.hpp"

namespace holdfast {

std::string group::Form::flaw_in(const structures::Header& header) {
  if (const std::string what = structures::flaw_in_items(header); !what.empty()) return what;
  const std::uint32_t size = header.group_size;
  if (std::has_single_bit(size) && size >= kLeastGroup && size <= kMostGroup) return {};
  return "groups of " + std::to_string(size) + " cells; a group has a power of two of cells, from 64 to 1024";
}

const structures::StructureKind& group::kind() {
  static const structures::FormKind<Form> kind;
  return kind;
}

namespace kinds {
const pool::ObjectKind& group_kind() { return group::kind(); }
}  // namespace kinds

}  // namespace holdfast
