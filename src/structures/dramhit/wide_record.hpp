// wide_record.hpp: an item of more than 16 bytes: a control word, the key, the value.
#pragma once

#include <cstdint>

#include "structures/dramhit/core.hpp"

namespace holdfast::dramhit {

inline constexpr std::uint64_t key_words(const Format& format) { return format.key_bytes / 8; }
inline constexpr std::uint64_t value_words(const Format& format) { return (format.value_bytes + 7) / 8; }
/// Of a record; records of up to 64 bytes never cross a line.
inline constexpr std::uint64_t record_bytes(const Format& format) {
  const std::uint64_t words = 1 + key_words(format) + value_words(format);
  std::uint64_t bytes = words * 8;
  if (bytes <= 32) return 32;
  return bytes <= 64 ? 64 : (bytes + 63) / 64 * 64;
}

}  // namespace holdfast::dramhit
