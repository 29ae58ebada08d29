// directory.hpp: the objects of a pool and the extents that they have, as lists to plan with and as bytes. docs/format.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "pool/superblock.hpp"

namespace holdfast::pool {

inline constexpr unsigned kExtents = 4096;
inline constexpr unsigned kObjects = 1024;
inline constexpr unsigned kNameBytes = 63;

/// What an object's extents are for: role 0 is the pool's, the others mean something to the type.
inline constexpr std::uint16_t kPagesRole =
    0;  ///< the object's two pages (object_page.hpp), and what its type adds behind
inline constexpr std::uint16_t kPiecesOfARange =
    0x8000;  ///< set in a role whose extents, by index, are one range in pieces

/// A range of the file that belongs to an object. No two of an object have the same role and index.
struct Extent {
  std::uint64_t offset;  ///< bytes, a multiple of 4096
  std::uint64_t bytes;   ///< a multiple of 4096
  std::uint32_t object;
  std::uint16_t role;
  std::uint16_t index;
  std::uint64_t end() const { return offset + bytes; }
  bool operator==(const Extent&) const = default;
};
static_assert(sizeof(Extent) == 24 && offsetof(Extent, bytes) == 8 && offsetof(Extent, object) == 16);
static_assert(offsetof(Extent, role) == 20 && offsetof(Extent, index) == 22);

/// An object, as it stands in the directory.
struct ObjectEntry {
  std::uint32_t number;  ///< from 1 on, never given twice
  std::uint32_t type;    ///< of its kind (kinds/kind.hpp)
  std::uint32_t type_version;
  std::uint32_t name_bytes;
  std::uint64_t required;  ///< features without which it cannot be opened
  std::uint64_t optional;  ///< features that may be ignored
  std::uint8_t reserved[32];
  char name[kNameBytes + 1];  ///< UTF-8, padded with zeros
  std::string_view title() const { return {name, name_bytes}; }
};
static_assert(sizeof(ObjectEntry) == 128 && offsetof(ObjectEntry, type) == 4);
static_assert(offsetof(ObjectEntry, type_version) == 8 && offsetof(ObjectEntry, name_bytes) == 12);
static_assert(offsetof(ObjectEntry, required) == 16 && offsetof(ObjectEntry, optional) == 24);
static_assert(offsetof(ObjectEntry, reserved) == 32 && offsetof(ObjectEntry, name) == 64);

/// What an area begins with. The extents follow, in the order of their offsets, and then the objects, by number.
struct AreaHeader {
  std::uint64_t magic;  ///< "HFDIRECT"
  std::uint64_t generation;
  std::uint32_t extents, objects;
  std::uint32_t next_number;  ///< of the next object
  std::uint32_t reserved[7];
  std::uint64_t checksum;  ///< of the bytes before it, and of the extents and objects
};
static_assert(sizeof(AreaHeader) == 64 && offsetof(AreaHeader, extents) == 16 && offsetof(AreaHeader, checksum) == 56);
static_assert(offsetof(AreaHeader, next_number) == 24 && offsetof(AreaHeader, reserved) == 28);
inline constexpr std::uint64_t kAreaMagic = 0x5443'4552'4944'4648;

inline constexpr std::uint64_t kAreaBytes =
    (sizeof(AreaHeader) + kExtents * sizeof(Extent) + kObjects * sizeof(ObjectEntry) + kPage - 1) / kPage * kPage;
inline constexpr std::uint64_t kFirstExtent = kFirstArea + 2 * kAreaBytes;
constexpr std::uint64_t area_offset(unsigned area) { return kFirstArea + area * kAreaBytes; }

/// A directory in memory. What no extent has is free.
struct Directory {
  std::uint64_t generation = 0;
  std::uint32_t next_number = 1;
  std::vector<Extent> extents;       ///< in the order of their offsets
  std::vector<ObjectEntry> objects;  ///< by number

  const ObjectEntry* find(std::string_view name) const;
  const ObjectEntry* find(std::uint32_t number) const;
  /// Those of an object, by role and index.
  std::vector<Extent> extents_of(std::uint32_t object) const;
  /// Those of an object with a role, by index.
  std::vector<Extent> extents_of(std::uint32_t object, std::uint16_t role) const;
  std::uint64_t bytes_of(std::uint32_t object) const;
  /// Those of them at offsets from `from` on.
  std::uint64_t bytes_of(std::uint32_t object, std::uint64_t from) const;
  /// Where the last extent ends: what is beyond belongs to nothing.
  std::uint64_t end() const;

  void add(const Extent& extent);  ///< keeps the order
  Extent* find_extent(std::uint32_t object, std::uint16_t role, std::uint16_t index);
};

/// Why `name` cannot be an object's; empty if it can.
std::string flaw_in_name(std::string_view name);

/// The bytes of an area, a multiple of 8. At most kExtents and kObjects.
std::vector<std::byte> encode(const Directory& directory);

/// Reads an area of kAreaBytes bytes. Says what is wrong with it, or nothing: every number, name, size and offset is checked
/// here, once, before use, since a pool may come from an untrusted source.
std::string decode(const std::byte* area, std::uint64_t generation, std::uint64_t file_bytes, Directory& directory);

}  // namespace holdfast::pool
