// pfht_kind.cpp: registers tables of PFHT with an undo log as a kind of object.
#include "structures/form_kind.hpp"
#include "structures/pfht/pfht_form.hpp"

namespace holdfast {

const structures::StructureKind& pfht::logged_kind() {
  static const structures::FormKind<Logged> kind;
  return kind;
}

namespace kinds {
const pool::ObjectKind& pfht_kind() { return pfht::logged_kind(); }
}  // namespace kinds

}  // namespace holdfast
