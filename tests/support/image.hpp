// image.hpp: small pools as bytes, made by the library itself, to be damaged by tests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "holdfast/table.hpp"
#include "support/exercise.hpp"

namespace holdfast::test {

/// A pool file, and what was put into it.
struct Image {
  std::string name;
  std::string bytes;
  Items items;
  std::vector<ExtentInfo> extents;
};

/// Puts items into a new table of any kind, of which this is the seed, and says which.
Items fill(Table& table, unsigned items, std::uint64_t seed);

/// Makes a pool of `items` items at `path` and reads the file, after closing it or, unclean, as a kill would leave it.
Image make_image(const std::string& path, std::uint32_t value_bytes, unsigned items, bool clean,
                 std::uint32_t key_bytes = 8, Score score = Score::none);
/// The same with keys and values of any length, in cells of several classes; some were updated to another class, some erased. Unclean,
/// two more inserts have stopped halfway, with the fingerprint or the word of their slot still zero.
Image make_pairs_image(const std::string& path, unsigned items, bool clean);
/// A pool in which one key has two items, each with a cell of its own, as no crash leaves it.
Image make_key_twice_image(const std::string& path);

/// Writes bytes to a file, over whatever it held.
void write_file(const std::string& path, const std::string& bytes);
void write_at(const std::string& path, std::uint64_t offset, const std::string& bytes);
std::string read_file(const std::string& path);

}  // namespace holdfast::test
