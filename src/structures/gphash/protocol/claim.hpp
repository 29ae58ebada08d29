// claim.hpp: the exclusive hold of an operation on a key, and the counter by which a search learns that it must look again.
//
// A version lock word is: bit 0, the claim; the bits above, a counter. One change to a key at a time (rule 1): a thread that
// changes a key holds the claim of its version lock from the search to the publication. A claim is tried, never waited for.
// After a committed slot is cleared, by an erase or a move, and before it can be filled again, the holder raises the
// counter. A search reads it before and after; if it changed, a slot that it read may have been cleared, even filled
// again, so it looks again. (Raised only before the clear, a search that begins in between could read one key and another's
// word.) A move raises it before the clear too, for searches that looked before the copy was there. That is why a cleared
// slot can be claimed as soon as its zeroes are durable (rules 3, 26).
#pragma once

#include <cstdint>

#include "core/both.hpp"
#include "pool/medium/memory_concept.hpp"
#include "structures/gphash/protocol/memory_concept.hpp"

namespace holdfast::gphash {

HOLDFAST_BOTH constexpr bool is_claimed(std::uint64_t version_lock) { return (version_lock & 1) != 0; }
HOLDFAST_BOTH constexpr std::uint64_t clearings(std::uint64_t version_lock) { return version_lock >> 1; }

template <pool::VolatileWords Memory>
HOLDFAST_BOTH bool try_claim(const Memory& memory, std::uint64_t* version_lock) {
  const std::uint64_t seen = memory.peek(version_lock);
  return !is_claimed(seen) && memory.swap(version_lock, seen, seen | 1);
}

/// Only the holder changes a claimed version lock, so plain stores do.
template <pool::VolatileWords Memory>
HOLDFAST_BOTH void raise(const Memory& memory, std::uint64_t* version_lock) {
  memory.poke(version_lock, memory.peek(version_lock) + 2);
}

/// The same where others raise it too, and no thread claims it.
template <PhasedMemory Memory>
HOLDFAST_BOTH void raise_shared(const Memory& memory, std::uint64_t* version_lock) {
  memory.add(version_lock, 2);
}

template <pool::VolatileWords Memory>
HOLDFAST_BOTH void release(const Memory& memory, std::uint64_t* version_lock) {
  memory.poke(version_lock, memory.peek(version_lock) & ~std::uint64_t{1});
}

/// The same for a batch in phases, which is alone in changing the table: several of its keys may have one version lock, and each of them claims
/// it, and releases it when all are shown.
template <pool::VolatileWords Memory>
HOLDFAST_BOTH void claim_shared(const Memory& memory, std::uint64_t* version_lock) {
  std::uint64_t seen = memory.peek(version_lock);
  while (!is_claimed(seen) && !memory.swap(version_lock, seen, seen | 1)) seen = memory.peek(version_lock);
}
template <pool::VolatileWords Memory>
HOLDFAST_BOTH void release_shared(const Memory& memory, std::uint64_t* version_lock) {
  std::uint64_t seen = memory.peek(version_lock);
  while (is_claimed(seen) && !memory.swap(version_lock, seen, seen & ~std::uint64_t{1}))
    seen = memory.peek(version_lock);
}

}  // namespace holdfast::gphash
