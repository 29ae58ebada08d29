// store_rows.hpp: strings as the store's batches take them.
#pragma once

#include "holdfast/store.hpp"
#include "holdfast/strings.hpp"

namespace holdfast {

inline StoreRows rows_of(const Strings& strings) { return {strings.bytes(), strings.offsets(), strings.size()}; }

}  // namespace holdfast
