// bytes.cuh: words of a user's arrays, which may begin at any byte and end within a word.
#pragma once

#include <cstddef>
#include <cstdint>

namespace holdfast::gpu {

__device__ inline bool aligned(const void* address, std::size_t unit) {
  return reinterpret_cast<std::uintptr_t>(address) % unit == 0;
}

// Out of line: what is not aligned is rare, and these stand in loops that are unrolled.
__device__ __noinline__ inline std::uint64_t load_unaligned(const std::byte* from, std::size_t bytes) {
  if (bytes >= 8 && aligned(from, 4)) {
    const auto* const halves = reinterpret_cast<const std::uint32_t*>(from);
    return halves[0] | std::uint64_t{halves[1]} << 32;
  }
  std::uint64_t word = 0;
  for (unsigned i = 0; i < 8 && i < bytes; ++i) word |= std::uint64_t{static_cast<std::uint8_t>(from[i])} << (8 * i);
  return word;
}
__device__ __noinline__ inline void store_unaligned(std::byte* to, std::uint64_t word, std::size_t bytes) {
  if (bytes >= 8 && aligned(to, 4)) {
    reinterpret_cast<std::uint32_t*>(to)[0] = static_cast<std::uint32_t>(word);
    reinterpret_cast<std::uint32_t*>(to)[1] = static_cast<std::uint32_t>(word >> 32);
    return;
  }
  for (unsigned i = 0; i < 8 && i < bytes; ++i) to[i] = static_cast<std::byte>(word >> (8 * i));
}

/// Up to eight bytes of a user's array, zero-padded.
__device__ inline std::uint64_t load_user(const std::byte* from, std::size_t bytes) {
  if (bytes >= 8 && aligned(from, 8)) return *reinterpret_cast<const std::uint64_t*>(from);
  return load_unaligned(from, bytes);
}

__device__ inline void store_user(std::byte* to, std::uint64_t word, std::size_t bytes) {
  if (bytes >= 8 && aligned(to, 8)) {
    *reinterpret_cast<std::uint64_t*>(to) = word;
  } else {
    store_unaligned(to, word, bytes);
  }
}

}  // namespace holdfast::gpu
