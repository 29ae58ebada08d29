// cell.hpp: an item as it lies in the pool. docs/internals/store.md.
//
//   word 0   sequence number: unique, written last; zero: the cell is free
//   word 1   state: live, stale, and when the item expires; replaced in place under the claim of its key
//   word 2   client flags, bytes of the value
//   word 3   checksum, bytes of the key, whether a CAS id follows, number of chunks
//   then     the CAS id that a client gave (if any); the key, then the value, each padded with zeros to whole words
//
// Words 0 to 3 lie in one line of 64 bytes, and an item with a key and a value of 16 bytes fills it. The checksum covers everything but
// the state, which has separate check bits. An item that is not live is dead: whatever else its cell holds means nothing.
//
// A value that is too large for a cell lies in chunks, in other cells; in its place are their locations, two in a word. A chunk:
//
//   word 0   zero: no item begins here
//   word 1   the location of the item's cell, which chunk it is, and bit 63
//   word 2   the item's sequence number
//   word 8   bytes of the value
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "core/both.hpp"
#include "core/checksum.hpp"
#include "core/hash.hpp"
#include "store/protocol/size_class.hpp"

namespace holdfast::store {

inline constexpr unsigned kHeaderWords = 4;
inline constexpr std::uint32_t kMostKeyBytes = 65535;
inline constexpr std::uint32_t kLineBytes = 64;

enum CellWord : unsigned { kSequenceWord = 0, kStateWord = 1, kValueWord = 2, kKeyWord = 3 };

enum ChunkWord : unsigned { kOwnerWord = 1, kOwnerSequenceWord = 2 };
inline constexpr unsigned kChunkHeaderWords = 8;
inline constexpr unsigned kMostChunks = 255;

/// Where a location is now.
struct Cell {
  std::uint64_t* words = nullptr;  ///< null: none
  std::uint64_t size = 0;          ///< in words
  Location location;

  HOLDFAST_BOTH bool none() const { return words == nullptr; }
};

/// Word 1. Bits 50 to 63 of a live item's are check bits of the others; a dead item's is zero.
struct State {
  std::uint64_t word = 0;

  static constexpr unsigned kTimeBits = 48;
  static constexpr std::uint64_t kTime = (std::uint64_t{1} << kTimeBits) - 1;
  static constexpr std::uint64_t kLive = std::uint64_t{1} << 48;
  static constexpr std::uint64_t kStale = std::uint64_t{1} << 49;  ///< meta delete has marked it

  static constexpr unsigned kCheckAt = 50;
  static constexpr std::uint64_t kChecked = (std::uint64_t{1} << kCheckAt) - 1;

  HOLDFAST_BOTH static constexpr State sealed(std::uint64_t checked) {
    return {mix(checked) >> kCheckAt << kCheckAt | checked};
  }
  /// `expiry`: milliseconds since 1970; 0: never.
  HOLDFAST_BOTH static constexpr State live(std::uint64_t expiry) { return sealed(kLive | (expiry & kTime)); }
  HOLDFAST_BOTH static constexpr State dead() { return {0}; }
  HOLDFAST_BOTH constexpr bool is_live() const { return (word & kLive) != 0; }
  HOLDFAST_BOTH constexpr bool is_stale() const { return (word & kStale) != 0; }
  HOLDFAST_BOTH constexpr std::uint64_t expiry() const { return word & kTime; }
  HOLDFAST_BOTH constexpr State with_expiry(std::uint64_t expiry) const {
    return sealed((word & kChecked & ~kTime) | (expiry & kTime));
  }
  HOLDFAST_BOTH constexpr State stale() const { return sealed((word & kChecked) | kStale); }
  /// Whether an item may say so: otherwise it is damaged.
  HOLDFAST_BOTH constexpr bool is_valid() const {
    return word == 0 || (is_live() && word == sealed(word & kChecked).word);
  }
};

/// Words 2 and 3.
struct Header {
  std::uint32_t flags = 0;
  std::uint32_t value_bytes = 0;
  std::uint16_t key_bytes = 0;
  bool has_cas = false;  ///< a word with the client's CAS id follows the header
  std::uint32_t checksum = 0;
  std::uint8_t chunks = 0;  ///< in which the value lies; 0: in the item's cell

  static constexpr std::uint64_t kHasCas = 1;

  HOLDFAST_BOTH static constexpr Header of(std::uint64_t value_word, std::uint64_t key_word) {
    return {static_cast<std::uint32_t>(value_word),     static_cast<std::uint32_t>(value_word >> 32),
            static_cast<std::uint16_t>(key_word >> 32), (key_word >> 48 & kHasCas) != 0,
            static_cast<std::uint32_t>(key_word),       static_cast<std::uint8_t>(key_word >> 49)};
  }
  HOLDFAST_BOTH constexpr std::uint64_t value_word() const { return std::uint64_t{value_bytes} << 32 | flags; }
  HOLDFAST_BOTH constexpr std::uint64_t key_word() const {
    return std::uint64_t{chunks} << 49 | (has_cas ? kHasCas : 0) << 48 | std::uint64_t{key_bytes} << 32 | checksum;
  }
  /// Where the key begins, and the value, in words behind the first.
  HOLDFAST_BOTH constexpr std::uint32_t key_at() const { return kHeaderWords + (has_cas ? 1 : 0); }
  HOLDFAST_BOTH constexpr std::uint32_t value_at() const { return key_at() + (key_bytes + 7u) / 8; }
  HOLDFAST_BOTH constexpr std::uint32_t value_words() const {
    return static_cast<std::uint32_t>((std::uint64_t{value_bytes} + 7) / 8);
  }
  /// Of the item's cell that are in use.
  HOLDFAST_BOTH constexpr std::uint64_t words() const {
    return std::uint64_t{value_at()} + (chunks == 0 ? value_words() : (chunks + 1u) / 2);
  }
};

/// What an item is made of.
struct Content {
  const std::byte* key = nullptr;
  const std::byte* value = nullptr;
  std::uint16_t key_bytes = 0;
  std::uint32_t value_bytes = 0;
  std::uint32_t flags = 0;
  std::uint64_t cas = 0;     ///< what a client gave; 0: the sequence number is the CAS id
  std::uint64_t expiry = 0;  ///< milliseconds since 1970; 0: never

  /// With the value in as many chunks.
  HOLDFAST_BOTH constexpr Header header(std::uint8_t chunks = 0) const {
    return {flags, value_bytes, key_bytes, cas != 0, 0, chunks};
  }
};

/// Word `i` of `bytes` bytes, padded with zeros.
HOLDFAST_BOTH inline std::uint64_t padded_word(const std::byte* from, std::uint64_t bytes, std::uint64_t i) {
  std::uint64_t word = 0;
  const std::uint64_t left = bytes - 8 * i;
  if (left >= 8) {  // most are whole: a copy whose length is known is one load
    std::memcpy(&word, from + 8 * i, 8);
  } else {
    std::memcpy(&word, from + 8 * i, left);
  }
  return word;
}

/// Words that are summed come in lanes, if they are many: word i in lane i % kSumLanes, whose sums run side by side.
inline constexpr unsigned kSumLanes = 8;
HOLDFAST_BOTH constexpr std::uint64_t words_in_lanes(std::uint64_t words) {
  return words >= 8 * kSumLanes ? words / kSumLanes * kSumLanes : 0;
}
HOLDFAST_BOTH constexpr std::uint64_t first_of_lane(unsigned lane) { return lane + 1; }

/// The sum of `words` words, of the sums `lane(number)` and of the words behind the lanes, `word(i)`.
template <class Lane, class Word>
HOLDFAST_BOTH std::uint64_t join_lanes(std::uint64_t words, const Lane& lane, const Word& word) {
  std::uint64_t sum = words, at = words_in_lanes(words);
  for (unsigned i = 0; at != 0 && i < kSumLanes; ++i) sum = checksum_step(sum, lane(i));
  for (; at < words; ++at) sum = checksum_step(sum, word(at));
  return sum;
}

/// A sum of `word(i)` for all i < `words`.
template <class Word>
HOLDFAST_BOTH std::uint64_t sum_of(std::uint64_t words, const Word& word) {
  const std::uint64_t in_lanes = words_in_lanes(words);
  if (in_lanes == 0) return join_lanes(words, first_of_lane, word);
  std::uint64_t lanes[kSumLanes] = {1, 2, 3, 4, 5, 6, 7, 8};
  static_assert(first_of_lane(kSumLanes - 1) == 8);
  for (std::uint64_t at = 0; at < in_lanes; at += kSumLanes) {
    for (unsigned lane = 0; lane < kSumLanes; ++lane) lanes[lane] = checksum_step(lanes[lane], word(at + lane));
  }
  return join_lanes(
      words, [&](unsigned lane) { return lanes[lane]; }, word);
}

/// The checksum of an item: of its number, its header without the checksum, and the sum of all that follows it.
HOLDFAST_BOTH inline std::uint32_t checksum_of(std::uint64_t sequence, Header header, std::uint64_t sum) {
  header.checksum = 0;
  std::uint64_t state = checksum_step(sequence, header.value_word());
  state = checksum_step(state, header.key_word());
  state = checksum_step(checksum_step(state, sum), 0);
  return static_cast<std::uint32_t>(state ^ state >> 32);
}

}  // namespace holdfast::store
