// superblock.cpp: checks every field of a superblock that may be damaged, half-written or made to mislead.
#include "memory/superblock.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "core/checked.hpp"
#include "core/checksum.hpp"
#include "holdfast/pool.hpp"

namespace holdfast::memory {

static_assert(std::endian::native == std::endian::little, "pools are little endian");

namespace {

std::string number(std::uint64_t value) { return std::to_string(value); }

std::string flaw_in_shape(const Superblock& block) {
  if (block.version < 1 || block.version > kVersion) return "version " + number(block.version) + " never existed";
  if (block.clean > 1) return "its clean mark is " + number(block.clean);
  if (block.is_resizing > 1) return "its mark of a resize is " + number(block.is_resizing);
  if (block.generation == 0 || block.generation >> 63 != 0) return "generation " + number(block.generation);
  if (!is_key_bytes(block.key_bytes)) return "keys of " + number(block.key_bytes) + " bytes";
  if (!is_score(block.key_bytes, block.score)) return "scores of kind " + number(block.score);
  const auto score = static_cast<Score>(block.score);
  if (block.version != version_for(block.key_bytes, score)) {
    return "keys of " + number(block.key_bytes) + " bytes" + (score == Score::none ? "" : " and scores") +
           " in a pool of version " + number(block.version);
  }
  if (!is_value_bytes(block.key_bytes, block.value_bytes)) return "values of " + number(block.value_bytes) + " bytes";
  if (block.cell_bytes != cell_bytes_of(block.value_bytes, score))
    return "cells of " + number(block.cell_bytes) + " bytes";
  if (block.levels < 1 || block.levels > kMaxLevels) return number(block.levels) + " levels";
  if (block.hash_locations < 1 || block.hash_locations > kMaxCandidates) {
    return number(block.hash_locations) + " hash locations";
  }
  if (block.slots < 1 || block.slots > kMaxCandidates) return number(block.slots) + " slots a bucket";
  if (std::uint64_t{block.levels} * block.hash_locations * block.slots > kMaxCandidates) {
    return "more than " + number(kMaxCandidates) + " candidate slots a key";
  }
  if (block.top_level > kMaxLevel || block.top_level + 1 < block.levels) {
    return "top level " + number(block.top_level);
  }
  if (block.domain > static_cast<std::uint32_t>(Domain::power)) return "domain " + number(block.domain);
  if (block.max_bytes == 0 || block.max_bytes % kPage != 0 || block.max_bytes > kMaxHeapBytes) {
    return "a heap of at most " + number(block.max_bytes) + " bytes";
  }
  const auto* const reserved = std::begin(block.reserved);
  if (std::any_of(reserved, std::end(block.reserved), [](std::uint8_t byte) { return byte != 0; })) {
    return "reserved bytes are not zero";
  }
  return {};
}

/// Each extent by itself: where it lies and whether its kind makes sense.
std::string flaw_in_extent(const Superblock& block, const Extent& extent, std::uint64_t file_bytes) {
  if (extent.kind == ExtentKind::none) {
    return extent.offset == 0 && extent.bytes == 0 && extent.level == 0 ? "" : "is unused, but not zero";
  }
  if (extent.kind > ExtentKind::free) return "is of kind " + number(static_cast<std::uint32_t>(extent.kind));
  if (extent.offset < kFirstExtent || extent.offset % kPage != 0) return "begins at byte " + number(extent.offset);
  if (extent.bytes == 0 || extent.bytes % kPage != 0) return "has " + number(extent.bytes) + " bytes";
  const auto end = checked_add(extent.offset, extent.bytes);
  if (!end || *end > file_bytes) {
    return "reaches beyond the end of the file, which has " + number(file_bytes) + " bytes (was it cut short?)";
  }
  if (extent.kind != ExtentKind::level) return extent.level == 0 ? "" : "is no level, but has a level's number";
  if (extent.level > block.top_level) return "is level " + number(extent.level) + ", above the top level";
  if (extent.bytes != level_bytes(extent.level, block.slots, block.key_bytes)) {
    return "is level " + number(extent.level) + ", but has " + number(extent.bytes) + " bytes";
  }
  return {};
}

std::string flaw_in_overlap(const Superblock& block) {
  std::array<Extent, kExtents> used;
  auto* const end = std::copy_if(std::begin(block.extents), std::end(block.extents), used.data(),
                                 [](const Extent& extent) { return extent.kind != ExtentKind::none; });
  std::sort(used.data(), end, [](const Extent& a, const Extent& b) { return a.offset < b.offset; });
  for (const Extent* at = used.data(); at + 1 < end; ++at) {
    if (at->offset + at->bytes > at[1].offset) return "two extents overlap at byte " + number(at[1].offset);
  }
  return {};
}

std::string flaw_in_levels(const Superblock& block) {
  std::array<bool, kMaxLevel + 1> present = {};
  unsigned count = 0;
  for (const Extent& extent : block.extents) {
    if (extent.kind != ExtentKind::level) continue;
    if (present[extent.level]) return "level " + number(extent.level) + " is there twice";
    present[extent.level] = true;
    ++count;
  }
  if (count < block.levels) return "it has " + number(count) + " levels and needs " + number(block.levels);
  if (count > block.levels && block.is_resizing == 0) return "it has more levels than it addresses, but no resize runs";
  for (unsigned i = 0; i < count; ++i) {
    if (!present[block.top_level - i]) return "level " + number(block.top_level - i) + " is missing";
  }
  return {};
}

std::string flaw_in_heap(const Superblock& block) {
  std::uint64_t bytes = 0;
  for (const Extent& extent : block.extents) {
    if (extent.kind == ExtentKind::heap) bytes += extent.bytes;  // cannot overflow: they lie in one file, apart
  }
  if (block.cells > kMaxCells) return number(block.cells) + " cells";
  if (block.cell_bytes == 0) return block.cells == 0 && bytes == 0 ? "" : "it has a heap that it does not need";
  if (bytes > block.max_bytes) return "its heap is larger than the address space kept for it";
  const auto needed = checked_mul(block.cells, block.cell_bytes);
  if (!needed || *needed > bytes) return "its heap is too small for " + number(block.cells) + " cells";
  return {};
}

}  // namespace

void seal(Superblock& block) { block.checksum = checksum(&block, offsetof(Superblock, checksum)); }

bool is_intact(const Superblock& block) {
  return block.magic == kMagic && block.checksum == checksum(&block, offsetof(Superblock, checksum));
}

std::string flaw(const Superblock& block, std::uint64_t file_bytes) {
  if (std::string what = flaw_in_shape(block); !what.empty()) return what;
  for (unsigned i = 0; i < kExtents; ++i) {
    const std::string what = flaw_in_extent(block, block.extents[i], file_bytes);
    if (!what.empty()) return "extent " + number(i) + " " + what;
  }
  if (std::string what = flaw_in_overlap(block); !what.empty()) return what;
  if (std::string what = flaw_in_levels(block); !what.empty()) return what;
  return flaw_in_heap(block);
}

Choice choose_superblock(const Superblock& a, const Superblock& b) {
  Choice choice;
  choice.intact[0] = is_intact(a);
  choice.intact[1] = is_intact(b);
  if (choice.intact[0] && choice.intact[1]) {
    choice.equal = std::memcmp(&a, &b, sizeof a) == 0;
    choice.copy = b.generation > a.generation ? 1 : 0;
  } else if (choice.intact[0] || choice.intact[1]) {
    choice.copy = choice.intact[0] ? 0 : 1;
  } else {
    // A later version may well compute its checksum otherwise. One copy alone could be a flipped bit.
    const bool newer = a.magic == kMagic && b.magic == kMagic && a.version > kVersion && a.version == b.version;
    choice.newer_version = newer ? a.version : 0;
  }
  return choice;
}

}  // namespace holdfast::memory
