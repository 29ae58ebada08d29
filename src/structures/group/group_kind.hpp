// group_kind.hpp: group hashing tables as a kind of object.
#pragma once

#include "pool/kinds/kind.hpp"

namespace holdfast::kinds {
const memory::ObjectKind& group_kind();
}  // namespace holdfast::kinds
