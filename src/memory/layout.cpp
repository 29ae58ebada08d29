// layout.cpp: keeps the directory short and its free space in one piece.
#include "memory/layout.hpp"

#include <algorithm>
#include <iterator>
#include <string>

#include "core/both.hpp"
#include "core/checked.hpp"
#include "holdfast/error.hpp"
#include "memory/mapping.hpp"

namespace holdfast::memory {

Layout::Layout(const Superblock& block) {
  for (const Extent& extent : block.extents) {
    if (extent.kind == ExtentKind::level) levels_.push_back(extent);
    if (extent.kind == ExtentKind::heap) heap_.push_back(extent);
    if (extent.kind == ExtentKind::free) free_.push_back(extent);
  }
  std::sort(levels_.begin(), levels_.end(), [](const Extent& a, const Extent& b) { return a.level < b.level; });
}

void Layout::store(Superblock& block) const {
  HOLDFAST_ASSERT(entries() <= kExtents);
  std::fill(std::begin(block.extents), std::end(block.extents), Extent{});
  Extent* at = block.extents;
  for (const auto* list : {&levels_, &heap_, &free_}) at = std::copy(list->begin(), list->end(), at);
}

std::uint64_t Layout::heap_bytes() const {
  std::uint64_t bytes = 0;
  for (const Extent& extent : heap_) bytes += extent.bytes;
  return bytes;
}

std::uint64_t Layout::end() const {
  std::uint64_t end = kFirstExtent;
  for (const auto* list : {&levels_, &heap_, &free_}) {
    for (const Extent& extent : *list) end = std::max(end, extent.offset + extent.bytes);
  }
  return end;
}

void Layout::add_level(unsigned number, std::uint64_t offset, std::uint64_t bytes) {
  levels_.push_back({.offset = offset, .bytes = bytes, .kind = ExtentKind::level, .level = number});
}

void Layout::free_lowest_level() {
  Extent freed = levels_.front();
  levels_.erase(levels_.begin());
  freed.kind = ExtentKind::free;
  freed.level = 0;
  free_.push_back(freed);
  std::sort(free_.begin(), free_.end(), [](const Extent& a, const Extent& b) { return a.offset < b.offset; });
  for (std::size_t i = free_.size() - 1; i > 0; --i) {
    if (free_[i - 1].offset + free_[i - 1].bytes != free_[i].offset) continue;
    free_[i - 1].bytes += free_[i].bytes;
    free_.erase(free_.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

void Layout::add_heap(std::uint64_t offset, std::uint64_t bytes) {
  if (!heap_.empty() && heap_.back().offset + heap_.back().bytes == offset) {
    heap_.back().bytes += bytes;
  } else {
    heap_.push_back({.offset = offset, .bytes = bytes, .kind = ExtentKind::heap, .level = 0});
  }
}

void Layout::cut_free(std::size_t index, std::uint64_t bytes) {
  free_[index].offset += bytes;
  free_[index].bytes -= bytes;
  if (free_[index].bytes == 0) free_.erase(free_.begin() + static_cast<std::ptrdiff_t>(index));
}

std::optional<std::uint64_t> Layout::take_free(std::uint64_t bytes, std::uint64_t granule) {
  std::size_t best = free_.size();
  for (std::size_t i = 0; i < free_.size(); ++i) {
    if (free_[i].bytes < bytes || free_[i].offset % granule != 0) continue;
    if (best == free_.size() || free_[i].bytes < free_[best].bytes) best = i;
  }
  if (best == free_.size()) return std::nullopt;
  const std::uint64_t offset = free_[best].offset;
  cut_free(best, bytes);
  return offset;
}

std::optional<Extent> Layout::take_some_free(std::uint64_t bytes, std::uint64_t granule) {
  const auto usable = [&](const Extent& extent) {
    return extent.offset % granule == 0 ? extent.bytes / granule * granule : 0;
  };
  const auto largest = std::max_element(free_.begin(), free_.end(),
                                        [&](const Extent& a, const Extent& b) { return usable(a) < usable(b); });
  if (largest == free_.end() || usable(*largest) == 0 || bytes == 0) return std::nullopt;
  Extent taken = *largest;
  taken.bytes = std::min(bytes, usable(*largest));
  cut_free(static_cast<std::size_t>(largest - free_.begin()), taken.bytes);
  return taken;
}

std::uint64_t place_behind(std::uint64_t end, std::uint64_t bytes, std::uint64_t address, std::uint64_t granule) {
  const std::uint64_t offset = round_up(end, granule);
  if (bytes < kHugePage || granule > kHugePage) return offset;
  return offset + (address % kHugePage + kHugePage - offset % kHugePage) % kHugePage;
}

void lay_out(Superblock& block, std::uint64_t granule) {
  std::fill(std::begin(block.extents), std::end(block.extents), Extent{});
  Layout layout(block);
  for (unsigned number = block.top_level + 1 - block.levels; number <= block.top_level; ++number) {
    const std::uint64_t bytes = level_bytes(number, block.slots, block.key_bytes);
    layout.add_level(number, place_behind(layout.end(), bytes, 0, granule), bytes);
  }
  if (block.cells != 0) {
    const auto bytes = checked_mul(block.cells, block.cell_bytes);
    if (!bytes || *bytes > block.max_bytes) {
      throw InvalidArgument(std::to_string(block.cells) + " cells of " + std::to_string(block.cell_bytes) +
                            " bytes do not fit into max_bytes; give a larger one");
    }
    const std::uint64_t rounded = round_up(*bytes, granule);
    layout.add_heap(place_behind(layout.end(), rounded, 0, granule), rounded);
    if (rounded > block.max_bytes) block.max_bytes = rounded;
  }
  layout.store(block);
}

}  // namespace holdfast::memory
