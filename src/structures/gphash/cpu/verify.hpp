// verify.hpp: checksums of the pairs that operations meet, for tables that were opened with `verify`.
#pragma once

#include "structures/gphash/cpu/memory.hpp"
#include "structures/gphash/protocol/find.hpp"

namespace holdfast::gphash::cpu {

/// True if a slot that has the key's hash names a pair that is not as it was written: what a search says of the key may be wrong, found
/// or not. The caller has joined an epoch, so no pair that it sees is written again.
template <class Memory, class Shape, gphash::SearchTile<Memory, Shape> Tile>
bool meets_damage(const Tile& tile, const Memory& memory, const gphash::View<Shape>& view,
                  const gphash::Candidates<Shape>& candidates) {
  for (int i = 0; i < gphash::kLooks; ++i) {
    const gphash::Look seen = gphash::look(tile, memory, view, candidates);
    bool damaged = false;
    for (LaneMask hits = seen.hits; hits != 0; hits &= hits - 1) {
      const gphash::Slot* const slot = candidates.slot(view, lowest_bit(hits));
      const std::uint64_t hash = memory.load(&slot->key), word = memory.load(&slot->word);
      if (hash == candidates.stored_key() && word != 0) damaged |= !gphash::is_whole_pair(memory, view, hash, word);
    }
    if (!damaged) return false;
    // Both words are of one item unless a slot was cleared meanwhile.
    if (gphash::clearings(tile.peek(memory, candidates.version_lock(view))) == gphash::clearings(seen.version_lock))
      return true;
  }
  return false;
}

/// The same where `word` is 0; else true if the pair that it names, which an answer was read from, is not as it was written: its slot may
/// name another pair since.
template <class Memory, class Shape, gphash::SearchTile<Memory, Shape> Tile>
bool is_damaged(const Tile& tile, const Memory& memory, const gphash::View<Shape>& view,
                const gphash::Candidates<Shape>& candidates, std::uint64_t word) {
  if (word == 0) return meets_damage(tile, memory, view, candidates);
  return !gphash::is_whole_pair(memory, view, candidates.stored_key(), word);
}

}  // namespace holdfast::gphash::cpu
