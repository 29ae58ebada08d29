// linear_kind.cpp: registers tables of linear probing with an undo log as a kind of object.
#include "structures/form_kind.hpp"
#include "structures/linear/linear_form.hpp"

namespace holdfast {

const structures::StructureKind& linear::logged_kind() {
  static const structures::FormKind<Logged> kind;
  return kind;
}

namespace kinds {
const pool::ObjectKind& linear_kind() { return linear::logged_kind(); }
}  // namespace kinds

}  // namespace holdfast
