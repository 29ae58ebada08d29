// plain_linear_kind.cpp: registers tables of linear probing without a log as a kind of object.
#include "structures/form_kind.hpp"
#include "structures/linear/linear_form.hpp"

namespace holdfast {

const structures::StructureKind& linear::plain_kind() {
  static const structures::FormKind<Plain> kind;
  return kind;
}

namespace kinds {
const pool::ObjectKind& plain_linear_kind() { return linear::plain_kind(); }
}  // namespace kinds

}  // namespace holdfast
