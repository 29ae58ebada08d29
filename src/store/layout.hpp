// layout.hpp: a store as it is stored in a pool. docs/format.md, "Store".
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "pool/object_page.hpp"
#include "store/protocol/record.hpp"

namespace holdfast::store {

inline constexpr std::uint32_t kStoreVersion = 1;
/// The extents of the heap, one range by their indices: slabs of 2 MiB, whose directory is as in heap/slab.hpp with PieceWord as entries.
inline constexpr std::uint16_t kHeapRole = 1 | pool::kPiecesOfARange;
/// The object's two pages, and one for the record.
inline constexpr std::uint64_t kPagesBytes = 3 * pool::kPage;

/// In the object's page. It never changes.
struct StoreHeader {
  std::uint64_t seed;     ///< of the hash
  std::uint64_t created;  ///< seconds since 1970
  std::uint64_t reserved[2];
};
static_assert(sizeof(StoreHeader) == 32 && offsetof(StoreHeader, created) == 8);

/// Reads what an object's page and the directory say of a store. Returns what is wrong; empty: nothing.
std::string read_header(const pool::Directory& directory, std::uint32_t number, const pool::ObjectPage& page,
                        StoreHeader& header);

}  // namespace holdfast::store
