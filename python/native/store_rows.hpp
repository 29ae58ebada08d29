// store_rows.hpp: rows of a store's batches, whose arrays come as addresses.
#pragma once

#include <vector>

#include "holdfast/store.hpp"
#include "native.hpp"

namespace holdfast::python {

inline StoreRows rows_at(std::size_t size, std::uintptr_t bytes, std::uintptr_t offsets) {
  return {at<const void>(bytes), at<const std::uint64_t>(offsets), size};
}

/// (size,) flags and (size,) expiries, both of 64 bits.
inline std::vector<ItemOptions> items_at(std::size_t size, std::uintptr_t flags, std::uintptr_t expiries) {
  std::vector<ItemOptions> items(size);
  for (std::size_t i = 0; i < size; ++i) {
    items[i].flags = static_cast<std::uint32_t>(at<const std::uint64_t>(flags)[i]);
    items[i].expiry = at<const std::uint64_t>(expiries)[i];
  }
  return items;
}

}  // namespace holdfast::python
