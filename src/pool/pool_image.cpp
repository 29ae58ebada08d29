// pool_image.cpp: from bytes of unknown origin to a directory that can be relied on, or an error that says why not.
#include "pool/pool_image.hpp"

#include <cstring>
#include <memory>
#include <string>

#include "holdfast/error.hpp"

namespace holdfast::pool {

namespace {

/// The version of an intact copy, or of both copies of something like a superblock, in whatever way its checksum is
/// computed; else 0.
std::uint32_t stated_version(const Superblock (&copies)[2]) {
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

/// What a file begins with, as it was read.
struct Header {
  Superblock copies[2] = {};
  bool whole = false;
  std::uint64_t file_bytes = 0;
  /// Both areas, each as far as it is used.
  std::unique_ptr<std::byte[]> areas = std::make_unique_for_overwrite<std::byte[]>(2 * kAreaBytes);
};

bool read_copies(const system::File& file, Superblock (&copies)[2]) {
  return file.read(copies, sizeof copies, 0) == sizeof copies;
}

/// Reads `bytes` at `offset`; what the file does not have is zero.
void read_padded(const system::File& file, void* to, std::size_t bytes, std::uint64_t offset) {
  const std::size_t got = file.read(to, bytes, offset);
  std::memset(static_cast<std::byte*>(to) + got, 0, bytes - got);
}

/// All at once, and checked later: the less time it takes, the fewer commits come in between.
void read_header(const system::File& file, Header& header) {
  header.whole = read_copies(file, header.copies);
  for (unsigned which = 0; which < 2; ++which) {
    std::byte* const to = header.areas.get() + which * kAreaBytes;
    AreaHeader area;
    read_padded(file, &area, sizeof area, area_offset(which));
    std::memcpy(to, &area, sizeof area);
    if (area.extents > kExtents || area.objects > kObjects) continue;
    const std::size_t entries = area.extents * sizeof(Extent) + area.objects * sizeof(ObjectEntry);
    read_padded(file, to + sizeof area, entries, area_offset(which) + sizeof area);
  }
  header.file_bytes = file.facts().bytes;  // last: what the copies name was allocated before
}

/// No extent ends behind this: so offsets in a file that was cut short can be added up.
constexpr std::uint64_t kMostFileBytes = std::uint64_t{1} << 62;

/// The superblock that counts, and the area that it names. Throws PoolCorrupt, PoolVersion.
PoolImage image_of(const std::string& path, const Header& header, bool may_be_cut) {
  const Superblock(&copies)[2] = header.copies;
  PoolImage image;
  image.file_bytes = header.file_bytes;
  if (image.file_bytes == 0) throw PoolCorrupt(path + " is empty; it is not a pool");
  if (header.whole) {
    const std::uint32_t version = stated_version(copies);
    if (is_retired_or_newer(version)) throw_version(path, version);
  }
  if (!header.whole || image.file_bytes < kFirstExtent) {
    if (header.whole && copies[0].magic != kMagic && copies[1].magic != kMagic) throw_no_copy(path, copies);
    throw PoolCorrupt(path + " has " + std::to_string(image.file_bytes) +
                      " bytes, too few for a pool; if it was one, it was cut short: restore it from a copy");
  }
  image.choice = choose_copy(copies[0], copies[1], [](const Superblock& block) { return is_intact(block); });
  if (image.choice.copy < 0) throw_no_copy(path, copies);
  image.block = copies[image.choice.copy];
  if (is_retired_or_newer(image.block.version)) throw_version(path, image.block.version);
  std::string what = flaw(image.block);
  if (what.empty()) {
    const std::byte* const area = header.areas.get() + image.block.area * kAreaBytes;
    const std::uint64_t most = may_be_cut ? kMostFileBytes : image.file_bytes;
    what = decode(area, image.block.generation, most, image.directory);
  }
  if (what.empty()) return image;
  throw PoolCorrupt(path + " is damaged: " + what + "; restore it from a copy");
}

}  // namespace

bool looks_like_pool(const system::File& file) {
  std::uint64_t first = 0, second = 0;
  const std::size_t got = file.read(&first, sizeof first, 0);
  return got == 0 || (got == sizeof first && first == kMagic) ||
         (file.read(&second, sizeof second, kSuperblockBytes) == sizeof second && second == kMagic);
}

PoolImage read_pool(const system::File& file, bool may_be_cut) {
  // Without a lock a writer may be at work. What cannot be read is damage only where nothing was written meanwhile.
  constexpr int kAttempts = 100, kAttemptsAtEqualCopies = 4;
  Header header;
  // ends: after kAttempts, with what was wrong
  for (int attempt = 1;; ++attempt) {
    read_header(file, header);
    try {
      PoolImage image = image_of(file.path(), header, may_be_cut);
      if (image.choice.equal || attempt >= kAttemptsAtEqualCopies) return image;
    } catch (const PoolCorrupt&) {
      Superblock now[2] = {};
      read_copies(file, now);
      if (attempt >= kAttempts || std::memcmp(now, header.copies, sizeof now) == 0) throw;
    }
  }
}

}  // namespace holdfast::pool
