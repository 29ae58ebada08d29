// recover.hpp: opening a store after a crash: which items live, and which cells are free. Nothing else runs.
//
// A crash between a commit and the kill of the item that it replaced leaves two items of a key. The one with the larger number stays;
// the others are durably dead before anything runs: were they not, a later erase and another crash would bring them back.
#pragma once

#include <cstdint>

#include "store/protocol/change.hpp"

namespace holdfast::store {

struct Recovered {
  std::uint64_t items = 0;
  std::uint64_t killed = 0;  ///< older items of a key that has a newer one
  std::uint64_t over = 0;    ///< that have expired, or were flushed
  std::uint64_t damaged =
      0;  ///< live items whose checksum does not match: they are not served, and their cells stay as they are
  std::uint64_t unnamed = 0;  ///< live items for which the index has no memory: the store does not open
  std::uint64_t newest = 0;   ///< the largest sequence number that was found
};

/// Enters one cell. `key_of(cell, header)` gives its key, which must stay where it is while `parts` uses it.
template <Parts P, class KeyOf>
HOLDFAST_BOTH void recover_cell(P& parts, const Cell& cell, const KeyOf& key_of, Recovered& recovered) {
  auto& memory = parts.memory();
  Header header;
  const Found found = inspect(memory, cell.words, cell.size, header);
  const std::uint64_t sequence = memory.load(cell.words + kSequenceWord);
  if (sequence > recovered.newest) recovered.newest = sequence;
  if (found == Found::free) return parts.give(cell);
  if (found == Found::damaged) {
    ++recovered.damaged;
    return;
  }
  const State state{memory.load(cell.words + kStateWord)};
  if (parts.moment().is_over(state, sequence)) {  // for ever, since what says so is durable
    ++recovered.over;
    return parts.give(cell);
  }
  const Key key = key_of(cell.words, header);
  const Cell other = current(parts, key).cell;
  const bool newer = other.none() || memory.load(other.words + kSequenceWord) < sequence;
  if (newer && !parts.exchange(key, other.location, cell.location)) {
    ++recovered.unnamed;
    return;
  }
  if (other.none()) {
    ++recovered.items;
    return;
  }
  const Cell older = newer ? other : cell;
  ++recovered.killed;
  if (memory.keeps(Step::kill_older)) kill(memory, older.words, false);
  parts.give(older);
}

/// After all cells: from here on changes may run.
template <Parts P>
HOLDFAST_BOTH void end_recovery(P& parts) {
  if (parts.memory().keeps(Step::kill_older_first)) parts.memory().fence();
}

}  // namespace holdfast::store
