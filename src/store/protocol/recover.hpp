// recover.hpp: opening a store after a crash: which items live, and which cells are free. Nothing else runs.
//
// A crash between a commit and the kill of the item that it replaced leaves two items of a key. The one with the larger number stays;
// the others are durably dead before anything runs: were they not, a later erase and another crash would bring them back.
#pragma once

#include <cstdint>

#include "store/protocol/change.hpp"

namespace holdfast::store {

struct Recovered {
  Recovered& operator+=(const Recovered& other) {
    items += other.items;
    killed += other.killed;
    over += other.over;
    damaged += other.damaged;
    damaged_pieces += other.damaged_pieces;
    unnamed += other.unnamed;
    newest = other.newest > newest ? other.newest : newest;
    return *this;
  }

  std::uint64_t items = 0;
  std::uint64_t killed = 0;  ///< older items of a key that has a newer one
  std::uint64_t over = 0;    ///< that have expired, or were flushed
  std::uint64_t damaged =
      0;  ///< live items whose checksum does not match: they are not served, and their cells stay as they are
          ///< until their keys are set or erased
  std::uint64_t damaged_pieces = 0;  ///< whose entries are damaged: their items are not known
  std::uint64_t unnamed = 0;         ///< live items for which the index has no memory: the store does not open
  std::uint64_t newest = 0;          ///< the largest sequence number of an item that verifies
};

/// Whether a cell that does not verify may have an item that is over, and was free at an earlier opening: other items took its chunks, or lines behind
/// its first. The state has check bits; that an item was flushed, only its number says, which is verified if nothing else can have changed.
template <ItemMemory Memory>
HOLDFAST_BOTH bool is_left_over(Memory& memory, const Moment& moment, const Cell& cell, const Header& header) {
  const State state{memory.load(cell.words + kStateWord)};
  if (!state.is_valid()) return false;
  if (state.expiry() != 0 && state.expiry() <= moment.now) return true;
  const bool has_more = header.chunks != 0 || 8 * header.words() > kLineBytes;
  return has_more && moment.is_over(state, memory.load(cell.words + kSequenceWord));
}

/// Looks at one cell. True: an item that counts, whose chunks are not free, and which `enter` takes next. Otherwise the cell is free, and `is_free` says so, or damaged.
template <Parts P>
HOLDFAST_BOTH bool look(P& parts, const Moment& moment, const Cell& cell, Header& header, bool& is_free,
                        Recovered& recovered) {
  auto& memory = parts.memory();
  const Found found =
      inspect_whole(memory, cell, header, parts.chunk_words(), [&](Location location) { return parts.at(location); });
  const std::uint64_t sequence = memory.load(cell.words + kSequenceWord);
  const bool left_over = found == Found::damaged && is_left_over(memory, moment, cell, header);
  is_free = found == Found::free || left_over;
  recovered.damaged += found == Found::damaged && !left_over ? 1 : 0;
  recovered.over += left_over ? 1 : 0;
  if (found != Found::live) return false;
  if (sequence > recovered.newest) recovered.newest = sequence;
  // An item that is over stays so for ever, since what says so is durable.
  is_free = moment.is_over(State{memory.load(cell.words + kStateWord)}, sequence);
  recovered.over += is_free ? 1 : 0;
  return !is_free;
}

/// Enters an item that `look` found, which the index does not name yet; of two of a key, the newer stays.
template <Parts P>
HOLDFAST_BOTH void enter(P& parts, const Key& key, const Cell& cell, Recovered& recovered) {
  auto& memory = parts.memory();
  const std::uint64_t sequence = memory.load(cell.words + kSequenceWord);
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
  const Header its = Header::of(memory.load(older.words + kValueWord), memory.load(older.words + kKeyWord));
  if (memory.keeps(Step::kill_older)) kill(memory, older.words, false);
  give_item(parts, older, its);
}

/// After all cells: from here on changes may run.
template <Parts P>
HOLDFAST_BOTH void end_recovery(P& parts) {
  if (parts.memory().keeps(Step::kill_older_first)) parts.memory().fence();
}

}  // namespace holdfast::store
