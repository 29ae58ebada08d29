// layout.hpp: the directory of a pool as lists to plan with: which level and which part of the heap lies where.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/bits.hpp"
#include "memory/superblock.hpp"

namespace holdfast::memory {

/// The extents of a superblock, sorted out. The heap's are in the order of their addresses.
class Layout {
 public:
  explicit Layout(const Superblock& block);
  /// Writes the directory. At most kExtents entries: see `entries`.
  void store(Superblock& block) const;

  std::size_t entries() const { return levels_.size() + heap_.size() + free_.size(); }
  const std::vector<Extent>& levels() const { return levels_; }  ///< from the lowest up
  const std::vector<Extent>& heap() const { return heap_; }
  const std::vector<Extent>& free() const { return free_; }
  std::uint64_t heap_bytes() const;
  /// Where the last extent ends: what is beyond belongs to nothing.
  std::uint64_t end() const;

  void add_level(unsigned number, std::uint64_t offset, std::uint64_t bytes);
  /// The lowest level's extent becomes free.
  void free_lowest_level();
  /// Appends to the heap; extends its last extent if that ends at `offset`.
  void add_heap(std::uint64_t offset, std::uint64_t bytes);
  /// Takes the first `bytes` of the smallest free extent that has so many and begins at a multiple of `granule`.
  std::optional<std::uint64_t> take_free(std::uint64_t bytes, std::uint64_t granule);
  /// Takes as much as fits into `bytes`, a multiple of `granule`, from the largest free extent.
  std::optional<Extent> take_some_free(std::uint64_t bytes, std::uint64_t granule);

 private:
  void cut_free(std::size_t index, std::uint64_t bytes);
  std::vector<Extent> levels_, heap_, free_;
};

/// Where an extent of `bytes` goes behind `end`: at a multiple of `granule`, and, if it holds a huge page, where it leaves
/// the same rest as `address` when divided by 2 MiB.
std::uint64_t place_behind(std::uint64_t end, std::uint64_t bytes, std::uint64_t address, std::uint64_t granule);

/// Writes the directory of a pool that is new: the levels that `block` addresses, and behind them the heap in one piece, so
/// that it can be extended in place. Throws InvalidArgument if its cells do not fit into max_bytes.
void lay_out(Superblock& block, std::uint64_t granule);

}  // namespace holdfast::memory
