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

/// What counts when a search or a change begins.
struct Moment {
  std::uint64_t newest = 0;   ///< the largest sequence number that was drawn
  std::uint64_t now = 0;      ///< milliseconds since 1970; durable
  std::uint64_t flushed = 0;  ///< items with numbers up to it are dead

  /// Whether a live item counts no more: it has expired, or everything was flushed since.
  HOLDFAST_BOTH constexpr bool is_over(State state, std::uint64_t sequence) const {
    return sequence <= flushed || (state.expiry() != 0 && state.expiry() <= now);
  }
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
    } -> std::convertible_to<std::uint64_t>;          ///< a sequence number larger than all before; never one twice
  { parts.moment() } -> std::convertible_to<Moment>;  ///< now
  {
    parts.reaches(words)
    } -> std::convertible_to<bool>;  ///< whether that time, in milliseconds since 1970, has come: then `moment` says so
};

enum class Change : std::uint8_t {
  inserted,
  replaced,
  erased,
  touched,
  not_found,
  exists,    ///< the key has an item, and the change wanted none
  mismatch,  ///< the item has another CAS id, or its value cannot be changed so
  no_space,
  larger  ///< the new item needs a larger cell than was taken: again, with one
};

/// What a key has, under its claim.
struct Current {
  Cell cell;  ///< none: nothing
  Header header;
  State state;
  std::uint64_t sequence = 0;
  bool is_over = false;       ///< it counts no more; a change kills it
  std::uint64_t flushed = 0;  ///< of the moment at which this was so

  HOLDFAST_BOTH bool is_there() const { return !cell.none() && !is_over; }
  template <class Memory>
  HOLDFAST_BOTH std::uint64_t cas(Memory& memory) const {
    return header.has_cas ? memory.load(cell.words + kHeaderWords) : sequence;
  }
};

/// Under the claim: the item stays, though cells of other keys with its signature may change.
template <Parts P>
HOLDFAST_BOTH Current current(P& parts, const Key& key) {
  for (
      ;
      ;) {  // each round but the last follows a change of another key with this signature, or the end of the item's time
    const Moment moment = parts.moment();
    const auto candidates = parts.candidates(key);
    bool again = false;
    for (unsigned i = 0; i < candidates.size; ++i) {
      Current found{candidates.cells[i], {}, {}, 0, false, moment.flushed};
      const Seen seen = read(parts.memory(), found.cell.words, key.data, key.bytes, found.cell.size, found.sequence,
                             [&](const Header& header, State state, std::uint64_t, const std::uint64_t*) {
                               found.header = header;
                               found.state = state;
                             });
      if (seen == Seen::item) {
        found.is_over = moment.is_over(found.state, found.sequence);
        if (found.is_over || found.state.expiry() == 0 || !parts.reaches(found.state.expiry())) return found;
        again = true;
      }
      again = again || seen == Seen::changed;
    }
    if (!again) return {{}, {}, {}, 0, false, moment.flushed};
  }
}

/// Gives a key an item. `decide(current, content)` says, under the claim, what becomes of the key: `inserted` or `replaced` if it gets
/// `content`, which it fills in, and whose key is `key`; otherwise the answer, and nothing changes. `words`: of the item, or a guess where
/// that depends on what the key has: if it was too low, `larger` is the answer.
template <Parts P, class Decide>
HOLDFAST_BOTH Change put(P& parts, const Key& key, std::uint64_t words, const Decide& decide) {
  auto& memory = parts.memory();
  const Cell cell = parts.take(words);
  if (cell.none()) return Change::no_space;
  vacate(memory, cell.words);
  Content content;
  Header header;
  Current old;
  Change change{};
  std::uint64_t sequence = 0;
  const bool late = memory.keeps(Step::draw_under_claim);
  const bool decides_late = memory.keeps(Step::decide_under_claim);
  if (!decides_late) change = decide(current(parts, key), content);
  if (!late) sequence = parts.draw();
  parts.claim(key);
  for (bool again = true; again;) {  // ends: each round but the last meets a flush
    old = current(parts, key);
    if (decides_late) change = decide(old, content);
    header = content.header();
    const bool stores = change == Change::inserted || change == Change::replaced;
    if (!stores || header.words() > cell.size) {
      parts.release(key);
      parts.give(cell);
      return stores ? Change::larger : change;
    }
    if (late) sequence = parts.draw();
    again = memory.keeps(Step::draw_again) && parts.flushed_since(old.flushed);
  }
  fill(memory, cell.words, content);
  commit(memory, cell.words, header, sequence, content.expiry);
  if (!parts.exchange(key, old.cell.location, cell.location)) {
    if (memory.keeps(Step::kill_unnamed)) kill(memory, cell.words);
    parts.release(key);
    parts.give(cell);
    return Change::no_space;
  }
  if (!old.cell.none() && memory.keeps(Step::kill_replaced)) kill(memory, old.cell.words);
  parts.release(key);
  if (!old.cell.none()) parts.give(old.cell);
  return change;
}

/// Gives the key this content, whatever it had. `key` is that of `content`.
template <Parts P>
HOLDFAST_BOTH Change set(P& parts, const Key& key, const Content& content) {
  return put(parts, key, content.header().words(), [&](const Current& old, Content& next) {
    next = content;
    return old.is_there() ? Change::replaced : Change::inserted;
  });
}

/// Removes the key's item, if `admit(current)`: otherwise `mismatch`.
template <Parts P, class Admit>
HOLDFAST_BOTH Change erase(P& parts, const Key& key, const Admit& admit) {
  parts.claim(key);
  const Current old = current(parts, key);
  const bool refused = old.is_there() && !admit(old);
  const bool kills = !old.cell.none() && !refused;
  if (kills) {
    kill(parts.memory(), old.cell.words);
    parts.remove(key, old.cell.location);
  }
  parts.release(key);
  if (kills) parts.give(old.cell);
  if (refused) return Change::mismatch;
  return old.is_there() ? Change::erased : Change::not_found;
}

template <Parts P>
HOLDFAST_BOTH Change erase(P& parts, const Key& key) {
  return erase(parts, key, [](const Current&) { return true; });
}

/// Replaces the state of the key's item by `next(current)`, which lives.
template <Parts P, class Next>
HOLDFAST_BOTH Change change_state(P& parts, const Key& key, const Next& next) {
  parts.claim(key);
  const Current old = current(parts, key);
  if (old.is_there()) set_state(parts.memory(), old.cell.words, next(old));
  parts.release(key);
  return old.is_there() ? Change::touched : Change::not_found;
}

/// Gives the key's item another expiry.
template <Parts P>
HOLDFAST_BOTH Change touch(P& parts, const Key& key, std::uint64_t expiry) {
  return change_state(parts, key, [&](const Current& old) { return old.state.with_expiry(expiry); });
}

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
  const bool claims = memory.keeps(Step::claim_evicted);
  if (claims) parts.claim(key);
  // A number that stands, of a live item, is this key's item: the index names it, since its change has ended.
  const State state{memory.load(cell.words + kStateWord)};
  const bool is_it = memory.load(cell.words + kSequenceWord) == seen.sequence && state.is_live() && admit(state);
  if (is_it) {
    kill(memory, cell.words);
    parts.remove(key, cell.location);
  }
  if (claims) parts.release(key);
  if (is_it) parts.give(cell);
  return is_it;
}

enum class Answer : std::uint8_t { item, absent, look_again };

/// What a candidate says to a search that began at `begun`.
template <Parts P, class Copy>
HOLDFAST_BOTH Answer ask(P& parts, const Key& key, const Cell& cell, const Moment& begun, const Copy& copy) {
  auto& memory = parts.memory();
  std::uint64_t sequence = 0;
  State state;
  const Seen seen = read(memory, cell.words, key.data, key.bytes, cell.size, sequence,
                         [&](const Header& header, State its, std::uint64_t number, const std::uint64_t* words) {
                           state = its;
                           copy(header, its, number, words);
                         });
  if (seen == Seen::changed) return Answer::look_again;
  if (memory.flushes() && memory.keeps(Step::flush_claimed) && parts.claimed(key)) {
    memory.flush(cell.words + kStateWord, 8);
    memory.fence();
  }
  const bool is_item = seen == Seen::item && !begun.is_over(state, sequence);
  if (is_item && state.expiry() != 0 && parts.reaches(state.expiry())) return Answer::look_again;
  const Answer answer = is_item ? Answer::item : Answer::absent;
  const bool older = sequence <= begun.newest || !memory.keeps(Step::look_again);
  if (older && seen != Seen::dead) return answer;
  if (seen == Seen::other_key) return Answer::look_again;
  // The cell was reused since the search began, and the index may not name its item yet; or it is dead, and was replaced. What was seen
  // counts if the index names the cell now and the number says that it is still the same item.
  const bool same = parts.names(key, cell.location) && memory.load(cell.words + kSequenceWord) == sequence;
  return same ? answer : Answer::look_again;
}

/// Looks a key up that had these candidates at a moment later than `begun`. As `find`.
template <Parts P, class Candidates, class Copy>
HOLDFAST_BOTH Cell find(P& parts, const Key& key, Moment begun, Candidates candidates, const Copy& copy) {
  for (;;) {  // each round but the last follows a change of a key whose item lay, or lies now, in a candidate cell
    bool again = false;
    for (unsigned i = 0; i < candidates.size; ++i) {
      const Answer answer = ask(parts, key, candidates.cells[i], begun, copy);
      if (answer == Answer::item) return candidates.cells[i];
      again = again || answer == Answer::look_again;
    }
    if (!again) return {};
    begun = parts.moment();
    candidates = parts.candidates(key);
  }
}

/// Looks a key up. `copy(header, state, sequence, cell)` copies what is wanted; it may be called several times, and the last time counts.
/// Returns the cell of the item, or none. Takes no claim, and stores nothing. What a change has not made durable yet is durable before the
/// answer (rule 11).
template <Parts P, class Copy>
HOLDFAST_BOTH Cell find(P& parts, const Key& key, const Copy& copy) {
  const Moment begun = parts.moment();
  return find(parts, key, begun, parts.candidates(key), copy);
}

}  // namespace holdfast::store
