// whole_values.hpp: values of any size that show whether they were read whole: each word depends on the key and on its place.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "support/random.hpp"

namespace holdfast::test {

class WholeValues {
 public:
  explicit WholeValues(std::uint32_t bytes) : bytes_(bytes) {}

  std::uint32_t bytes() const { return bytes_; }

  /// Writes the value of `key` in its `version`.
  void write(std::uint64_t key, std::uint64_t version, std::byte* to) const {
    for (std::uint32_t at = 0; at < bytes_; at += 8) {
      const std::uint64_t word = mix(key, at) + version;
      std::memcpy(to + at, &word, std::min(8u, bytes_ - at));
    }
  }
  std::vector<std::byte> of(const std::vector<std::uint64_t>& keys, std::uint64_t version = 0) const {
    std::vector<std::byte> values(keys.size() * bytes_);
    for (std::size_t i = 0; i < keys.size(); ++i) write(keys[i], version, values.data() + i * bytes_);
    return values;
  }

  /// Whether `value` is one version of this key's, in all of its words. The first word, which is whole, says which.
  bool is_whole(std::uint64_t key, const std::byte* value) const {
    std::uint64_t first = 0;
    std::memcpy(&first, value, 8);
    const std::uint64_t version = first - mix(key, 0);
    if (version > kMostVersion) return false;
    for (std::uint32_t at = 8; at < bytes_; at += 8) {
      const std::uint64_t word = mix(key, at) + version;
      if (std::memcmp(value + at, &word, std::min(8u, bytes_ - at)) != 0) return false;
    }
    return true;
  }

  static constexpr std::uint64_t kMostVersion = 1 << 20;

 private:
  const std::uint32_t bytes_;
};

/// Whether all words of a sum of `bytes` bytes, a multiple of 8, are the same; and that word.
inline bool is_whole_sum(const std::byte* value, std::uint32_t bytes, std::uint64_t& sum) {
  std::memcpy(&sum, value, 8);
  for (std::uint32_t at = 8; at < bytes; at += 8) {
    if (std::memcmp(value + at, &sum, 8) != 0) return false;
  }
  return true;
}

}  // namespace holdfast::test
