// kinds.hpp: regions and logs as kinds of objects.
#pragma once

#include "pool/kinds/kind.hpp"

namespace holdfast::kinds {
const pool::ObjectKind& region_kind();
const pool::ObjectKind& log_kind();
}  // namespace holdfast::kinds
