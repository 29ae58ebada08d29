// evict.hpp: the removal of an item that was met by its cell, not by its key.
#pragma once

#include <cstdint>

#include "store/protocol/change.hpp"

namespace holdfast::store {

/// What a look at a cell found, when its key was not known.
struct Glance {
  Header header;
  State state;
  std::uint64_t sequence = 0;
};

/// Reads what a cell holds and copies its key, up to kMostKeyBytes, to `key`. False: no item, or it changed meanwhile.
template <ItemMemory Memory>
HOLDFAST_BOTH bool glance(Memory& memory, const Cell& cell, Glance& seen, std::uint64_t* key) {
  seen.sequence = memory.load(cell.words + kSequenceWord);
  if (seen.sequence == 0) return false;
  seen.state = {memory.load(cell.words + kStateWord)};
  seen.header = Header::of(memory.load(cell.words + kValueWord), memory.load(cell.words + kKeyWord));
  if (!seen.state.is_live() || seen.header.words() > cell.size) return false;
  for (std::uint32_t i = 0; i < (seen.header.key_bytes + 7u) / 8; ++i) {
    key[i] = memory.load(cell.words + seen.header.key_at() + i);
  }
  memory.order_loads();
  return memory.load(cell.words + kSequenceWord) == seen.sequence;
}

/// Removes the item that `glance` saw in the cell, unless it is there no more or `admit(state)` says no. `key` is its key. An eviction, or the
/// end of an item that is over.
template <Parts P, class Admit>
HOLDFAST_BOTH bool evict(P& parts, const Key& key, const Cell& cell, const Glance& seen, const Admit& admit) {
  auto& memory = parts.memory();
  Claim<P> claim(parts, key, memory.keeps(Step::claim_evicted));
  // A number that stands, of a live item, is this key's item if the index names it. One that was over when the store was opened is not
  // named: its cell is free, and may have been taken.
  const State state{memory.load(cell.words + kStateWord)};
  const bool is_it = memory.load(cell.words + kSequenceWord) == seen.sequence && state.is_live() && admit(state) &&
                     parts.names(key, cell.location);
  if (is_it) {
    kill(memory, cell.words);
    parts.remove(key, cell.location);
  }
  claim.end();
  if (is_it) give_item(parts, cell, seen.header);
  return is_it;
}

}  // namespace holdfast::store
