// copies.hpp: a block of a pool that is kept twice, so that a crash at any store leaves one whole copy. Rule 20.
//
// A block has a `generation` and, as its last word, a `checksum` of all bytes before it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "core/both.hpp"
#include "core/checksum.hpp"
#include "core/failpoint.hpp"
#include "pool/medium/memory_concept.hpp"

namespace holdfast::pool {

template <class Block>
std::uint64_t checksum_of(const Block& block) {
  static_assert(offsetof(Block, checksum) == sizeof(Block) - 8);
  return checksum(&block, sizeof(Block) - 8);
}

template <class Block>
void seal(Block& block) {
  block.checksum = checksum_of(block);
}

/// A block has lower generations: one that says otherwise was made to mislead, and is refused.
inline constexpr std::uint64_t kGenerations = std::uint64_t{1} << 63;

/// Which of the two copies counts.
struct Choice {
  int copy = -1;  ///< 0: A, 1: B, -1: neither is intact
  bool intact[2] = {};
  bool equal = false;  ///< both are intact and of the same bytes
};

/// Of two intact copies the newer one counts. `is_intact` is true of a block with the right magic number and checksum; it says
/// nothing of the fields.
template <class Block, class IsIntact>
Choice choose_copy(const Block& a, const Block& b, const IsIntact& is_intact) {
  Choice choice;
  choice.intact[0] = is_intact(a);
  choice.intact[1] = is_intact(b);
  if (choice.intact[0] && choice.intact[1]) {
    choice.equal = std::memcmp(&a, &b, sizeof(Block)) == 0;
    choice.copy = b.generation > a.generation ? 1 : 0;
  } else if (choice.intact[0] || choice.intact[1]) {
    choice.copy = choice.intact[0] ? 0 : 1;
  }
  return choice;
}

/// Stores `bytes`, a multiple of 8, word by word, and flushes them.
template <WritableMemory Memory>
void store_words(const Memory& memory, void* to, const void* from, std::size_t bytes) {
  HOLDFAST_ASSERT(bytes % 8 == 0);
  for (std::size_t i = 0; i < bytes / 8; ++i) {
    std::uint64_t word = 0;
    std::memcpy(&word, static_cast<const char*>(from) + 8 * i, 8);
    memory.store(static_cast<std::uint64_t*>(to) + i, word);
  }
  memory.flush(to, bytes);
}

/// Writes one copy, and waits until it is durable.
template <WritableMemory Memory, class Block>
void write_copy(const Memory& memory, Block* copy, const Block& next) {
  store_words(memory, copy, &next, sizeof(Block));
  memory.fence();
}

/// Replaces both copies by `next`, sealed and of a new generation. A is durable before the first store to B, and a process that
/// relies on `next` does so only when both are.
template <WritableMemory Memory, class Block>
void write_copies(const Memory& memory, Block* copies, const Block& next) {
  write_copy(memory, copies, next);
  HOLDFAST_FAILPOINT(copy_half_written);
  write_copy(memory, copies + 1, next);
}

}  // namespace holdfast::pool
