// arrays.cpp: errors of batches and options.
#include "structures/cuckoo/arrays.hpp"

#include <algorithm>
#include <string>

#include "holdfast/error.hpp"
#include "structures/cuckoo/geometry.hpp"

namespace holdfast::cuckoo {

namespace {
constexpr unsigned kLeastBits = 3;
}

void require_equal(std::size_t rows, std::size_t size, const char* array) {
  if (rows == size) return;
  throw InvalidArgument("index: " + std::to_string(rows) + " hashes, but " + std::to_string(size) + " " + array +
                        ": give one of each per row");
}

void require_locations(std::span<const Location> locations) {
  if (std::find(locations.begin(), locations.end(), kNone) == locations.end()) return;
  throw InvalidArgument("index: the location 4,294,967,295 means none; give another to every row");
}

void require_capacity(std::uint64_t entries) {
  if (entries <= kNone) return;
  throw InvalidArgument("index: a capacity of " + std::to_string(entries) +
                        " entries; 32-bit locations name 4,294,967,295 at most");
}

void require_signature_bits(unsigned bits) {
  if (bits >= 1 && bits <= 32) return;
  throw InvalidArgument("index: " + std::to_string(bits) + " bits of signature; give 1 to 32");
}

void require_rows(std::uint64_t rows) {
  if (rows <= kNone) return;
  throw InvalidArgument("index: a batch of " + std::to_string(rows) + " rows; give 4,294,967,295 at most");
}

unsigned bits_for(std::uint64_t entries) {
  unsigned bits = kLeastBits;
  while (bits < kMostBits && entries_of(bits) < entries) ++bits;
  return bits;
}

}  // namespace holdfast::cuckoo
