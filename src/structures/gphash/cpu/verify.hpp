// verify.hpp: checksums of the pairs that operations meet, for tables that were opened with `verify`.
#pragma once

#include "structures/gphash/cpu/memory.hpp"
#include "structures/gphash/protocol/find.hpp"

namespace holdfast::machine::cpu {

/// True if a slot that has the key's hash names a pair that is not as it was written: what a search says of the key may be wrong, found
/// or not. The caller has joined an epoch, so no pair that it sees is written again.
template <class Memory, class Shape, index::SearchTile<Memory, Shape> Tile>
bool meets_damage(const Tile& tile, const Memory& memory, const index::View<Shape>& view,
                  const index::Candidates<Shape>& candidates) {
  for (int i = 0; i < index::kLooks; ++i) {
    const index::Look seen = index::look(tile, memory, view, candidates);
    bool damaged = false;
    for (LaneMask hits = seen.hits; hits != 0; hits &= hits - 1) {
      const index::Slot* const slot = candidates.slot(view, lowest_bit(hits));
      const std::uint64_t hash = memory.load(&slot->key), word = memory.load(&slot->word);
      if (hash == candidates.stored_key() && word != 0) damaged |= !index::is_whole_pair(memory, view, hash, word);
    }
    if (!damaged) return false;
    // Both words are of one item unless a slot was cleared meanwhile.
    if (index::clearings(tile.peek(memory, candidates.version_lock(view))) == index::clearings(seen.version_lock))
      return true;
  }
  return false;
}

/// The same where `word` is 0; else true if the pair that it names, which an answer was read from, is not as it was written: its slot may
/// name another pair since.
template <class Memory, class Shape, index::SearchTile<Memory, Shape> Tile>
bool is_damaged(const Tile& tile, const Memory& memory, const index::View<Shape>& view,
                const index::Candidates<Shape>& candidates, std::uint64_t word) {
  if (word == 0) return meets_damage(tile, memory, view, candidates);
  return !index::is_whole_pair(memory, view, candidates.stored_key(), word);
}

}  // namespace holdfast::machine::cpu
