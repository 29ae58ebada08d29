// checksum.hpp: a 64-bit checksum of a few kilobytes. It finds damage; it does not resist an attacker.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "core/both.hpp"

namespace holdfast {

/// One step: a bijection of `state` for each `word`, and of `word` for each `state`, so that two ranges which differ in a
/// single word never have the same checksum.
HOLDFAST_BOTH constexpr std::uint64_t checksum_step(std::uint64_t state, std::uint64_t word) {
  state = (state ^ word) * 0x9e37'79b9'7f4a'7c15;
  state ^= state >> 32;
  state *= 0xd6e8'feb8'6659'fd93;
  return state << 29 | state >> 35;
}

/// A checksum of bytes that come one after the other; of how many is known before.
class Checksum {
 public:
  HOLDFAST_BOTH explicit Checksum(std::size_t all_bytes) : state_(checksum_step(0x686f'6c64'6661'7374, all_bytes)) {}
  /// Whole words, but for the last time.
  HOLDFAST_BOTH void add(const void* data, std::size_t bytes) {
    const auto* at = static_cast<const unsigned char*>(data);
    for (; bytes >= 8; at += 8, bytes -= 8) {
      std::uint64_t word = 0;
      std::memcpy(&word, at, 8);
      state_ = checksum_step(state_, word);
    }
    if (bytes != 0) {
      std::uint64_t word = 0;
      std::memcpy(&word, at, bytes);
      state_ = checksum_step(state_, word);
    }
  }
  HOLDFAST_BOTH std::uint64_t end() const { return checksum_step(state_, 0); }

 private:
  std::uint64_t state_;
};

/// The checksum of [data, data + bytes). Part of the pool's format (docs/format.md, "Checksum").
HOLDFAST_BOTH inline std::uint64_t checksum(const void* data, std::size_t bytes) {
  Checksum all(bytes);
  all.add(data, bytes);
  return all.end();
}

}  // namespace holdfast
