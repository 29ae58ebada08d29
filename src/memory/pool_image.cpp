// pool_image.cpp: from bytes of unknown origin to a directory that can be relied on, or an error that says why not.
#include "memory/pool_image.hpp"

#include "holdfast/error.hpp"

namespace holdfast::memory {

namespace {

/// The version that an intact copy tells, or both copies of something like a superblock, in whatever way its checksum is
/// computed; else 0.
std::uint32_t told_version(const Superblock (&copies)[2]) {
  for (const Superblock& copy : copies) {
    if (is_intact(copy)) return copy.version;
  }
  const bool alike = copies[0].magic == kMagic && copies[1].magic == kMagic && copies[0].version == copies[1].version;
  return alike ? copies[0].version : 0;
}

[[noreturn]] void throw_version(const std::string& path, std::uint32_t version) {
  if (version > kVersion) {
    throw PoolVersion(path + " is a pool of format " + std::to_string(version) + "; this Holdfast knows format " +
                      std::to_string(kVersion) + ": install a newer one");
  }
  throw PoolVersion(path + " is a pool of format " + std::to_string(version) +
                    ", which was retired before the first release; dump it with the Holdfast that made it, and load "
                    "the dump into a new pool");
}

bool is_retired_or_newer(std::uint32_t version) { return version != 0 && version != kVersion; }

[[noreturn]] void throw_no_copy(const std::string& path, const Superblock (&copies)[2]) {
  const bool is_pool = copies[0].magic == kMagic || copies[1].magic == kMagic;
  throw PoolCorrupt(path + (is_pool
                                ? " is a pool, but both copies of its superblock are damaged; restore it from a copy"
                                : " is not a pool; give the path of one"));
}

/// The superblock that counts, and the area that it names, if they can be read whole. Says what is wrong.
std::string try_to_read(const File& file, PoolImage& image) {
  Superblock copies[2];
  image.file_bytes = file.facts().bytes;
  if (image.file_bytes == 0) throw PoolCorrupt(file.path() + " is empty; it is not a pool");
  const bool whole = file.read(copies, sizeof copies, 0) == sizeof copies;
  if (whole) {
    const std::uint32_t version = told_version(copies);
    if (is_retired_or_newer(version)) throw_version(file.path(), version);
  }
  if (!whole || image.file_bytes < kFirstExtent) {
    if (whole && copies[0].magic != kMagic && copies[1].magic != kMagic) throw_no_copy(file.path(), copies);
    throw PoolCorrupt(file.path() + " has " + std::to_string(image.file_bytes) +
                      " bytes, too few for a pool; if it was one, it was cut short: restore it from a copy");
  }
  image.choice = choose_copy(copies[0], copies[1], [](const Superblock& block) { return is_intact(block); });
  if (image.choice.copy < 0) throw_no_copy(file.path(), copies);
  image.block = copies[image.choice.copy];
  if (image.block.version != kVersion) throw_version(file.path(), image.block.version);
  if (std::string what = flaw(image.block); !what.empty()) return what;
  std::vector<std::byte> area(kAreaBytes);
  file.read(area.data(), area.size(), area_offset(image.block.area));
  return decode(area.data(), image.block.generation, image.file_bytes, image.directory);
}

}  // namespace

PoolImage read_pool(const File& file) {
  // Without a lock a writer may be at work: it changes one copy at a time, but reading takes time too.
  constexpr int kAttempts = 32;
  PoolImage image;
  std::string what;
  for (int attempt = 1; attempt <= kAttempts; ++attempt) {
    try {
      what = try_to_read(file, image);
    } catch (const PoolCorrupt&) {
      if (attempt == kAttempts) throw;
      continue;
    }
    if (what.empty() && image.choice.equal) return image;
  }
  if (what.empty()) return image;
  throw PoolCorrupt(file.path() + " is damaged: " + what + "; restore it from a copy");
}

}  // namespace holdfast::memory
