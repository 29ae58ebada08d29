// superblock_file.cpp: from bytes of unknown origin to a superblock that can be relied on, or an error that says why not.
#include "memory/superblock_file.hpp"

#include "holdfast/error.hpp"

namespace holdfast::memory {

namespace {

[[noreturn]] void throw_version(const std::string& path, std::uint32_t version) {
  throw PoolVersion(path + " is a pool of version " + std::to_string(version) +
                    "; this Holdfast knows versions up to " + std::to_string(kVersion) + ": install a newer one");
}

}  // namespace

SuperblockFile read_superblock(const File& file) {
  // Without a lock a writer may be at work: it changes one copy at a time, but reading takes time too.
  constexpr int kAttempts = 3;
  Superblock copies[2];
  SuperblockFile found;
  for (int attempt = 0; attempt < kAttempts && !found.choice.equal; ++attempt) {
    found.file_bytes = file.facts().bytes;
    if (found.file_bytes == 0) throw PoolCorrupt(file.path() + " is empty; it is not a pool");
    if (found.file_bytes < kFirstExtent || file.read(copies, sizeof copies, 0) != sizeof copies) {
      throw PoolCorrupt(file.path() + " has " + std::to_string(found.file_bytes) +
                        " bytes, too few for a pool; if it was one, it was cut short: restore it from a copy");
    }
    found.choice = choose_superblock(copies[0], copies[1]);
  }
  if (found.choice.newer_version != 0) throw_version(file.path(), found.choice.newer_version);
  if (found.choice.copy < 0) {
    const bool is_pool = copies[0].magic == kMagic || copies[1].magic == kMagic;
    throw PoolCorrupt(file.path() + (is_pool ? " is a pool, but both copies of its superblock are damaged; restore it"
                                               " from a copy"
                                             : " is not a pool; give the path of one"));
  }
  found.block = copies[found.choice.copy];
  if (found.block.version > kVersion) throw_version(file.path(), found.block.version);
  if (const std::string what = flaw(found.block, found.file_bytes); !what.empty()) {
    throw PoolCorrupt(file.path() + " is damaged: " + what + "; restore it from a copy");
  }
  return found;
}

}  // namespace holdfast::memory
