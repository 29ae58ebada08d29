// lines.hpp: the lines of the pool that one fence makes durable, so that each is written back once.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/both.hpp"
#include "structures/gphash/protocol/slot.hpp"

namespace holdfast::gphash {

/// The bytes of the pool that a flush writes back together, at least; a power of two. The model has shorter lines.
template <class Memory>
HOLDFAST_BOTH constexpr std::size_t line_bytes() {
  if constexpr (requires { Memory::kLineBytes; }) {
    return Memory::kLineBytes;
  } else {
    return kLineSlots * sizeof(Slot);
  }
}

template <class Memory>
HOLDFAST_BOTH std::uintptr_t line_number(const void* address) {
  return reinterpret_cast<std::uintptr_t>(address) / line_bytes<Memory>();
}

/// Lines that were flushed since the last fence: nearly all of them. One that was forgotten is flushed again.
template <class Memory>
class RecentLines {
 public:
  /// Notes the line of `address`. False if it was noted already.
  bool add(const void* address) {
    const std::uintptr_t line = line_number<Memory>(address);
    std::uintptr_t& place = noted_[line % kPlaces];
    if (place == line) return false;
    place = line;
    return true;
  }

 private:
  static constexpr unsigned kPlaces = 128;
  std::uintptr_t noted_[kPlaces] = {};
};

}  // namespace holdfast::gphash
