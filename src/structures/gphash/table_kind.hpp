// table_kind.hpp: tables as a kind of object.
#pragma once

#include "pool/kinds/kind.hpp"
#include "structures/gphash/machine.hpp"

namespace holdfast {

namespace kinds {
const pool::ObjectKind& table_kind();
}

namespace gphash {

/// Verifies every slot and cell of a table that stands still. Throws MediumError where bytes of the pool could not be read.
CheckReport check(gphash::Machine& machine, const TableObject& object);

}  // namespace gphash
}  // namespace holdfast
