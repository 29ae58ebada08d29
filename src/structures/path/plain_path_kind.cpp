// plain_path_kind.cpp: registers tables of path hashing without a log as a kind of object.
#include "structures/form_kind.hpp"
#include "structures/path/path_form.hpp"

namespace holdfast {

const structures::StructureKind& path::plain_kind() {
  static const structures::FormKind<Plain> kind;
  return kind;
}

namespace kinds {
const pool::ObjectKind& plain_path_kind() { return path::plain_kind(); }
}  // namespace kinds

}  // namespace holdfast
