// objects_image.hpp: a pool of several objects as bytes: tables of every kind, and objects that this version does not know.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "support/exercise.hpp"

namespace holdfast::test {

// The numbers of its objects. Number 1 was dropped, and left a gap.
inline constexpr std::uint32_t kNumbers = 2;   ///< keys and values of 8 bytes
inline constexpr std::uint32_t kCells = 3;     ///< values in cells; not closed, as a kill leaves it
inline constexpr std::uint32_t kWide = 4;      ///< keys of 32 bytes
inline constexpr std::uint32_t kScored = 5;    ///< with scores
inline constexpr std::uint32_t kSet = 6;       ///< keys alone; not closed
inline constexpr std::uint32_t kUnknown = 7;   ///< an object of a type that this version does not know
inline constexpr std::uint32_t kFeatured = 8;  ///< a table with a required feature that it does not know
inline constexpr std::uint32_t kNewer = 9;     ///< a table of a newer version of its type
inline constexpr std::uint32_t kOptional =
    10;                                      ///< a table with an optional feature that it does not know, and may ignore
inline constexpr std::uint32_t kPairs = 11;  ///< keys and values of any length, if asked for: mebibytes

inline constexpr std::uint32_t kUnknownType = 700;

struct ObjectsImage {
  std::string bytes;
  std::map<std::uint32_t, Items> items;  ///< of the tables that open, by number
};

/// Makes the pool at `path`, reads it, and removes it.
ObjectsImage make_objects_image(const std::string& path, bool pairs);

}  // namespace holdfast::test
