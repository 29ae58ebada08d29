// checkpoint_kind.hpp: checkpoints as a kind of object.
#pragma once

#include "pool/kinds/kind.hpp"

namespace holdfast::kinds {
const pool::ObjectKind& checkpoint_kind();
}
