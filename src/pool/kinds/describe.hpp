// describe.hpp: what a pool's directory and the pages of its objects say, for people.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "holdfast/pool.hpp"
#include "pool/directory.hpp"
#include "pool/kinds/kind.hpp"
#include "system/file.hpp"

namespace holdfast::pool {

/// "no object", or "the objects a, b and 12 more".
std::string names_in(const Directory& directory);

/// "keys of 8 bytes".
inline std::string in_bytes(const char* what, std::uint64_t bytes) {
  return std::string(what) + " of " + std::to_string(bytes) + " bytes";
}

/// What an object lost with all that was in the file from offset `from` on; empty if nothing.
std::string describe_loss(const Directory& directory, std::uint32_t object, std::uint64_t from);

/// The objects of an intact directory. Reads their pages from the file; needs no lock.
std::vector<ObjectInfo> describe(const system::File& file, const Directory& directory);
ObjectInfo describe(const system::File& file, const Directory& directory, const ObjectEntry& entry);

/// The same of an object that opens. Throws what `require_kind` does, PoolCorrupt where it is damaged, and PowerLost.
ObjectInfo describe_intact(const PoolFile& pool, const ObjectEntry& entry, const ObjectKind& kind,
                           const std::string& label);

}  // namespace holdfast::pool
