// kinds.hpp: regions and logs as kinds of objects.
#pragma once

#include "pool/kinds/kind.hpp"

namespace holdfast::kinds {
const memory::ObjectKind& region_kind();
const memory::ObjectKind& log_kind();
}  // namespace holdfast::kinds
