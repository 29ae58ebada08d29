// layout.hpp: a group hashing table as it is stored in a pool. docs/format.md, "Group hashing table".
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "pool/object_page.hpp"
#include "structures/group/shape.hpp"

namespace holdfast::group {

inline constexpr std::uint32_t kTableVersion = 1;
/// The extent of the groups; its index is the base-2 logarithm of their number.
inline constexpr std::uint16_t kGroupsRole = 1;
inline constexpr std::uint64_t kMostCells = std::uint64_t{1} << 40;

/// In the object's page. It never changes; the number of groups is in the directory.
struct Header {
  std::uint64_t seed;
  std::uint32_t item_bytes;
  std::uint32_t group_size;
  std::uint64_t created;  ///< seconds since 1970
  std::uint64_t reserved;
};
static_assert(sizeof(Header) == 32 && offsetof(Header, item_bytes) == 8 && offsetof(Header, group_size) == 12);
static_assert(offsetof(Header, created) == 16 && offsetof(Header, reserved) == 24);

/// What is wrong with an item size and a group size; empty: nothing.
std::string flaw_in(std::uint32_t item_bytes, std::uint32_t group_size);

/// What an object's page and the directory say of a table.
struct Stored {
  Header header = {};
  Shape shape = {};
  memory::Extent extent = {};
};
/// Reads it. Returns what is wrong; empty: nothing.
std::string read_stored(const memory::Directory& directory, std::uint32_t number, const memory::ObjectPage& page,
                        Stored& stored);

}  // namespace holdfast::group
