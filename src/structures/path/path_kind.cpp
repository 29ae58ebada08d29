// path_kind.cpp: registers tables of path hashing with an undo log as a kind of object.
#include "structures/form_kind.hpp"
#include "structures/path/path_form.hpp"

namespace holdfast {

const structures::StructureKind& path::logged_kind() {
  static const structures::FormKind<Logged> kind;
  return kind;
}

namespace kinds {
const pool::ObjectKind& path_kind() { return path::logged_kind(); }
}  // namespace kinds

}  // namespace holdfast
