// size_class.hpp: the sizes of the store's cells, and how a 32-bit location names one of them.
//
// A group has up to 2^15 cells of one class, which lie in pieces of 2 MiB. A location is a group and a cell in it, so 32 bits name
// 2^17 groups: terabytes of items. A piece is taken when a cell in it is needed, and may be of another class later.
#pragma once

#include <array>
#include <cstdint>

#include "core/both.hpp"

namespace holdfast::store {

inline constexpr unsigned kPieceBits = 21;
inline constexpr std::uint32_t kPieceBytes = std::uint32_t{1} << kPieceBits;
inline constexpr unsigned kCellBits = 15;
inline constexpr std::uint32_t kGroupCells = std::uint32_t{1} << kCellBits;
inline constexpr std::uint32_t kGroups = std::uint32_t{1} << (32 - kCellBits);

namespace detail {

/// Steps of 64 bytes up to 1 KiB, then four in each doubling up to a sixteenth of a piece, then the largest multiples of 64 of which
/// so many fit into a piece.
constexpr unsigned kFine = 16, kDoublings = 7;
constexpr std::array<std::uint32_t, 12> kCoarse = {14, 12, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1};

}  // namespace detail

inline constexpr unsigned kClasses = detail::kFine + 4 * detail::kDoublings + detail::kCoarse.size();

namespace detail {

constexpr std::array<std::uint32_t, kClasses> make_class_bytes() {
  std::array<std::uint32_t, kClasses> bytes{};
  unsigned at = 0;
  for (unsigned i = 1; i <= kFine; ++i) bytes[at++] = 64 * i;
  for (unsigned doubling = 0; doubling < kDoublings; ++doubling) {
    for (unsigned step = 5; step <= 8; ++step) bytes[at++] = (256u << doubling) * step;
  }
  for (const std::uint32_t cells : kCoarse) bytes[at++] = kPieceBytes / cells / 64 * 64;
  return bytes;
}

inline constexpr std::array<std::uint32_t, kClasses> kClassBytes = make_class_bytes();

}  // namespace detail

HOLDFAST_BOTH constexpr std::uint32_t class_bytes(unsigned size_class) { return detail::kClassBytes[size_class]; }

/// The smallest class whose cells have `bytes` bytes; kClasses: none has.
HOLDFAST_BOTH constexpr unsigned class_of(std::uint64_t bytes) {
  if (bytes > kPieceBytes) return kClasses;
  unsigned least = 0, most = kClasses - 1;
  if (bytes <= 64 * detail::kFine) return bytes == 0 ? 0 : static_cast<unsigned>((bytes - 1) / 64);
  while (least < most) {
    const unsigned middle = (least + most) / 2;
    if (class_bytes(middle) < bytes) {
      least = middle + 1;
    } else {
      most = middle;
    }
  }
  return least;
}

static_assert(class_of(1) == 0 && class_of(64) == 0 && class_of(65) == 1 && class_bytes(class_of(1025)) == 1280);
static_assert(class_bytes(kClasses - 1) == kPieceBytes && class_of(kPieceBytes) == kClasses - 1);
static_assert(class_bytes(kClasses - 2) == kPieceBytes / 2 && class_of(kPieceBytes + 1) == kClasses);

/// A group and one of its cells.
struct Location {
  std::uint32_t word = ~std::uint32_t{0};  ///< all ones: none

  HOLDFAST_BOTH static constexpr Location of(std::uint32_t group, std::uint32_t cell) {
    return {group << kCellBits | cell};
  }
  HOLDFAST_BOTH constexpr std::uint32_t group() const { return word >> kCellBits; }
  HOLDFAST_BOTH constexpr std::uint32_t cell() const { return word & (kGroupCells - 1); }
  HOLDFAST_BOTH constexpr bool none() const { return word == ~std::uint32_t{0}; }
  HOLDFAST_BOTH friend constexpr bool operator==(Location a, Location b) { return a.word == b.word; }
};

}  // namespace holdfast::store
