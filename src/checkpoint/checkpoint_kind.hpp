// checkpoint_kind.hpp: checkpoints as a kind of object.
#pragma once

#include "pool/kinds/kind.hpp"

namespace holdfast::kinds {
const memory::ObjectKind& checkpoint_kind();
}
