// superblock_file.hpp: reads the superblock of a file that nobody has checked yet.
#pragma once

#include <cstdint>

#include "memory/file.hpp"
#include "memory/superblock.hpp"

namespace holdfast::memory {

struct SuperblockFile {
  Superblock block;  ///< intact and without flaw
  Choice choice;
  std::uint64_t file_bytes = 0;
};

/// Throws PoolCorrupt, PoolVersion.
SuperblockFile read_superblock(const File& file);

}  // namespace holdfast::memory
