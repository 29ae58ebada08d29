// describe.hpp: what a pool's directory and the pages of its objects say, for people.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "holdfast/pool.hpp"
#include "pool/directory.hpp"
#include "pool/medium/file.hpp"

namespace holdfast::table {

/// "no object", or "the objects a, b and 12 more".
std::string names_in(const memory::Directory& directory);

/// "keys of 8 bytes".
inline std::string in_bytes(const char* what, std::uint64_t bytes) {
  return std::string(what) + " of " + std::to_string(bytes) + " bytes";
}

/// The objects of an intact directory. Reads their pages from the file; needs no lock.
std::vector<ObjectInfo> describe(const memory::File& file, const memory::Directory& directory);
ObjectInfo describe(const memory::File& file, const memory::Directory& directory, const memory::ObjectEntry& entry);

/// A region or a log that this version knows.
bool is_data(const memory::ObjectEntry& entry);

}  // namespace holdfast::table
