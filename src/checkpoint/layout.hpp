// layout.hpp: a copy of a checkpoint, as it lies in a pool, and the word that says which counts. docs/format.md, "Checkpoint".
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/both.hpp"
#include "core/checksum.hpp"

namespace holdfast::checkpoint {

inline constexpr std::uint32_t kVersion = 1;
inline constexpr unsigned kMostCopies = 8;
inline constexpr std::uint16_t kCopyRole = 1;                       ///< index: the copy
inline constexpr std::uint64_t kBlock = 64 << 10;                   ///< bytes of a checksum
inline constexpr std::uint64_t kAlignment = 128;                    ///< of a tensor (GPM §5.3)
inline constexpr std::uint64_t kCopyMagic = 0x5059'504f'434b'4348;  // "HCKCOPYP"

/// The header of the object's type, in its pages.
struct CheckpointHeader {
  std::uint32_t copies;
  std::uint32_t reserved;
  std::uint64_t created;
};
static_assert(sizeof(CheckpointHeader) == 16);

/// What a copy begins with. Behind it: tensors, shapes, names, text, checksums of blocks; the data begins at the next page.
struct CopyHeader {
  std::uint64_t magic;
  std::uint64_t sequence;  ///< of the save; 0: the copy is being written, or never was
  std::uint64_t step, created;
  std::uint64_t tensors, dimensions, names_bytes, text_bytes;
  std::uint64_t data_bytes, data_offset;
  std::uint64_t catalogue_checksum;  ///< of what lies between this header and the last checksum of a block
  std::uint64_t reserved[4];
  std::uint64_t checksum;
};
static_assert(sizeof(CopyHeader) == 128 && offsetof(CopyHeader, sequence) == 8);

struct TensorEntry {
  std::uint64_t offset, bytes;  ///< in the data
  std::uint32_t element, rank;
  std::uint64_t name_bytes;
};
static_assert(sizeof(TensorEntry) == 32);

/// The word that counts: 16 bits that check the others, the sequence of the newest save, and its copy in the three lowest bits.
/// 0: nothing was saved.
inline constexpr std::uint64_t kSequences = std::uint64_t{1} << 45;
inline constexpr std::uint64_t word_of(std::uint64_t sequence, unsigned copy) {
  HOLDFAST_ASSERT(sequence < kSequences && copy < kMostCopies);
  const std::uint64_t low = sequence << 3 | copy;
  return checksum_step(0, low) >> 48 << 48 | low;
}
inline constexpr std::uint64_t sequence_in(std::uint64_t word) { return word << 16 >> 19; }
inline constexpr unsigned copy_in(std::uint64_t word) { return word & 7; }
inline constexpr bool is_whole(std::uint64_t word) {
  return word == 0 || word == word_of(sequence_in(word), copy_in(word));
}

/// Of up to 64 KiB: 32 lanes, of which lane i takes in the words i, i + 32, …, so that a warp or a vector computes it; then the
/// lanes, in order. Damage confined to one word is always found.
inline std::uint64_t block_checksum(const std::byte* data, std::size_t bytes) {
  constexpr unsigned kLanes = 32;
  std::uint64_t lanes[kLanes];
  for (unsigned lane = 0; lane < kLanes; ++lane) lanes[lane] = lane;
  std::size_t at = 0;
  for (; at + 8 * kLanes <= bytes; at += 8 * kLanes) {
    std::uint64_t words[kLanes];
    std::memcpy(words, data + at, sizeof words);
    for (unsigned lane = 0; lane < kLanes; ++lane) lanes[lane] = checksum_step(lanes[lane], words[lane]);
  }
  for (unsigned lane = 0; at < bytes; at += 8, ++lane) {
    std::uint64_t word = 0;
    std::memcpy(&word, data + at, bytes - at < 8 ? bytes - at : 8);
    lanes[lane] = checksum_step(lanes[lane], word);
  }
  std::uint64_t state = checksum_step(0, bytes);
  for (const std::uint64_t lane : lanes) state = checksum_step(state, lane);
  return state;
}

}  // namespace holdfast::checkpoint
