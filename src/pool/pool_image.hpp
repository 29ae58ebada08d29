// pool_image.hpp: reads the superblock and the directory of a file that nobody has checked yet.
#pragma once

#include <cstdint>

#include "pool/copies.hpp"
#include "pool/directory.hpp"
#include "pool/medium/file.hpp"

namespace holdfast::memory {

struct PoolImage {
  Superblock block = {};  ///< intact and without flaw
  Choice choice;
  Directory directory;
  std::uint64_t file_bytes = 0;
};

/// Throws PoolCorrupt, PoolVersion.
PoolImage read_pool(const File& file);

}  // namespace holdfast::memory
