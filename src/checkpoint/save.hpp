// save.hpp: the durable writes of a save, in the only order that survives a crash at any point. GPM §5.3, "double buffering".
//
//   withdraw   the copy that is written counts no more        durable before any of it changes
//   fill       its data and catalogue, then its header        durable
//   switch     one word names it                              durable; now it is the newest, and the copy before may be written
#pragma once

#include "checkpoint/layout.hpp"
#include "core/failpoint.hpp"
#include "pool/copies.hpp"
#include "pool/medium/memory_concept.hpp"

namespace holdfast::checkpoint {

template <pool::WritableMemory Memory>
void withdraw(const Memory& memory, CopyHeader* header) {
  memory.store(&header->sequence, 0);
  memory.flush(header, sizeof *header);
  memory.fence();
  HOLDFAST_FAILPOINT(state_withdrawn);
}

/// [header + 1, header + 1 + bytes) was written before.
template <pool::WritableMemory Memory>
void fill(const Memory& memory, CopyHeader* header, const CopyHeader& next, std::size_t bytes) {
  memory.flush(header + 1, bytes);
  pool::store_words(memory, header, &next, sizeof next);
  memory.fence();
  HOLDFAST_FAILPOINT(state_filled);
}

template <pool::WritableMemory Memory>
void switch_to(const Memory& memory, std::uint64_t* word, std::uint64_t sequence, unsigned copy) {
  memory.store(word, word_of(sequence, copy));
  memory.flush(word, sizeof *word);
  memory.fence();
  HOLDFAST_FAILPOINT(state_switched);
}

inline bool is_intact(const CopyHeader& header) {
  return header.magic == kCopyMagic && header.checksum == pool::checksum_of(header);
}

/// Whether a copy holds a state that was acknowledged, or would have been: what was not switched to does not count.
inline bool counts(const CopyHeader& header, unsigned copy, std::uint64_t word) {
  return header.sequence != 0 && is_intact(header) &&
         (copy == copy_in(word) ? header.sequence == sequence_in(word) : header.sequence < sequence_in(word));
}

/// Opening for writing: a copy that was filled and never switched to must not be taken for an older one later.
template <pool::WritableMemory Memory>
void withdraw_unfinished(const Memory& memory, CopyHeader* header, unsigned copy, std::uint64_t word) {
  if (header->sequence < sequence_in(word) || header->sequence == 0) return;
  if (copy == copy_in(word) && header->sequence == sequence_in(word)) return;
  withdraw(memory, header);
}

}  // namespace holdfast::checkpoint
