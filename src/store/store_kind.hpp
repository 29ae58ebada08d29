// store_kind.hpp: stores as a kind of object of a pool.
#pragma once

#include "pool/kinds/kind.hpp"

namespace holdfast::kinds {

const pool::ObjectKind& store_kind();

}  // namespace holdfast::kinds
