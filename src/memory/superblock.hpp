// superblock.hpp: the first page of a pool: its shape, and where everything else lies. docs/format.md, RULES.md 20.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "core/failpoint.hpp"
#include "holdfast/pool.hpp"
#include "holdfast/score.hpp"

namespace holdfast::memory {

inline constexpr std::uint64_t kMagic = 0x5453'4146'444c'4f48;  // "HOLDFAST", little endian
inline constexpr std::uint32_t kVersion = 4;             // the newest; a pool has the oldest that knows what is in it
inline constexpr std::uint64_t kSuperblockBytes = 4096;  // each of the two copies
inline constexpr std::uint64_t kAsideOffset = 2 * kSuperblockBytes;
inline constexpr std::uint64_t kFirstExtent = 3 * kSuperblockBytes;
inline constexpr unsigned kExtents = 120;
inline constexpr unsigned kMaxLevel = 40;      // level i has 2^i buckets
inline constexpr std::uint64_t kPage = 4096;   // offsets and sizes of extents are multiples of it
inline constexpr unsigned kMaxKeyBytes = 128;  // all multiples of 8 up to it
inline constexpr unsigned kMaxValueBytes = 65536;
inline constexpr std::uint32_t kVariable = holdfast::kVariableBytes;  // in place of a key's or a value's bytes
inline constexpr unsigned kSlabBits = 21;                             // of the heap of variable-length pairs
inline constexpr unsigned kInSlotBytes = 8;                           // values up to this size live in their slots
inline constexpr unsigned kMaxLevels = 5;                             // addressed at once
inline constexpr unsigned kMaxCandidates = 32;                        // levels × hash locations × slots
inline constexpr std::uint64_t kMaxCells = std::uint64_t{1} << 40;
inline constexpr std::uint64_t kMaxHeapBytes = std::uint64_t{1} << 46;

enum class ExtentKind : std::uint32_t { none = 0, level = 1, heap = 2, free = 3 };

/// A range of the file. Heap extents follow each other, in directory order, in the heap's address space.
struct Extent {
  std::uint64_t offset;  ///< bytes, a multiple of 4096
  std::uint64_t bytes;   ///< a multiple of 4096
  ExtentKind kind;
  std::uint32_t level;  ///< its number i, where kind is level
};
static_assert(sizeof(Extent) == 24);

struct Superblock {
  std::uint64_t magic;
  std::uint32_t version;
  std::uint32_t clean;       ///< 1: closed or synced, and not changed since (RULES.md 21)
  std::uint64_t generation;  ///< grows with each write; the newer valid copy counts
  std::uint64_t seed;        ///< of the hash
  std::uint8_t pool_id[16];  ///< random
  std::uint8_t boot_id[16];  ///< of the machine's run in which it was last opened for writing
  std::uint32_t key_bytes;
  std::uint32_t value_bytes;
  std::uint32_t levels;  ///< addressed at once; more are in the directory only while a resize is not finished
  std::uint32_t hash_locations;
  std::uint32_t slots;  ///< a bucket
  std::uint32_t top_level;
  std::uint32_t is_resizing;  ///< levels below top_level - levels + 1 are being rehashed (RULES.md 17)
  std::uint32_t score;        ///< a holdfast::Score: what the cells keep behind their values
  std::uint64_t cells;        ///< of the heap, or slabs
  std::uint64_t
      cell_bytes;  ///< value_bytes rounded up to 8, and the score's, or 0 if values live in their slots, or of a slab
  std::uint64_t created;        ///< seconds since 1970
  std::uint64_t max_bytes;      ///< address space kept for the heap
  std::uint32_t domain;         ///< a holdfast::Domain: what writes survived when it was last changed (RULES.md 9, 21)
  std::uint8_t reserved[1076];  ///< zero
  Extent extents[kExtents];
  std::uint64_t checksum;  ///< of all bytes before it
};
static_assert(sizeof(Superblock) == kSuperblockBytes);
static_assert(offsetof(Superblock, magic) == 0 && offsetof(Superblock, version) == 8);
static_assert(offsetof(Superblock, clean) == 12 && offsetof(Superblock, generation) == 16);
static_assert(offsetof(Superblock, seed) == 24 && offsetof(Superblock, pool_id) == 32);
static_assert(offsetof(Superblock, boot_id) == 48 && offsetof(Superblock, key_bytes) == 64);
static_assert(offsetof(Superblock, value_bytes) == 68 && offsetof(Superblock, levels) == 72);
static_assert(offsetof(Superblock, hash_locations) == 76 && offsetof(Superblock, slots) == 80);
static_assert(offsetof(Superblock, top_level) == 84 && offsetof(Superblock, is_resizing) == 88);
static_assert(offsetof(Superblock, score) == 92 && offsetof(Superblock, cells) == 96);
static_assert(offsetof(Superblock, cell_bytes) == 104 && offsetof(Superblock, created) == 112);
static_assert(offsetof(Superblock, max_bytes) == 120 && offsetof(Superblock, domain) == 128);
static_assert(offsetof(Superblock, reserved) == 132 && offsetof(Superblock, extents) == 1208);
static_assert(offsetof(Superblock, checksum) == 4088);
static_assert(offsetof(Extent, bytes) == 8 && offsetof(Extent, kind) == 16 && offsetof(Extent, level) == 20);

constexpr bool is_key_bytes(std::uint32_t bytes) {
  return bytes == kVariable || (bytes >= 8 && bytes <= kMaxKeyBytes && bytes % 8 == 0);
}
/// Keys and values are of variable length together, or neither are.
constexpr bool is_value_bytes(std::uint32_t key_bytes, std::uint32_t bytes) {
  return key_bytes == kVariable ? bytes == kVariable : bytes <= kMaxValueBytes;
}

/// Version 2 is version 1 with keys of more than 8 bytes, version 3 with variable-length pairs, version 4 with scores, whatever
/// the keys; and only pools that have them are of it.
constexpr std::uint32_t version_for(std::uint32_t key_bytes, Score score) {
  if (score != Score::none) return 4;
  return key_bytes == 8 ? 1 : key_bytes == kVariable ? 3 : 2;
}
/// Variable-length pairs have no scores.
constexpr bool is_score(std::uint32_t key_bytes, std::uint32_t score) {
  return score == 0 || (score < kScores && key_bytes != kVariable);
}

/// The words of a key in its slot, or of its hash.
constexpr std::uint32_t key_words(std::uint32_t key_bytes) { return key_bytes == kVariable ? 1 : key_bytes / 8; }

/// The bytes of a slot: a key of 8 bytes, or the hash of one of variable length, and a word; or the fingerprint of a wider one,
/// a word, and the key.
constexpr std::uint64_t slot_bytes(std::uint32_t key_bytes) { return key_words(key_bytes) == 1 ? 16 : 16 + key_bytes; }

/// The bytes of level `number`, a multiple of 4096. `number` ≤ kMaxLevel, `slots` ≤ 32.
constexpr std::uint64_t level_bytes(unsigned number, unsigned slots, std::uint32_t key_bytes) {
  const std::uint64_t bytes = (std::uint64_t{1} << number) * slots * slot_bytes(key_bytes);
  return (bytes + kPage - 1) / kPage * kPage;
}

/// The bytes of one heap cell, or of a slab; 0 if values of this size live in their slots. A score is the last 8 bytes of its cell.
constexpr std::uint64_t cell_bytes_of(std::uint32_t value_bytes, Score score) {
  if (value_bytes == kVariable) return std::uint64_t{1} << kSlabBits;
  if (score == Score::none && value_bytes <= kInSlotBytes) return 0;
  return (std::uint64_t{value_bytes} + 7) / 8 * 8 + (score == Score::none ? 0 : kScoreBytes);
}

/// Writes the checksum over the rest.
void seal(Superblock& block);
/// True if the magic number and the checksum are right. Says nothing of the fields: see `flaw`.
bool is_intact(const Superblock& block);

/// What is wrong with the fields of an intact superblock whose file has `file_bytes` bytes; empty if nothing is.
/// Every size and offset is checked here, once, before anybody relies on it: a pool may come from somebody else.
std::string flaw(const Superblock& block, std::uint64_t file_bytes);

/// Which of the two copies counts.
struct Choice {
  int copy = -1;  ///< 0: A, 1: B, -1: neither is intact
  bool intact[2] = {};
  bool equal = false;               ///< both are intact and of the same bytes
  std::uint32_t newer_version = 0;  ///< if neither is intact but one looks like a newer version's: that version
};
Choice choose_superblock(const Superblock& a, const Superblock& b);

/// Writes one copy, and waits until it is durable. `Memory` is the index's policy of the same name:
/// store(uint64_t*, uint64_t), flush(const void*, size_t), fence(). `Block` is a Superblock, or the model's smaller one.
template <class Memory, class Block>
void write_copy(Memory& memory, Block* copy, const Block& next) {
  auto* const target = reinterpret_cast<std::uint64_t*>(copy);
  for (std::size_t i = 0; i < sizeof(Block) / 8; ++i) {
    std::uint64_t word = 0;
    std::memcpy(&word, reinterpret_cast<const char*>(&next) + 8 * i, 8);
    memory.store(target + i, word);
  }
  memory.flush(copy, sizeof(Block));
  memory.fence();
}

/// Replaces both copies by `next`, sealed and of a new generation, so that a crash at any store leaves one intact copy of the
/// old or of the new: A is durable before the first store to B (RULES.md 20).
template <class Memory, class Block>
void write_superblock(Memory& memory, Block* a, Block* b, const Block& next) {
  write_copy(memory, a, next);
  HOLDFAST_FAILPOINT(superblock_half_written);
  write_copy(memory, b, next);
}

}  // namespace holdfast::memory
