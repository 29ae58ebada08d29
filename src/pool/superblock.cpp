// superblock.cpp: checks a superblock that may be damaged, half-written or made to mislead.
#include "pool/superblock.hpp"

#include <algorithm>
#include <bit>
#include <iterator>

namespace holdfast::pool {

static_assert(std::endian::native == std::endian::little, "pools are little endian");

namespace {

template <std::size_t N>
bool is_zero(const std::uint8_t (&bytes)[N]) {
  return std::all_of(std::begin(bytes), std::end(bytes), [](std::uint8_t byte) { return byte == 0; });
}

}  // namespace

bool is_intact(const Superblock& block) { return block.magic == kMagic && block.checksum == checksum_of(block); }

std::string flaw(const Superblock& block) {
  if (block.version == 0) return "format 0, which there is not";
  if (block.area > 1) return "directory area " + std::to_string(block.area);
  if (block.generation == 0 || block.generation >= kGenerations)
    return "generation " + std::to_string(block.generation);
  if (!is_zero(block.store_id) || !is_zero(block.history_id) || block.last_lsn != 0 || !is_zero(block.reserved)) {
    return "reserved bytes are not zero";
  }
  return {};
}

}  // namespace holdfast::pool
