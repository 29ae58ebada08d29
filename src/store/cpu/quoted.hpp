// quoted.hpp: keys of items in error messages.
#pragma once

#include <string>

#include "core/quoted.hpp"
#include "store/protocol/change.hpp"

namespace holdfast::store::cpu {

using holdfast::quoted;
inline std::string quoted(const Key& key) { return quoted({reinterpret_cast<const char*>(key.data), key.bytes}); }

}  // namespace holdfast::store::cpu
