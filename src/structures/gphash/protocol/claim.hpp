// claim.hpp: the exclusive hold of an operation on a key, and the counter by which a search learns that it must look again.
//
// A stripe word is: bit 0, the claim; the bits above, a counter. One change to a key at a time (rule 1): whoever
// changes a key holds the claim of its stripe from the search to the publication. A claim is tried, never waited for.
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

namespace holdfast::index {

HOLDFAST_BOTH constexpr bool is_claimed(std::uint64_t stripe) { return (stripe & 1) != 0; }
HOLDFAST_BOTH constexpr std::uint64_t clearings(std::uint64_t stripe) { return stripe >> 1; }

template <memory::VolatileWords Memory>
HOLDFAST_BOTH bool try_claim(const Memory& memory, std::uint64_t* stripe) {
  const std::uint64_t seen = memory.peek(stripe);
  return !is_claimed(seen) && memory.swap(stripe, seen, seen | 1);
}

/// Only the holder changes a claimed stripe, so plain stores do.
template <memory::VolatileWords Memory>
HOLDFAST_BOTH void raise(const Memory& memory, std::uint64_t* stripe) {
  memory.poke(stripe, memory.peek(stripe) + 2);
}

/// The same where others raise it too, and nobody claims it.
template <PhasedMemory Memory>
HOLDFAST_BOTH void raise_shared(const Memory& memory, std::uint64_t* stripe) {
  memory.add(stripe, 2);
}

template <memory::VolatileWords Memory>
HOLDFAST_BOTH void release(const Memory& memory, std::uint64_t* stripe) {
  memory.poke(stripe, memory.peek(stripe) & ~std::uint64_t{1});
}

/// The same for a batch in phases, which is alone in changing the table: several of its keys may have one stripe, and each of them claims
/// it, and releases it when all are shown.
template <memory::VolatileWords Memory>
HOLDFAST_BOTH void claim_shared(const Memory& memory, std::uint64_t* stripe) {
  std::uint64_t seen = memory.peek(stripe);
  while (!is_claimed(seen) && !memory.swap(stripe, seen, seen | 1)) seen = memory.peek(stripe);
}
template <memory::VolatileWords Memory>
HOLDFAST_BOTH void release_shared(const Memory& memory, std::uint64_t* stripe) {
  std::uint64_t seen = memory.peek(stripe);
  while (is_claimed(seen) && !memory.swap(stripe, seen, seen & ~std::uint64_t{1})) seen = memory.peek(stripe);
}

}  // namespace holdfast::index
