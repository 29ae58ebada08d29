// table_shape.hpp: what a table is like, in memory and in its object's header. docs/format.md, "Table".
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "heap/slab.hpp"
#include "holdfast/pool.hpp"
#include "holdfast/score.hpp"
#include "pool/directory.hpp"
#include "pool/object_page.hpp"

namespace holdfast::gphash {

inline constexpr std::uint32_t kTableVersion = 1;
inline constexpr unsigned kMaxLevel = 40;      // level i has 2^i buckets
inline constexpr unsigned kMaxKeyBytes = 128;  // all multiples of 8 up to it
inline constexpr unsigned kMaxValueBytes = 65536;
inline constexpr std::uint32_t kVariable = kVariableBytes;  // in place of a key's or a value's bytes
inline constexpr unsigned kInSlotBytes = 8;                 // values up to this size live in their slots
inline constexpr std::uint64_t kMaxCells = std::uint64_t{1} << 40;
inline constexpr std::uint64_t kMaxHeapBytes = std::uint64_t{1} << 46;

// What a table's extents are for. The first page behind the object's pages is that of its reserved-key slot.
inline constexpr std::uint16_t kLevelRole = 1;                         ///< the index is the number of the level
inline constexpr std::uint16_t kHeapRole = 2 | pool::kPiecesOfARange;  ///< the value heap, or its slabs
inline constexpr std::uint64_t kReservedSlotOffset = 2 * pool::kPage;  // in the object's first extent
inline constexpr std::uint64_t kPagesBytes = kReservedSlotOffset + pool::kPage;
inline constexpr std::uint64_t kStepOffset = kPagesBytes - 64;  // of a StepRecord, in a separate line

/// What never changes of a table, as it lies in its object's page.
struct TableHeader {
  std::uint64_t seed;  ///< of the hash
  std::uint32_t key_bytes, value_bytes;
  std::uint32_t levels, hash_locations;  ///< GPHash §3.1; levels addressed at once
  std::uint32_t slots;                   ///< a bucket
  std::uint32_t score;                   ///< a holdfast::Score: what the cells keep behind their values
  std::uint64_t cell_bytes;              ///< 0 if values live in their slots
  std::uint64_t max_bytes;               ///< the heap never grows beyond; 0: not declared
  std::uint64_t created;                 ///< seconds since 1970
};
static_assert(sizeof(TableHeader) == 56 && offsetof(TableHeader, key_bytes) == 8);
static_assert(offsetof(TableHeader, levels) == 16 && offsetof(TableHeader, slots) == 24);
static_assert(offsetof(TableHeader, cell_bytes) == 32 && offsetof(TableHeader, max_bytes) == 40);
static_assert(sizeof(TableHeader) <= pool::kHeaderBytes);

/// Of a table with scores of steps: no score is larger than `step`. The record is written before the first change of each larger step;
/// where the checksum is wrong, a crash came between its two words, or an older version made the table.
struct StepRecord {
  std::uint64_t step;
  std::uint64_t checksum;  ///< of the step
};
static_assert(sizeof(StepRecord) == 16 && kStepOffset % 64 == 0);

/// A table's header, and what its extents say.
struct TableShape {
  std::uint64_t seed = 0;  ///< 0, of a table to be made: random
  std::uint32_t key_bytes = 8, value_bytes = 8;
  std::uint32_t levels = 2, hash_locations = 2, slots = 8;
  Score score = Score::none;
  std::uint64_t cell_bytes = 0;  ///< value_bytes rounded up to 8, and the score's; or of a slab; see cell_bytes_of
  std::uint64_t max_bytes = 0;
  std::uint64_t created = 0;
  // Derived from the extents, and never stored.
  std::uint32_t top_level = 4;
  bool is_resizing = false;  ///< there are levels below top_level - levels + 1, which are being rehashed (rule 17)
  std::uint64_t cells = 0;   ///< of the heap, or slabs
};

constexpr bool is_key_bytes(std::uint32_t bytes) {
  return bytes == kVariable || (bytes >= 8 && bytes <= kMaxKeyBytes && bytes % 8 == 0);
}
/// Keys and values are of variable length together, or neither are.
constexpr bool is_value_bytes(std::uint32_t key_bytes, std::uint32_t bytes) {
  return key_bytes == kVariable ? bytes == kVariable : bytes <= kMaxValueBytes;
}
/// Variable-length pairs have no scores.
constexpr bool is_score(std::uint32_t key_bytes, std::uint32_t score) {
  return score == 0 || (score < kScores && key_bytes != kVariable);
}

/// The words of a key in its slot, or of its hash.
constexpr std::uint32_t key_words(std::uint32_t key_bytes) { return key_bytes == kVariable ? 1 : key_bytes / 8; }

/// The bytes of a slot: a key of 8 bytes, or the hash of one of variable length, and a word; or the fingerprint of a wider one,
/// a word, and the key.
constexpr std::uint64_t slot_bytes_of(std::uint32_t key_bytes) {
  return key_words(key_bytes) == 1 ? 16 : 16 + key_bytes;
}

/// The bytes of level `number`, a multiple of 4096. `number` ≤ kMaxLevel, `slots` ≤ 32.
constexpr std::uint64_t level_bytes(unsigned number, unsigned slots, std::uint32_t key_bytes) {
  const std::uint64_t bytes = (std::uint64_t{1} << number) * slots * slot_bytes_of(key_bytes);
  return (bytes + pool::kPage - 1) / pool::kPage * pool::kPage;
}

/// The bytes of one heap cell, or of a slab; 0 if values of this size live in their slots. A score is the last 8 bytes of its cell.
constexpr std::uint64_t cell_bytes_of(std::uint32_t value_bytes, Score score) {
  if (value_bytes == kVariable) return std::uint64_t{1} << heap::kSlabBits;
  if (score == Score::none && value_bytes <= kInSlotBytes) return 0;
  return (std::uint64_t{value_bytes} + 7) / 8 * 8 + (score == Score::none ? 0 : kScoreBytes);
}

/// Gives a shape the levels and the cells of a table that is made for `items` items. With pairs of any length the cells are slabs, as if
/// pairs had 64 bytes.
void size_for(TableShape& shape, std::uint64_t items);

/// Throws InvalidArgument where no table can be like `shape`.
void check_shape(const TableShape& shape);

TableHeader header_of(const TableShape& shape);

/// The shape of table `object` of an intact directory, from the header in its page. Says what is wrong, or nothing: all that the
/// directory does not check is checked here.
std::string read_shape(const pool::Directory& directory, std::uint32_t object, const pool::ObjectPage& page,
                       TableShape& shape);

}  // namespace holdfast::gphash
