// table_shape.cpp: a table's shape from a header and extents of unknown origin.
#include "structures/gphash/table_shape.hpp"

#include <algorithm>
#include <cstring>

#include "holdfast/error.hpp"
#include "structures/gphash/protocol/geometry.hpp"

namespace holdfast::gphash {

namespace {

std::string number(std::uint64_t value) { return std::to_string(value); }

void require(bool condition, const std::string& message) {
  if (!condition) throw InvalidArgument(message);
}

std::uint64_t slots_of(const TableShape& shape) {
  const std::uint64_t top = std::uint64_t{1} << shape.top_level;
  return (2 * top - (top >> (shape.levels - 1))) * shape.slots;
}

std::string flaw_in_sizes(const TableHeader& header) {
  if (!is_key_bytes(header.key_bytes)) return "keys of " + number(header.key_bytes) + " bytes";
  if (!is_score(header.key_bytes, header.score)) return "scores of kind " + number(header.score);
  if (!is_value_bytes(header.key_bytes, header.value_bytes))
    return "values of " + number(header.value_bytes) + " bytes";
  if (header.cell_bytes != cell_bytes_of(header.value_bytes, static_cast<Score>(header.score))) {
    return "cells of " + number(header.cell_bytes) + " bytes";
  }
  if (header.levels < 1 || header.levels > gphash::kMaxLevels) return number(header.levels) + " levels";
  if (header.hash_locations < 1 || header.hash_locations > gphash::kMaxLanes) {
    return number(header.hash_locations) + " hash locations";
  }
  if (header.slots < 1 || header.slots > gphash::kMaxLanes) return number(header.slots) + " slots a bucket";
  if (std::uint64_t{header.levels} * header.hash_locations * header.slots > gphash::kMaxLanes) {
    return "more than " + number(gphash::kMaxLanes) + " candidate slots a key";
  }
  if (header.max_bytes % pool::kPage != 0 || header.max_bytes > kMaxHeapBytes) {
    return "a heap of at most " + number(header.max_bytes) + " bytes";
  }
  return {};
}

/// The levels are there without a gap, as many as are addressed, or more, of which the lowest are being rehashed.
std::string read_levels(const std::vector<pool::Extent>& levels, TableShape& shape) {
  if (levels.size() < shape.levels)
    return "it has " + number(levels.size()) + " levels and needs " + number(shape.levels);
  for (std::size_t i = 0; i < levels.size(); ++i) {
    const pool::Extent& level = levels[i];
    if (level.index > kMaxLevel) return "it has a level " + number(level.index);
    if (level.index != levels[0].index + i) return "level " + number(levels[0].index + i) + " is missing";
    if (level.bytes != level_bytes(level.index, shape.slots, shape.key_bytes)) {
      return "level " + number(level.index) + " has " + number(level.bytes) + " bytes";
    }
  }
  shape.top_level = levels.back().index;
  shape.is_resizing = levels.size() > shape.levels;
  return {};
}

std::string read_heap(const std::vector<pool::Extent>& heap, TableShape& shape) {
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < heap.size(); ++i) {
    if (heap[i].index != i) return "piece " + number(i) + " of its heap is missing";
    bytes += heap[i].bytes;  // cannot overflow: they lie in one file, apart
  }
  if (shape.cell_bytes == 0) return bytes == 0 ? "" : "it has a heap that it does not need";
  if (bytes > (shape.max_bytes == 0 ? kMaxHeapBytes : shape.max_bytes)) {
    return "its heap is larger than it may be";
  }
  shape.cells = std::min(bytes / shape.cell_bytes, kMaxCells);
  return {};
}

}  // namespace

void size_for(TableShape& shape, std::uint64_t items) {
  shape.top_level = shape.levels;
  while (slots_of(shape) * 9 / 10 < items) ++shape.top_level;
  const bool in_cells = cell_bytes_of(shape.value_bytes, shape.score) != 0;
  shape.cells = in_cells ? items + items / 32 + 64 : 0;  // changes need free ones: rule 6
  if (shape.value_bytes == kVariable) {                  // a directory, and the heap grows by itself
    shape.cells = 1 + std::max<std::uint64_t>(1, items / (heap::kSlabBytes / 64));
  }
}

void check_shape(const TableShape& shape) {
  require(is_key_bytes(shape.key_bytes),
          "key_bytes is " + number(shape.key_bytes) + "; use 8 or another multiple of it up to 128");
  require(is_value_bytes(shape.key_bytes, shape.value_bytes),
          "value_bytes is " + number(shape.value_bytes) + "; at most 65536 are possible");
  require(is_score(shape.key_bytes, static_cast<std::uint32_t>(shape.score)),
          "score is " + std::string(name(shape.score)) + ", and pairs of any length keep none");
  require(shape.levels >= 1 && shape.levels <= gphash::kMaxLevels,
          "levels is " + number(shape.levels) + "; use 1 to " + number(gphash::kMaxLevels));
  require(shape.hash_locations >= 1 && shape.hash_locations <= gphash::kMaxLanes && shape.slots >= 1 &&
              shape.slots <= gphash::kMaxLanes &&
              std::uint64_t{shape.levels} * shape.hash_locations * shape.slots <= gphash::kMaxLanes,
          "levels × hash_locations × slots must be from 1 to 32");
  require(shape.top_level <= kMaxLevel && shape.top_level + 1 >= shape.levels,
          "top_level is " + number(shape.top_level) + "; use levels - 1 to " + number(kMaxLevel));
  require(shape.max_bytes <= kMaxHeapBytes, "max_bytes is " + number(shape.max_bytes) + "; at most 2^46 are possible");
  require(shape.cells <= kMaxCells, "cells is " + number(shape.cells) + "; at most 2^40 are possible");
}

TableHeader header_of(const TableShape& shape) {
  return {.seed = shape.seed,
          .key_bytes = shape.key_bytes,
          .value_bytes = shape.value_bytes,
          .levels = shape.levels,
          .hash_locations = shape.hash_locations,
          .slots = shape.slots,
          .score = static_cast<std::uint32_t>(shape.score),
          .cell_bytes = shape.cell_bytes,
          .max_bytes = shape.max_bytes,
          .created = shape.created};
}

std::string read_shape(const pool::Directory& directory, std::uint32_t object, const pool::ObjectPage& page,
                       TableShape& shape) {
  if (page.header_bytes != sizeof(TableHeader)) return "its header has " + number(page.header_bytes) + " bytes";
  TableHeader header;
  std::memcpy(&header, page.header, sizeof header);
  if (const std::string what = flaw_in_sizes(header); !what.empty()) return "it has " + what;
  shape = {.seed = header.seed,
           .key_bytes = header.key_bytes,
           .value_bytes = header.value_bytes,
           .levels = header.levels,
           .hash_locations = header.hash_locations,
           .slots = header.slots,
           .score = static_cast<Score>(header.score),
           .cell_bytes = header.cell_bytes,
           .max_bytes = header.max_bytes,
           .created = header.created};
  const auto pages = directory.extents_of(object, pool::kPagesRole);
  const auto levels = directory.extents_of(object, kLevelRole), heap = directory.extents_of(object, kHeapRole);
  std::size_t extents = 0;
  for (const pool::Extent& extent : directory.extents) extents += extent.object == object ? 1 : 0;
  if (extents != pages.size() + levels.size() + heap.size()) return "it has extents that no table has";
  if (pages.at(0).bytes != kPagesBytes) return "it has no reserved-key slot";
  if (std::string what = read_levels(levels, shape); !what.empty()) return what;
  return read_heap(heap, shape);
}

}  // namespace holdfast::gphash
