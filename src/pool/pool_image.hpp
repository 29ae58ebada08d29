// pool_image.hpp: reads the superblock and the directory of an unchecked file.
#pragma once

#include <cstdint>

#include "pool/copies.hpp"
#include "pool/directory.hpp"
#include "system/file.hpp"

namespace holdfast::pool {

struct PoolImage {
  Superblock block = {};  ///< intact and without flaw
  Choice choice;
  Directory directory;
  std::uint64_t file_bytes = 0;
};

/// Whether it begins as a pool does, damaged ones and retired formats included; or has nothing in it. Throws SystemError.
bool looks_like_pool(const system::File& file);

/// `may_be_cut`: extents may be behind the end of the file. Throws PoolCorrupt, PoolVersion.
PoolImage read_pool(const system::File& file, bool may_be_cut = false);

}  // namespace holdfast::pool
