// fresh_rows.hpp: the rows of an index that is yet to be filled, sorted by the partition of their buckets while several threads find them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "structures/cuckoo/geometry.hpp"
#include "structures/dramhit/pages.hpp"

namespace holdfast::cuckoo {

struct Row {
  Hash hash;
  Location location;
};

/// A place in a list of spans without empty ones.
struct RowCursor {
  const std::vector<std::span<const Row>>& spans;
  std::size_t span = 0, at = 0;

  bool ends() const { return span == spans.size(); }
  const Row& row() const { return spans[span][at]; }
  void advance() {
    if (++at < spans[span].size()) return;
    ++span;
    at = 0;
  }
};

/// What one thread finds. Rows of part p have p in the hash's bits from `kFirstBit` on: those of a bucket's number, in an index that was created with its
/// size, that name the partition. So the size of the index need not be known before the rows are.
class FreshRows {
 public:
  static constexpr unsigned kFirstBit = 32 + kPartitionBits;
  static constexpr unsigned kMostPartBits = 9;  ///< as many pages are written side by side

  /// For at most `most` rows in all, in 2^part_bits parts. 16 bytes a row, in huge pages where there are many.
  FreshRows(std::uint64_t most, unsigned part_bits)
      : parts_(std::size_t{1} << part_bits),
        mask_((std::uint64_t{1} << part_bits) - 1),
        chunk_bytes_(most >= kManyRows ? kLargeChunk : kSmallChunk) {}

  /// Throws NoSpace.
  void add(Hash hash, Location location) {
    Part& part = parts_[hash >> kFirstBit & mask_];
    if (part.next == part.end) begin_block(part);
    *part.next++ = {hash, location};
  }

  std::uint64_t size() const {
    std::uint64_t rows = 0;
    for (const Part& part : parts_) rows += part.size();
    return rows;
  }
  std::size_t parts() const { return parts_.size(); }
  /// Adds the rows of a part to `spans`.
  void list(std::size_t part, std::vector<std::span<const Row>>& spans) const {
    const Part& its = parts_[part];
    for (std::size_t i = 0; i < its.blocks.size(); ++i) {
      const bool is_last = i + 1 == its.blocks.size();
      spans.push_back({its.blocks[i], is_last ? its.next : its.blocks[i] + kBlockRows});
    }
  }

 private:
  static constexpr std::size_t kBlockRows = 256;  // a page
  static constexpr std::uint64_t kManyRows = std::uint64_t{1} << 18;
  static constexpr std::size_t kSmallChunk = std::size_t{64} << 10, kLargeChunk = std::size_t{8} << 20;

  struct Part {
    std::vector<Row*> blocks;
    Row* next = nullptr;
    Row* end = nullptr;

    std::uint64_t size() const {
      return blocks.empty() ? 0 : (blocks.size() - 1) * kBlockRows + static_cast<std::size_t>(next - blocks.back());
    }
  };

  void begin_block(Part& part);

  std::vector<Part> parts_;
  std::uint64_t mask_;
  std::size_t chunk_bytes_;
  std::vector<dramhit::Pages> chunks_;
  std::byte* next_ = nullptr;  ///< in the last chunk
  std::byte* end_ = nullptr;
};

}  // namespace holdfast::cuckoo
