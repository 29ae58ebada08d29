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

#include "store/protocol/item.hpp"

namespace holdfast::store {

/// A key, as callers give it.
struct Key {
  const std::byte* data = nullptr;
  std::uint16_t bytes = 0;
};

/// What one change uses. All of it is volatile but what `memory()` stores into cells.
template <class P>
concept Parts = requires(P parts, Key key, std::uint64_t* cell, std::uint64_t words) {
  parts.memory();      ///< load, store, flush, fence, flushes, order_loads, keeps
  parts.claim(key);    ///< returns when no other change of the key runs, and none begins until `release`
  parts.release(key);  ///< ends it
  { parts.claimed(key) } -> std::convertible_to<bool>;           ///< a change of the key runs
  { parts.lookup(key) } -> std::convertible_to<std::uint64_t*>;  ///< the cell that the index names; null: none
  {
    parts.exchange(key, cell)
    } -> std::convertible_to<std::uint64_t*>;  ///< names `cell`; returns what it named; under the claim
  parts.remove(key);                           ///< names none; under the claim
  {
    parts.take(words)
    } -> std::convertible_to<std::uint64_t*>;  ///< a free cell of at least `words` words; null: there is none
  parts.give(cell);                            ///< it is free; its item is durably dead
  { parts.cell_words(cell) } -> std::convertible_to<std::uint64_t>;
  {
    parts.draw()
    } -> std::convertible_to<std::uint64_t>;  ///< a sequence number larger than all before; never one twice
  { parts.newest() } -> std::convertible_to<std::uint64_t>;  ///< the largest that was drawn
};

enum class Change : std::uint8_t { inserted, replaced, erased, touched, not_found, no_space };

/// Gives the key this content, whatever it had.
template <Parts P>
HOLDFAST_BOTH Change set(P& parts, const Content& content) {
  auto& memory = parts.memory();
  const Key key{content.key, content.key_bytes};
  const Header header = content.header();
  std::uint64_t* const cell = parts.take(header.words());
  if (cell == nullptr) return Change::no_space;
  vacate(memory, cell);
  fill(memory, cell, content);
  const bool late = memory.keeps(Step::draw_under_claim);
  std::uint64_t sequence = late ? 0 : parts.draw();
  parts.claim(key);
  if (late) sequence = parts.draw();
  commit(memory, cell, header, sequence, content.expiry);
  std::uint64_t* const old = parts.exchange(key, cell);
  if (old != nullptr && memory.keeps(Step::kill_replaced)) kill(memory, old);
  parts.release(key);
  if (old != nullptr) parts.give(old);
  return old == nullptr ? Change::inserted : Change::replaced;
}

template <Parts P>
HOLDFAST_BOTH Change erase(P& parts, Key key) {
  parts.claim(key);
  std::uint64_t* const cell = parts.lookup(key);
  if (cell != nullptr) {
    kill(parts.memory(), cell);
    parts.remove(key);
  }
  parts.release(key);
  if (cell == nullptr) return Change::not_found;
  parts.give(cell);
  return Change::erased;
}

/// Gives the key's item another expiry.
template <Parts P>
HOLDFAST_BOTH Change touch(P& parts, Key key, std::uint64_t expiry) {
  parts.claim(key);
  std::uint64_t* const cell = parts.lookup(key);
  if (cell != nullptr) touch(parts.memory(), cell, expiry);
  parts.release(key);
  return cell != nullptr ? Change::touched : Change::not_found;
}

/// Looks a key up. `copy(header, state, cell)` copies what is wanted; it may be called several times, and the last time counts. False:
/// the key has no item. Takes no claim, and stores nothing. What a change has not made durable yet is durable before the answer
/// (rule 11).
template <Parts P, class Copy>
HOLDFAST_BOTH bool find(P& parts, Key key, const Copy& copy) {
  auto& memory = parts.memory();
  for (;;) {  // each round but the last follows a change of this key, or of the key whose item has its cell now
    const std::uint64_t begun = parts.newest();
    std::uint64_t* const cell = parts.lookup(key);
    if (cell == nullptr) return false;
    std::uint64_t sequence = 0;
    const Seen seen = read(memory, cell, key.data, key.bytes, parts.cell_words(cell), sequence, copy);
    if (seen != Seen::changed && memory.flushes() && memory.keeps(Step::flush_claimed) && parts.claimed(key)) {
      memory.flush(cell + kStateWord, 8);
      memory.fence();
    }
    if (!memory.keeps(Step::look_again)) return seen == Seen::item;
    if (seen == Seen::changed) continue;
    const bool older = sequence <= begun;
    if (seen == Seen::other_key) {
      if (older) return false;
      continue;
    }
    if (seen == Seen::item && older) return true;
    // The cell was reused since the search began, and the index may not name its item yet; or it is dead, and was replaced. What was seen
    // counts if the index names the cell now and the number says that it is still the same item.
    if (parts.lookup(key) == cell && memory.load(cell + kSequenceWord) == sequence) return seen == Seen::item;
  }
}

}  // namespace holdfast::store
