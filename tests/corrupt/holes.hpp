// holes.hpp: pool files with holes, made from a seed: sparse copies, and files of some kilobytes that claim up to terabytes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "system/file.hpp"

namespace holdfast::test::corrupt {

/// A file to be written. What of it is neither in `bytes` nor in `room` is a hole.
struct HoledFile {
  std::string name;                      ///< what was done to which pool
  std::string bytes;                     ///< what it begins with, in whole pages
  std::vector<bool> holes;               ///< the pages of `bytes` that are left out
  std::vector<system::FileRange> space;  ///< taken on the medium, and never written
  std::uint64_t length = 0;
};

/// The file of this seed: always the same.
HoledFile make_holed_file(std::uint64_t seed);
/// Writes it to `path`, which must not exist. False where the file system knows no files so long.
bool write_holed_file(const std::string& path, const HoledFile& file);

/// What a file takes on its medium, in bytes.
struct Blocks {
  std::uint64_t all = 0;   ///< as the system counts them
  std::uint64_t data = 0;  ///< without those in which the file system keeps where the others are, where it tells
};
Blocks blocks_of(const std::string& path);

}  // namespace holdfast::test::corrupt
