// word.hpp: the first word of a slot: which key it holds and in what state, without giving up any key or value.
//
// The hash is a bijection of 64-bit keys, and a line determines the upper bits of the hashes that begin their search there. So a
// slot keeps only the rest of the hash, and the bits that this saves hold the state (Knuth's quotienting, TAOCP 3, 6.4
// exercise 13). Every 64-bit key is a common one, and a line has space for its control bits and four whole values.
#pragma once

#include <bit>
#include <cstdint>

#include "core/hash.hpp"

namespace holdfast::dramhit {

__extension__ using Wide = unsigned __int128;

/// One item: 16 bytes, changed by one compare-and-swap.
struct alignas(16) Pair {
  std::uint64_t word = 0;
  std::uint64_t value = 0;
  friend bool operator==(const Pair&, const Pair&) = default;
};

// bit 0    used: holds a key, or held it; a slot that was never used is all zero bits
// bit 1    live: the key is there; used and not live is an erased slot, which keeps its key until another takes it, or none
// bit 2    passed: slots of a full line say together how far keys went whose search begins at it (SlotMemory::reach)
// bit 3    of a line's first slot, lock: a thread adds a key whose search begins here, and whose line is full; of others, `far`:
//          such keys went further than `passed` can say
// bit 4    frozen: the slot is being moved to a larger table, and changes no more
// 5..11    how many lines from where its search begins the key lies
// 12..63   which of the hashes whose search begins at the same line it has (Geometry::place)
inline constexpr std::uint64_t kUsed = 1, kLive = 2, kPassed = 4, kLock = 8, kFar = 8, kFrozen = 16;
inline constexpr std::uint64_t kOneLineOn = 32;  ///< added to a word: the same key, one line further on
inline constexpr unsigned kDistanceShift = 5, kDistanceBits = 7, kRestShift = kDistanceShift + kDistanceBits;
inline constexpr unsigned kMostDistance = (1u << kDistanceBits) - 2;
inline constexpr std::uint64_t kOfLine = kPassed | kLock;  ///< belong to the line, not to the slot that carries them
inline constexpr std::uint64_t kIdentity = ~(kLive | kOfLine | kFrozen);  ///< equal if, and only if, the key is
/// Of no key, since none lies so far: an erased slot whose key may be elsewhere; and (live) one that is about to get a key.
inline constexpr std::uint64_t kNobodys = std::uint64_t{kMostDistance + 1} << kDistanceShift | kUsed;
inline constexpr std::uint64_t kReserved = std::uint64_t{1} << kRestShift | kNobodys;

/// Fewer lines would leave a hash more bits than fit in a word.
inline constexpr std::uint64_t kLeastLines = 4160;

constexpr unsigned distance(std::uint64_t word) {
  return static_cast<unsigned>(word >> kDistanceShift) & ((1u << kDistanceBits) - 1);
}
constexpr bool holds(std::uint64_t word, std::uint64_t want) { return (word & kIdentity) == want; }
constexpr bool is_live(std::uint64_t word) { return (word & kLive) != 0; }

constexpr std::uint64_t high(std::uint64_t a, std::uint64_t b) {
  return static_cast<std::uint64_t>((static_cast<Wide>(a) * b) >> 64);
}

/// Undoes mix (core/hash.hpp).
constexpr std::uint64_t unmix(std::uint64_t x) {
  constexpr std::uint64_t kFactor = 0xd6e8'feb8'6659'fd93;
  constexpr auto kInverse = [] {  // Newton's iteration: each round doubles the right bits
    std::uint64_t inverse = kFactor;
    for (int i = 0; i < 6; ++i) inverse *= 2 - kFactor * inverse;
    return inverse;
  }();
  x ^= x >> 32;
  x *= kInverse;
  x ^= x >> 32;
  x *= kInverse;
  x ^= x >> 32;
  return x;
}

/// Where a search begins, and the word (less live) that the key has there.
struct Place {
  std::uint64_t line = 0;
  std::uint64_t want = 0;
};

/// Spreads hashes over lines, in order and evenly (fastrange; Lemire 2019), so their number need be no power of two. The upper
/// word of hash times lines is the line. The lower word distinguishes the hashes of one line: they lie `lines` apart in it, so the
/// bits above the largest power of two that is not larger are enough, and place() is one multiplication.
class Geometry {
 public:
  Geometry() = default;
  constexpr Geometry(std::uint64_t lines, std::uint64_t seed) : lines_(lines), seed_(seed) {
    const Wide width = ~Wide{0} / lines;  // hashes a line, times 2^64
    width_ = static_cast<std::uint64_t>(width >> 64);
    fraction_ = static_cast<std::uint64_t>(width);
    shift_ = static_cast<unsigned>(std::bit_width(lines)) - 1;
  }

  constexpr std::uint64_t lines() const { return lines_; }
  constexpr std::uint64_t seed() const { return seed_; }
  constexpr std::uint64_t hash(std::uint64_t key) const { return hash_key(key, seed_); }
  constexpr std::uint64_t home(std::uint64_t hash) const { return high(hash, lines_); }
  constexpr Place place(std::uint64_t hash) const {
    const Wide product = static_cast<Wide>(hash) * lines_;
    const std::uint64_t rest = static_cast<std::uint64_t>(product) >> (shift_ - kRestShift);
    return {static_cast<std::uint64_t>(product >> 64), (rest & ~((std::uint64_t{1} << kRestShift) - 1)) | kUsed};
  }
  /// The hash of what a slot of line `line` holds.
  constexpr std::uint64_t hash_of(std::uint64_t line, std::uint64_t word) const {
    const std::uint64_t rest = word >> kRestShift, from = line - distance(word);
    std::uint64_t hash = least(from) + high(rest << shift_, width_);  // less than it, if at all, by the four roundings
    for (unsigned i = 0; i < 4 && (home(hash) != from || place(hash).want >> kRestShift != rest); ++i) ++hash;
    return hash;
  }
  /// Some hash whose search begins at this line.
  constexpr std::uint64_t least_hash(std::uint64_t line) const {
    const std::uint64_t hash = least(line);
    return home(hash) == line ? hash : home(hash + 1) == line ? hash + 1 : hash + 2;
  }
  constexpr std::uint64_t key_of(std::uint64_t hash) const { return unmix(hash ^ seed_) - seed_; }

 private:
  /// At most the least hash whose search begins at this line, and less by no more than one.
  constexpr std::uint64_t least(std::uint64_t line) const { return line * width_ + high(line, fraction_); }

  std::uint64_t lines_ = 0, seed_ = 0, width_ = 0, fraction_ = 0;
  unsigned shift_ = 0;
};

}  // namespace holdfast::dramhit
