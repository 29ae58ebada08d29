// holes.cpp: makes the files with holes, from the pools that the other tests damage.
#include "holes.hpp"

#include <fcntl.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <new>
#include <optional>
#include <stdexcept>

#include "fixture.hpp"
#include "support/pages.hpp"
#include "support/pool_bytes.hpp"
#include "support/random.hpp"

namespace holdfast::test::corrupt {
namespace {

using pool::Directory;
using pool::Extent;
using pool::kPage;

constexpr std::uint64_t kMostSpace = std::uint64_t{8} << 20;
constexpr unsigned kPieces = 3000;  // nearly as many extents as a directory holds

struct Base {
  std::string name, bytes;
};

const std::vector<Base>& bases() {
  static const std::vector<Base> all = [] {
    std::vector<Base> made;
    for (const Image& image : images()) made.push_back({image.name, image.bytes});
    for (const bool clean : {true, false}) {
      Image image = make_pairs_image(pool_path(), 30, clean);
      made.push_back({image.name, std::move(image.bytes)});
    }
    made.push_back({"objects", objects().bytes});
    return made;
  }();
  return all;
}

gphash::TableHeader header_of(std::string& bytes, std::uint32_t object) {
  gphash::TableHeader found = {};
  edit_table(bytes, object, [&](gphash::TableHeader& header) { found = header; });
  return found;
}

/// A table that has an extent of this role; 0 if none has.
std::uint32_t any_with(const std::string& bytes, std::uint16_t role, Random& random) {
  std::vector<std::uint32_t> found;
  for (const Extent& extent : directory_in(bytes).extents) {
    if (extent.role == role) found.push_back(extent.object);
  }
  return found.empty() ? 0 : found[random.below(found.size())];
}

/// Between a page and four tebibytes, all magnitudes alike.
std::uint64_t any_size(Random& random) {
  const std::uint64_t magnitude = std::uint64_t{1} << (12 + random.below(31));
  return (magnitude + random.below(magnitude)) / kPage * kPage;
}

void claim_heap(HoledFile& file, Random& random) {
  const std::uint32_t object = any_with(file.bytes, gphash::kHeapRole, random);
  if (object == 0) return;
  const std::uint64_t bytes = any_size(random);
  file.name += ", a heap of " + std::to_string(bytes);
  edit_directory(file.bytes, [&](Directory& directory) {
    Extent last = directory.extents_of(object, gphash::kHeapRole).back();
    std::erase(directory.extents, last);
    last.offset = directory.end();
    last.bytes = bytes;
    directory.add(last);
  });
}

void claim_levels(HoledFile& file, Random& random) {
  const std::uint32_t object = any_with(file.bytes, gphash::kLevelRole, random);
  const gphash::TableHeader header = header_of(file.bytes, object);
  const auto higher = static_cast<std::uint16_t>(1 + random.below(28));
  file.name += ", levels that are " + std::to_string(higher) + " higher";
  edit_directory(file.bytes, [&](Directory& directory) {
    for (Extent level : directory.extents_of(object, gphash::kLevelRole)) {
      std::erase(directory.extents, level);
      level.index = static_cast<std::uint16_t>(level.index + higher);
      level.bytes = gphash::level_bytes(level.index, header.slots, header.key_bytes);
      level.offset = directory.end();
      directory.add(level);
    }
  });
}

void claim_pieces(HoledFile& file, Random& random) {
  const std::uint32_t object = any_with(file.bytes, gphash::kHeapRole, random);
  if (object == 0) return;
  file.name += ", a heap of many pieces";
  edit_directory(file.bytes, [&](Directory& directory) {
    auto index = static_cast<std::uint16_t>(directory.extents_of(object, gphash::kHeapRole).size());
    const std::uint64_t pages = 1 + random.below(64), gap = random.below(3);
    while (directory.extents.size() < kPieces)
      directory.add({directory.end() + gap * kPage, pages * kPage, object, gphash::kHeapRole, index++});
  });
}

/// A field of a table that says how much there is.
void lie(HoledFile& file, Random& random) {
  const std::uint32_t object = any_with(file.bytes, gphash::kLevelRole, random);
  const std::uint64_t value = random.chance(50) ? random.below(64) : any_size(random);
  const std::uint64_t field = random.below(7);
  file.name += ", field " + std::to_string(field) + " is " + std::to_string(value);
  edit_table(file.bytes, object, [&](gphash::TableHeader& header) {
    const auto small = static_cast<std::uint32_t>(value);
    switch (field) {
      case 0: header.key_bytes = small; return;
      case 1: header.value_bytes = small; return;
      case 2: header.levels = small; return;
      case 3: header.hash_locations = small; return;
      case 4: header.slots = small; return;
      case 5: header.cell_bytes = value; return;
      default: header.max_bytes = value;
    }
  });
}

void make_holes(HoledFile& file, Random& random) {
  constexpr unsigned kPercents[] = {0, 2, 20, 50, 90, 100};
  const unsigned of_zeroes = kPercents[random.below(6)], of_others = kPercents[random.chance(70) ? 0 : random.below(4)];
  file.name += ", holes for " + std::to_string(of_zeroes) + "% of the zeroes and " + std::to_string(of_others) +
               "% of what else there is";
  file.holes.resize(file.bytes.size() / kPage);
  for (std::size_t i = 0; i < file.holes.size(); ++i) {
    const bool zero = is_zero_page(std::string_view(file.bytes).substr(i * kPage, kPage));
    file.holes[i] = random.chance(zero ? of_zeroes : of_others);
  }
}

/// Of all extents, those that are only taken and those that have no place yet with them. None where the file system does not tell.
std::optional<std::uint64_t> data_of(int fd) {
  constexpr unsigned kAtOnce = 256;
  alignas(fiemap) std::byte buffer[sizeof(fiemap) + kAtOnce * sizeof(fiemap_extent)];
  std::uint64_t bytes = 0;
  for (std::uint64_t from = 0;;) {
    fiemap* const request = new (buffer) fiemap{};
    request->fm_start = from;
    request->fm_length = FIEMAP_MAX_OFFSET - from;
    request->fm_extent_count = kAtOnce;
    if (ioctl(fd, FS_IOC_FIEMAP, request) != 0) return std::nullopt;
    fiemap_extent last = {};
    for (unsigned i = 0; i < request->fm_mapped_extents; ++i) {
      std::memcpy(&last, buffer + sizeof(fiemap) + i * sizeof last, sizeof last);
      bytes += last.fe_length;
    }
    if (request->fm_mapped_extents == 0 || (last.fe_flags & FIEMAP_EXTENT_LAST) != 0) return bytes;
    from = last.fe_logical + last.fe_length;
  }
}

}  // namespace

Blocks blocks_of(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat status = {};
  if (fd < 0 || fstat(fd, &status) != 0) throw std::runtime_error(path + " cannot be looked at");
  Blocks blocks;
  blocks.all = static_cast<std::uint64_t>(status.st_blocks) * 512;
  blocks.data = std::min(data_of(fd).value_or(blocks.all), blocks.all);
  close(fd);
  return blocks;
}

HoledFile make_holed_file(std::uint64_t seed) {
  Random random(mix(seed, 0x686f6c65));
  const Base& base = bases()[random.below(bases().size())];
  HoledFile file{.name = base.name, .bytes = base.bytes, .holes = {}, .space = {}, .length = 0};
  using Change = void (*)(HoledFile&, Random&);
  constexpr Change kChanges[] = {nullptr, claim_heap, claim_levels, claim_pieces, lie};
  if (const Change change = kChanges[random.below(5)]; change != nullptr) change(file, random);
  make_holes(file, random);
  const std::uint64_t end = std::max<std::uint64_t>(directory_in(file.bytes).end(), file.bytes.size());
  file.length = random.chance(95) ? end : end + any_size(random);
  while (random.chance(30)) {  // a claim of up to twice the blocks is believed
    const std::uint64_t bytes = std::min(any_size(random), kMostSpace);
    file.space.push_back({random.below(file.length / kPage) * kPage, bytes});
  }
  return file;
}

bool write_holed_file(const std::string& path, const HoledFile& file) {
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) throw std::runtime_error("cannot write " + path);
  bool done = ftruncate(fd, static_cast<off_t>(file.length)) == 0;
  for (std::size_t i = 0; done && i < file.holes.size(); ++i) {
    const auto at = static_cast<off_t>(i * kPage);
    if (!file.holes[i]) done = pwrite(fd, file.bytes.data() + at, kPage, at) == static_cast<ssize_t>(kPage);
  }
  for (const system::FileRange& range : file.space) {
    const auto at = static_cast<off_t>(range.offset), bytes = static_cast<off_t>(range.bytes);
    done = done && fallocate(fd, FALLOC_FL_KEEP_SIZE, at, bytes) == 0;
  }
  close(fd);
  return done;
}

}  // namespace holdfast::test::corrupt
