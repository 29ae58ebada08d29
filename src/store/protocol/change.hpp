// change.hpp: one change of one key, and one search: in which order cells, the index and the claim of the key are used.
//
//   set      cell taken, vacated, filled; claim; number drawn; committed; index exchanged; the old item killed; claim ends; its cell is free
//   erase    claim; killed; index entry removed; claim ends; cell free
//   touch    claim; state replaced; claim ends
//
// The number is drawn under the claim, and after the cell was taken. So the numbers of a key rise in the order in which the index
// exchanges its items, and recovery keeps the right one; and a cell that was reused after a search began has a larger number than that
// search saw. Eviction and expiry are erases, with the same claim.
#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>

#include "store/protocol/item.hpp"

namespace holdfast::store {

/// A key, as callers give it.
struct Key {
  const std::byte* data = nullptr;
  std::uint16_t bytes = 0;
  std::uint64_t hash = 0;  ///< seeded
};

/// Where a location is now.
struct Cell {
  std::uint64_t* words = nullptr;  ///< null: none
  std::uint64_t size = 0;          ///< in words
  Location location;

  HOLDFAST_BOTH bool none() const { return words == nullptr; }
};

/// What one change uses. All of it is volatile but what `memory()` stores into cells.
template <class P>
concept Parts = requires(P parts, Key key, Cell cell, Location location, std::uint64_t words) {
  requires ItemMemory<std::remove_reference_t<decltype(parts.memory())>>;  ///< that of the cells
  parts.claim(key);    ///< returns when no other change of the key runs, and none begins until `release`
  parts.release(key);  ///< ends it
  { parts.claimed(key) } -> std::convertible_to<bool>;  ///< a change of the key runs

  /// The cells that the index names for keys with this key's signature: `size`, and `cells[i]`. One that it names throughout is among them.
  { parts.candidates(key).size } -> std::convertible_to<unsigned>;
  { parts.candidates(key).cells[0] } -> std::convertible_to<Cell>;
  { parts.names(key, location) } -> std::convertible_to<bool>;  ///< the index names it for this signature
  /// The index names `cell` for the key, instead of `old` unless that is none. Under the claim. False: it has no memory for the entry.
  { parts.exchange(key, location, location) } -> std::convertible_to<bool>;
  parts.remove(key, location);  ///< the index names it no more; under the claim

  { parts.take(words) } -> std::convertible_to<Cell>;  ///< a free cell of at least `words` words, or none
  parts.give(cell);                                    ///< it is free: its item is durably dead, or it has none
  {
    parts.draw()
    } -> std::convertible_to<std::uint64_t>;  ///< a sequence number larger than all before; never one twice
  { parts.newest() } -> std::convertible_to<std::uint64_t>;  ///< the largest that was drawn
};

enum class Change : std::uint8_t { inserted, replaced, erased, touched, not_found, no_space };

/// The cell of the key's item, or none. Under the claim: the item stays, though cells of other keys with its signature may change.
template <Parts P>
HOLDFAST_BOTH Cell current(P& parts, const Key& key) {
  for (;;) {  // each round but the last follows a change of another key with this signature
    const auto candidates = parts.candidates(key);
    bool again = false;
    for (unsigned i = 0; i < candidates.size; ++i) {
      std::uint64_t sequence = 0;
      const Seen seen = read(parts.memory(), candidates.cells[i].words, key.data, key.bytes, candidates.cells[i].size,
                             sequence, [](const Header&, State, std::uint64_t, const std::uint64_t*) {});
      if (seen == Seen::item) return candidates.cells[i];
      again = again || seen == Seen::changed;
    }
    if (!again) return {};
  }
}

/// Gives the key this content, whatever it had. `key` is that of `content`.
template <Parts P>
HOLDFAST_BOTH Change set(P& parts, const Key& key, const Content& content) {
  auto& memory = parts.memory();
  const Header header = content.header();
  const Cell cell = parts.take(header.words());
  if (cell.none()) return Change::no_space;
  vacate(memory, cell.words);
  fill(memory, cell.words, content);
  const bool late = memory.keeps(Step::draw_under_claim);
  std::uint64_t sequence = late ? 0 : parts.draw();
  parts.claim(key);
  const Cell old = current(parts, key);
  if (late) sequence = parts.draw();
  commit(memory, cell.words, header, sequence, content.expiry);
  if (!parts.exchange(key, old.location, cell.location)) {
    if (memory.keeps(Step::kill_unnamed)) kill(memory, cell.words);
    parts.release(key);
    parts.give(cell);
    return Change::no_space;
  }
  if (!old.none() && memory.keeps(Step::kill_replaced)) kill(memory, old.words);
  parts.release(key);
  if (old.none()) return Change::inserted;
  parts.give(old);
  return Change::replaced;
}

template <Parts P>
HOLDFAST_BOTH Change erase(P& parts, const Key& key) {
  parts.claim(key);
  const Cell cell = current(parts, key);
  if (!cell.none()) {
    kill(parts.memory(), cell.words);
    parts.remove(key, cell.location);
  }
  parts.release(key);
  if (cell.none()) return Change::not_found;
  parts.give(cell);
  return Change::erased;
}

/// Gives the key's item another expiry.
template <Parts P>
HOLDFAST_BOTH Change touch(P& parts, const Key& key, std::uint64_t expiry) {
  parts.claim(key);
  const Cell cell = current(parts, key);
  if (!cell.none()) touch(parts.memory(), cell.words, expiry);
  parts.release(key);
  return cell.none() ? Change::not_found : Change::touched;
}

enum class Answer : std::uint8_t { item, absent, look_again };

/// What a candidate says to a search that began when `begun` was the newest number.
template <Parts P, class Copy>
HOLDFAST_BOTH Answer ask(P& parts, const Key& key, const Cell& cell, std::uint64_t begun, const Copy& copy) {
  auto& memory = parts.memory();
  std::uint64_t sequence = 0;
  const Seen seen = read(memory, cell.words, key.data, key.bytes, cell.size, sequence, copy);
  if (seen == Seen::changed) return Answer::look_again;
  if (memory.flushes() && memory.keeps(Step::flush_claimed) && parts.claimed(key)) {
    memory.flush(cell.words + kStateWord, 8);
    memory.fence();
  }
  const Answer answer = seen == Seen::item ? Answer::item : Answer::absent;
  const bool older = sequence <= begun || !memory.keeps(Step::look_again);
  if (older && seen != Seen::dead) return answer;
  if (seen == Seen::other_key) return Answer::look_again;
  // The cell was reused since the search began, and the index may not name its item yet; or it is dead, and was replaced. What was seen
  // counts if the index names the cell now and the number says that it is still the same item.
  const bool same = parts.names(key, cell.location) && memory.load(cell.words + kSequenceWord) == sequence;
  return same ? answer : Answer::look_again;
}

/// Looks a key up. `copy(header, state, sequence, cell)` copies what is wanted; it may be called several times, and the last time counts. False:
/// the key has no item. Takes no claim, and stores nothing. What a change has not made durable yet is durable before the answer
/// (rule 11).
template <Parts P, class Copy>
HOLDFAST_BOTH bool find(P& parts, const Key& key, const Copy& copy) {
  for (;;) {  // each round but the last follows a change of a key whose item lay, or lies now, in a candidate cell
    const std::uint64_t begun = parts.newest();
    const auto candidates = parts.candidates(key);
    bool again = false;
    for (unsigned i = 0; i < candidates.size; ++i) {
      const Answer answer = ask(parts, key, candidates.cells[i], begun, copy);
      if (answer == Answer::item) return true;
      again = again || answer == Answer::look_again;
    }
    if (!again) return false;
  }
}

}  // namespace holdfast::store
