// plain_pfht_kind.cpp: registers tables of PFHT without a log as a kind of object.
#include "structures/form_kind.hpp"
#include "structures/pfht/pfht_form.hpp"

namespace holdfast {

const structures::StructureKind& pfht::plain_kind() {
  static const structures::FormKind<Plain> kind;
  return kind;
}

namespace kinds {
const pool::ObjectKind& plain_pfht_kind() { return pfht::plain_kind(); }
}  // namespace kinds

}  // namespace holdfast
